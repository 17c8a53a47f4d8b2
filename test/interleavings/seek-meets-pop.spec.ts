import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  ageLastWrite,
  consumerRow,
  makeLease,
  numbered,
  popListCall,
  popped,
  popSpecific,
  popWildcard,
  pushMessages,
  run,
  scalar,
  type Call,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { deadlocks, storm } from '../support/storm.js';

jest.setTimeout(30_000);

/** A seek takes the cursors of a queue while pops claim them and create the missing ones (Z33, Z41). */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const seekCall = (queue: string, toEnd: boolean, group = 'g'): Call => [
  `select queen.log_seek_consumer_group_v1($1, $2, $3, '2000-01-01') as result`,
  [group, queue, toEnd],
];

async function twoPartitions(queue: string): Promise<void> {
  await pushMessages(db, queue, 'p1', ['a']);
  await pushMessages(db, queue, 'p2', ['b']);
}

describe('a seek that waits for the cursor of a pop', () => {
  it('makes that pop skip the cursors that are still missing: no cycle (Z41)', async () => {
    await twoPartitions('cycle');
    await popSpecific(db, 'cycle', 'p1', { autoAck: true });
    await pushMessages(db, 'cycle', 'p1', ['c']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect((await popSpecific(s1, 'cycle', 'p1')).texts).toEqual(['c']);
    const seek = s2.start(...seekCall('cycle', true));
    expect(await seek.isBlocked(s1)).toBe(true);

    const list = s1.start(...popListCall('cycle', ['p2']));
    expect(await list.isBlocked()).toBe(false);
    expect(popped(await list.result()).verdicts).toMatchObject([{ state: 'leased', waitMs: 250 }]);
    await s1.commit();
    expect(await seek.result()).toMatchObject([{ result: { success: true, partitionsUpdated: 2 } }]);
    expect((await consumerRow(db, 'cycle', 'p2'))?.committed).toBe(0);
  });

  it('lets a pop that has created a cursor create the others as well', async () => {
    await twoPartitions('creator');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect((await popSpecific(s1, 'creator', 'p1')).texts).toEqual(['a']);
    const seek = s2.start(...seekCall('creator', true));
    expect(await seek.isBlocked(s1)).toBe(true);
    const list = s1.start(...popListCall('creator', ['p2']));
    expect(await list.isBlocked()).toBe(false);
    expect(popped(await list.result()).texts).toEqual(['b']);
    await s1.commit();
    expect(await seek.result()).toMatchObject([{ result: { success: true } }]);
    expect(await consumerRow(db, 'creator', 'p2')).toMatchObject({ committed: 0, workerId: null });
  });

  it('takes the lease away: the worker is refused its ack', async () => {
    await twoPartitions('lease lost');
    const { partitionId } = await makeLease(db, 'lease lost', 'p1', { worker: 'w1' });
    await run(db, seekCall('lease lost', false));
    expect(await consumerRow(db, 'lease lost', 'p1')).toMatchObject({ committed: -1, workerId: null });
    expect(await scalar(db, ackAtCall(partitionId, 0, { worker: 'w1' }))).toEqual({
      ok: false,
      error: 'invalid or expired lease',
    });
    expect((await popSpecific(db, 'lease lost', 'p1', { worker: 'w2' })).batches[0].attempt).toBe(1);
  });
});

describe('a seek under way', () => {
  it('is passed by pops of every kind', async () => {
    await twoPartitions('passed');
    await popSpecific(db, 'passed', 'p1', { autoAck: true });
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s2.begin();
    await run(s2, seekCall('passed', false));
    const list = s1.start(...popListCall('passed', ['p1', 'p2'], { maxPartitions: 2 }));
    expect(await list.isBlocked()).toBe(false);
    expect(popped(await list.result()).batches).toEqual([]);
    await s2.commit();
    expect((await popSpecific(s1, 'passed', 'p1')).texts).toEqual(['a']);
  });

  it('a hundred times against pops of fresh groups ends without a deadlock', async () => {
    await twoPartitions('rounds');
    const before = await deadlocks(db);
    const { failures } = await storm(db, { sessions: 4, rounds: 100 }, (client, session, round) =>
      session % 2 === 0
        ? run(
            client,
            popListCall('rounds', ['p1', 'p2'], { group: `g${round}`, maxPartitions: 2, autoAck: true }),
          )
        : run(client, seekCall('rounds', session === 1, `g${round}`)),
    );
    expect(failures).toEqual([]);
    expect(await deadlocks(db)).toBe(before);
  });
});

describe('a seek to the past', () => {
  it('is followed at once by a scan, although nothing was written for a long time (Z33)', async () => {
    await pushMessages(db, 'past', 'p', numbered('m', 3));
    await popWildcard(db, 'past', { autoAck: true });
    await popWildcard(db, 'past');
    await ageLastWrite(db, 'past', 'p', 600);
    await run(db, seekCall('past', false));
    expect((await popWildcard(db, 'past')).texts).toEqual(numbered('m', 3));
  });
});
