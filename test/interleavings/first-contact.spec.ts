import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  consumerRow,
  countRows,
  inTurn,
  makePartitions,
  makeQueue,
  numbered,
  popDiscover,
  popListCall,
  popped,
  popSpecific,
  popSpecificCall,
  popWildcard,
  popWildcardCall,
  pushMessages,
  pushMultiCall,
  run,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { deadlocks, storm } from '../support/storm.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** Partitions p0 … with one message each, named like the partition. */
async function pushTo(queue: string, partitions: number): Promise<void> {
  const names = numbered('p', partitions);
  await run(db, pushMultiCall(names.map((partition) => ({ queue, partition, texts: [partition] }))));
}

describe('the first pop of a group on a fresh queue', () => {
  it('made by many at once seeds every cursor once and delivers everything once (Z2)', async () => {
    const names = numbered('p', 500);
    await inTurn([0, 1, 2, 3, 4], (k) =>
      run(
        db,
        pushMultiCall(
          names.slice(100 * k, 100 * (k + 1)).map((partition) => ({
            ...{ queue: 'crowd', partition, texts: [partition] },
          })),
        ),
      ),
    );
    const delivered: string[] = [];
    const { failures, lockWaits } = await storm(db, { sessions: 40, rounds: 3 }, async (client, session) => {
      const options = { worker: `w${session}`, budget: 20, maxPartitions: 20, autoAck: true };
      delivered.push(...(await popWildcard(client, 'crowd', options)).texts);
    });
    expect(failures).toEqual([]);
    // Waiting for the seeder is intended: one wait, for one transaction, on its marker row.
    expect(lockWaits.filter(({ on }) => on === 'tuple')).toEqual([]);
    expect(await countRows(db, 'consumer_groups_metadata', `consumer_group = 'g'`)).toBe(1);
    expect(await countRows(db, 'log_consumers', `consumer_group = 'g'`)).toBe(500);
    for (let texts: string[]; ; delivered.push(...texts)) {
      ({ texts } = await popWildcard(db, 'crowd', { budget: 500, maxPartitions: 500, autoAck: true }));
      if (texts.length === 0) break;
    }
    expect([...delivered].sort()).toEqual([...names].sort());
    expect(await deadlocks(db)).toBe(0);
  });

  it('is waited for once by the others, who then find everything seeded', async () => {
    await pushTo('fan-in', 3);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect((await popWildcard(s1, 'fan-in', { worker: 'w1' })).texts).toHaveLength(1);
    const second = s2.start(...popWildcardCall('fan-in', { worker: 'w2', maxPartitions: 3, mode: 'new' }));
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(popped(await second.result()).texts).toHaveLength(2);
    expect(await countRows(db, 'log_consumers')).toBeGreaterThanOrEqual(3);
  });

  it('elects another seeder when it is rolled back', async () => {
    await pushTo('second chance', 2);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await popWildcard(s1, 'second chance', { mode: 'new' });
    const second = s2.start(...popWildcardCall('second chance', { worker: 'w2', maxPartitions: 2 }));
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.rollback();
    expect(popped(await second.result()).texts).toHaveLength(2);
  });

  it('does not make a pop of a single partition wait: that one skips', async () => {
    await pushTo('seeding', 2);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await popWildcard(s1, 'seeding', { budget: 1 });
    const specific = s2.start(...popSpecificCall('seeding', 'p1', { worker: 'w2' }));
    expect(await specific.isBlocked()).toBe(false);
    expect(await specific.result()).toEqual([]);
    await s1.rollback();
    expect((await popSpecific(s2, 'seeding', 'p1', { worker: 'w2' })).texts).toEqual(['p1']);
  });

  it('waits for a single-partition pop that is creating a cursor, and leaves that cursor alone', async () => {
    await pushTo('creating', 2);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect((await popSpecific(s1, 'creating', 'p0', { worker: 'w1' })).texts).toEqual(['p0']);
    const wildcard = s2.start(...popWildcardCall('creating', { worker: 'w2', maxPartitions: 2 }));
    expect(await wildcard.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(popped(await wildcard.result()).texts).toEqual(['p1']);
    expect(await consumerRow(db, 'creating', 'p0')).toMatchObject({ workerId: 'w1', committed: -1 });
  });

  it('on a queue that does not exist yet makes the group meet the first push (Z36)', async () => {
    expect((await popWildcard(db, 'not yet', { mode: 'new' })).texts).toEqual([]);
    const [queue] = await run(db, [`select * from queen.queues where name = 'not yet'`, []]);
    expect(queue).toMatchObject({ namespace: 'not yet', lease_time: 60, dedup_window_seconds: 3600 });
    await pushMessages(db, 'not yet', 'p', ['first']);
    expect((await popWildcard(db, 'not yet')).texts).toEqual(['first']);

    expect((await popSpecific(db, 'never', 'p', { mode: 'new' })).texts).toEqual([]);
    expect(await countRows(db, 'queues', `name = 'never'`)).toBe(0);
  });

  it('made by many on a queue that does not exist creates it once', async () => {
    const { failures } = await storm(db, { sessions: 12, rounds: 2 }, (client, session) =>
      popWildcard(client, 'conjured', { worker: `w${session}` }),
    );
    expect(failures).toEqual([]);
    expect(await countRows(db, 'queues', `name = 'conjured'`)).toBe(1);
  });
});

describe('a partition that comes after the group', () => {
  it.each(['wildcard', 'specific', 'list', 'discovery'])(
    'is delivered whole to a group that wants only what is new (Z37), by a %s pop',
    async (route) => {
      const queue = `later ${route}`;
      await makeQueue(db, queue, { namespace: queue });
      await pushMessages(db, queue, 'old', ['before']);
      expect((await popWildcard(db, queue, { mode: 'new' })).texts).toEqual([]);
      await pushMessages(db, queue, 'p', numbered('m', 3));
      await pushMessages(db, queue, 'p', numbered('m', 2, 3));

      const options = { mode: 'new', maxPartitions: 5 };
      const pops = {
        wildcard: () => popWildcard(db, queue, options),
        specific: () => popSpecific(db, queue, 'p', options),
        list: async () => popped(await run(db, popListCall(queue, ['p', 'old'], options))),
        discovery: () => popDiscover(db, { namespace: queue }, options),
      };
      expect((await pops[route as keyof typeof pops]()).texts).toEqual(numbered('m', 5));
    },
  );
});

describe('a cursor that is being created', () => {
  it('makes other pops of that partition skip it at once (Z3)', async () => {
    await pushMessages(db, 'creation', 'p', numbered('m', 10));
    await popWildcard(db, 'creation', { mode: 'all', autoAck: true, budget: 10 });
    await pushMessages(db, 'creation', 'fresh', numbered('n', 10));
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect((await popSpecific(s1, 'creation', 'fresh', { budget: 4, autoAck: true })).texts).toHaveLength(4);

    const skipping = s2.start(...popSpecificCall('creation', 'fresh', { worker: 'w2' }));
    expect(await skipping.isBlocked()).toBe(false);
    expect(await skipping.result()).toEqual([]);
    const listed = s2.start(...popListCall('creation', ['fresh', 'p'], { worker: 'w2' }));
    expect(await listed.isBlocked()).toBe(false);
    expect(popped(await listed.result()).verdicts).toMatchObject([
      { partition: 'fresh', state: 'leased', waitMs: 250 },
      { partition: 'p', state: 'empty' },
    ]);
    await s1.commit();
    expect((await popSpecific(s2, 'creation', 'fresh', { worker: 'w2' })).texts).toEqual(numbered('n', 6, 4));
  });

  it('is created by the next pop when its creator is rolled back', async () => {
    await pushMessages(db, 'undone', 'p', ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await popSpecific(s1, 'undone', 'p', { mode: 'new' });
    await s1.rollback();
    expect((await popSpecific(s2, 'undone', 'p')).texts).toEqual(['a']);
  });

  it('on many partitions by many groups at once neither deadlocks nor chains waits', async () => {
    const queueId = await makeQueue(db, 'mass');
    const names = numbered('p', 60);
    await makePartitions(db, queueId, names);
    await db.query('update queen.log_partitions set last_offset = 0 where queue_id = $1', [queueId]);
    await db.query(
      `insert into queen.log_segments select id, 0, 0, clock_timestamp(), '' from queen.log_partitions where queue_id = $1`,
      [queueId],
    );
    const { failures, lockWaits } = await storm(
      db,
      { sessions: 12, rounds: 12 },
      (client, session, round) => {
        const shuffled = names.map((_, i) => names[(i * 7 + session * 13) % names.length]);
        const call = popListCall('mass', shuffled, {
          group: `g${round % 6}`,
          autoAck: true,
          maxPartitions: 60,
        });
        return client.query(...call);
      },
    );
    expect(failures).toEqual([]);
    expect(lockWaits.filter(({ on }) => on !== 'extend')).toEqual([]);
    for (const group of numbered('g', 6)) {
      const where =
        'consumer_group = $1 and committed = 0 and partition_id in (select id from queen.log_partitions where queue_id = $2)';
      expect(await countRows(db, 'log_consumers', where, [group, queueId])).toBe(60);
    }
  });
});
