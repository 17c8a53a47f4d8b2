import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  deleteGroupCall,
  deleteGroupOfQueueCall,
  seekQueueCall,
  subscriptionCall,
} from '../support/group-calls.js';
import {
  ackAtCall,
  ackMultiCall,
  countRows,
  makeLease,
  numbered,
  popListCall,
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

/** A group is deleted while its consumers are at work. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

describe('a delete of a group', () => {
  it('waits for a claim under way, whose lease goes with the cursor', async () => {
    await pushMessages(db, 'claim', 'p', ['a']);
    await popWildcard(db, 'claim', { group: 'claim', mode: 'new' });
    await pushMessages(db, 'claim', 'p', ['b']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    const { partitionId: pid } = await makeLease(s1, 'claim', 'p', { group: 'claim' });
    const removal = s2.start(...deleteGroupCall('claim'));
    expect(await removal.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await removal.result()).toMatchObject([{ result: { deletedPartitions: 1 } }]);
    expect(await run(db, ackAtCall(pid, 1, { group: 'claim' }))).toEqual([
      { result: { ok: false, error: 'consumer not found' } },
    ]);
    expect((await popWildcard(db, 'claim', { group: 'claim' })).texts).toEqual(['a', 'b']);
  });

  it('waits for a pop that is creating a cursor from the old subscription, and deletes that too', async () => {
    await pushMessages(db, 'creating', 'p', ['a']);
    await popWildcard(db, 'creating', { group: 'creating', mode: 'new' });
    await pushMessages(db, 'creating', 'later', ['b']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await popSpecific(s1, 'creating', 'later', { group: 'creating' });
    const removal = s2.start(...deleteGroupOfQueueCall('creating', 'creating'));
    expect(await removal.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await removal.result()).toMatchObject([{ result: { deletedPartitions: 2 } }]);
    expect(await countRows(db, 'log_consumers', "consumer_group = 'creating'")).toBe(0);
  });

  it('under way is passed by pops of every kind and by pushes', async () => {
    await pushMessages(db, 'passing', 'p', ['a']);
    await popSpecific(db, 'passing', 'p', { group: 'passing', autoAck: true });
    await pushMessages(db, 'passing', 'q', ['b']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, deleteGroupCall('passing'));
    const group = { group: 'passing', maxPartitions: 2 };
    for (const call of [
      popListCall('passing', ['p', 'q'], group),
      popSpecificCall('passing', 'q', group),
      pushMultiCall([{ queue: 'passing', partition: 'p', texts: ['c'] }]),
    ]) {
      expect(await s2.start(...call).isBlocked()).toBe(false);
    }
    await s1.commit();
    expect((await popSpecific(db, 'passing', 'p', group)).texts).toEqual(['a', 'c']);
  });

  it('that meets a first contact leaves either all of it or nothing', async () => {
    for (const name of numbered('p', 3)) await pushMessages(db, 'contact', name, ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, popWildcardCall('contact', { group: 'contact', maxPartitions: 3 }));
    // Nothing of the group is there yet for anybody else to see.
    const removal = s2.start(...deleteGroupCall('contact'));
    expect(await removal.result()).toMatchObject([{ result: { deletedPartitions: 0 } }]);
    await s1.commit();
    expect(await countRows(db, 'log_consumers', "consumer_group = 'contact'")).toBe(3);
    expect(await countRows(db, 'consumer_groups_metadata', "consumer_group = 'contact'")).toBe(1);
  });

  it('waits for a delete of the queue, and finds nothing left', async () => {
    await pushMessages(db, 'queue goes', 'p', ['a']);
    await popWildcard(db, 'queue goes', { group: 'queue goes' });
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, ['select queen.delete_queue_v1($1)', ['queue goes']]);
    const removal = s2.start(...deleteGroupCall('queue goes'));
    expect(await removal.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await removal.result()).toMatchObject([{ result: { deletedPartitions: 0, queues: [] } }]);
  });

  it('holds up a delete of the queue, not the other way round: no cycle over cursors and subscriptions', async () => {
    await pushMessages(db, 'group goes', 'p', ['a']);
    await popWildcard(db, 'group goes', { group: 'group goes' });
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, deleteGroupCall('group goes'));
    const removal = s2.start('select queen.delete_queue_v1($1) as result', ['group goes']);
    expect(await removal.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await removal.result()).toMatchObject([{ result: { existed: true } }]);
  });

  it('over and over, with seeks, new subscriptions, acks and queue deletes, ends without a deadlock', async () => {
    const names = numbered('p', 6);
    const bundle = pushMultiCall(names.map((partition) => ({ queue: 'storm', partition, texts: ['a'] })));
    await run(db, bundle);
    const before = await deadlocks(db);
    const { failures } = await storm(db, { sessions: 8, forMs: 2500 }, async (client, session, round) => {
      const group = `g${round % 2}`;
      const pop = { group, worker: `w${session}`, maxPartitions: 6 };
      if (session === 0) return run(client, deleteGroupCall(group, round % 3 > 0));
      if (session === 1) return run(client, deleteGroupOfQueueCall(group, 'storm'));
      if (session === 2)
        return run(client, seekQueueCall('storm', { group, toEnd: round % 5 === 0, at: '2001-01-01' }));
      if (session === 3) return run(client, subscriptionCall(group, '2001-01-01'));
      if (session === 4) return run(client, popWildcardCall('storm', pop));
      if (session === 5) return run(client, popListCall('storm', [...names].reverse(), pop));
      if (session === 6) {
        const pids = (await run(db, ['select id from queen.log_partitions', []])).map(
          ({ id }) => id as string,
        );
        return run(
          client,
          ackMultiCall(pids.map((pid) => ({ partitionId: pid, upto: 0, group, worker: '' }))),
        );
      }
      return run(client, round % 10 === 9 ? ['select queen.delete_queue_v1($1)', ['storm']] : bundle);
    });
    expect(failures).toEqual([]);
    expect(await deadlocks(db)).toBe(before);
    await run(db, deleteGroupCall('g0'));
    await run(db, deleteGroupCall('g1'));
    for (const table of ['log_consumers', 'consumer_groups_metadata', 'consumer_watermarks'])
      expect([table, await countRows(db, table, "consumer_group in ('g0', 'g1')")]).toEqual([table, 0]);
  }, 30_000);
});
