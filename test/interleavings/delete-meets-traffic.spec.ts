import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  countRows,
  makeLease,
  numbered,
  popSpecificCall,
  popWildcard,
  popWildcardCall,
  pushMessages,
  pushMultiCall,
  run,
  type Call,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { storm } from '../support/storm.js';

jest.setTimeout(30_000);

/** Deleting a queue while it is used: nothing of it stays behind (I9, I44, Z27), and nothing fails unasked. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const deleteCall = (queue: string): Call => ['select queen.delete_queue_v1($1) as result', [queue]];

const orphans = async () =>
  (await countRows(db, 'log_txns', 'partition_id not in (select id from queen.log_partitions)')) +
  (await countRows(db, 'log_dlq', 'partition_id not in (select id from queen.log_partitions)'));

describe('a delete of a queue', () => {
  it('waits for a push under way and takes its hash rows along', async () => {
    await pushMessages(db, 'pushing', 'p', ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await pushMessages(s1, 'pushing', 'p', ['b']);
    const removal = s2.start(...deleteCall('pushing'));
    expect(await removal.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await removal.result()).toMatchObject([{ result: { existed: true } }]);
    expect(await orphans()).toBe(0);
  });

  it('under way makes a push that knows the partition fail loudly; the next one creates it anew', async () => {
    await pushMessages(db, 'deleting', 'p', ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, deleteCall('deleting'));
    const push = s2.start(...pushMultiCall([{ queue: 'deleting', partition: 'p', texts: ['b'] }]));
    expect(await push.isBlocked(s1)).toBe(true);
    await s1.commit();
    await expect(push.result()).rejects.toMatchObject({ code: 'QGONE' });
    expect(await pushMessages(s2, 'deleting', 'p', ['b'])).toMatchObject({ status: 'queued', baseOffset: 0 });
    expect(await orphans()).toBe(0);
  });

  it('under way makes a push that creates a partition wait and be told so; the next one creates the queue', async () => {
    await pushMessages(db, 'recreated', 'p', ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, deleteCall('recreated'));
    const push = s2.start(...pushMultiCall([{ queue: 'recreated', partition: 'new', texts: ['b'] }]));
    expect(await push.isBlocked(s1)).toBe(true);
    await s1.commit();
    await expect(push.result()).rejects.toMatchObject({ code: 'QGONE' });
    expect(await pushMessages(s2, 'recreated', 'new', ['b'])).toMatchObject({
      status: 'queued',
      baseOffset: 0,
    });
    expect(await orphans()).toBe(0);
  });

  it.each<[string, (queue: string) => Call]>([
    ['partition', (queue) => popSpecificCall(queue, 'p', { worker: 'w2' })],
    ['partition, on first contact', (queue) => popSpecificCall(queue, 'p', { group: 'fresh' })],
    ['queue', (queue) => popWildcardCall(queue, { worker: 'w2' })],
  ])('under way does not hold up a pop of its %s', async (what, callOf) => {
    const queue = `popped: ${what}`;
    await pushMessages(db, queue, 'p', ['a']);
    await popWildcard(db, queue, { worker: 'w1' });
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, deleteCall(queue));
    const pop = s2.start(...callOf(queue));
    expect(await pop.isBlocked()).toBe(false);
    expect(await pop.result()).toEqual([]);
    await s1.commit();
    expect(
      await countRows(db, 'log_consumers', 'partition_id not in (select id from queen.log_partitions)'),
    ).toBe(0);
  });

  it('waits for a pop under way, whose batch goes with it', async () => {
    await pushMessages(db, 'claimed', 'p', ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    const { partitionId } = await makeLease(s1, 'claimed', 'p');
    const removal = s2.start(...deleteCall('claimed'));
    expect(await removal.isBlocked(s1)).toBe(true);
    await s1.commit();
    await removal.result();
    expect(await run(db, ackAtCall(partitionId, 0))).toEqual([
      { result: { ok: false, error: 'consumer not found' } },
    ]);
  });

  it('over and over, against pushes, pops and first contacts, leaves nothing behind', async () => {
    const names = numbered('p', 3);
    const bundle = pushMultiCall(names.map((partition) => ({ queue: 'churn', partition, texts: ['a'] })));
    const { failures, rounds } = await storm(db, { sessions: 6, forMs: 1500 }, (client, session, round) => {
      const options = { group: `g${round}`, worker: `w${session}`, maxPartitions: 3 };
      if (session === 0) return run(client, deleteCall('churn'));
      if (session < 3) return run(client, bundle);
      if (session === 3) return run(client, popSpecificCall('churn', 'p1', options));
      return run(client, popWildcardCall('churn', options));
    });
    // A push may be told that its partition was deleted under it; nothing else may go wrong.
    const unexpected = failures.filter((failure) => !failure.startsWith('QGONE: '));
    expect(unexpected).toEqual([]);
    expect(rounds).toBeGreaterThan(20);
    await run(db, deleteCall('churn'));
    expect(await orphans()).toBe(0);
    for (const table of ['log_segments', 'log_consumers']) {
      expect(await countRows(db, table, 'partition_id not in (select id from queen.log_partitions)')).toBe(0);
    }
  });
});
