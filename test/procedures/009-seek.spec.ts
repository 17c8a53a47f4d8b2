import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  LONG_AGO,
  NEXT_CENTURY,
  seekPartitionCall,
  seekPreviewCall,
  seekQueueCall,
  type SeekTo,
} from '../support/group-calls.js';
import {
  ackByHashCall,
  ageSegments,
  claimTexts,
  consumerRow,
  countRows,
  expireLease,
  makeLease,
  makePartitions,
  makeQueue,
  numbered,
  OTHER_TENANT,
  popSpecific,
  popWildcard,
  pushBacklog,
  pushMessages,
  run,
  scalar,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const seekQueue = (queue: string, to: SeekTo) =>
  scalar<Record<string, unknown>>(db, seekQueueCall(queue, to));
const seekPartition = (queue: string, partition: string, to: SeekTo) =>
  scalar<Record<string, unknown>>(db, seekPartitionCall(queue, partition, to));
const preview = (queue: string, partition: string | null, to: SeekTo) =>
  scalar<Record<string, number>>(db, seekPreviewCall(queue, partition, to));

/** Hours ago, as PostgreSQL's clock has it. */
async function hoursAgo(hours: number): Promise<string> {
  return scalar<string>(db, [
    "select queen.log_utc_iso(clock_timestamp() - $1 * interval '1 hour') as at",
    [hours],
  ]);
}

/** Ten segments of one message, the first five two hours old; all consumed by g. */
async function drained(queue: string): Promise<string[]> {
  const texts = await pushBacklog(db, queue, 'p', 10);
  await ageSegments(db, queue, 'p', 7200, { from: 0, to: 4 });
  await popSpecific(db, queue, 'p', { autoAck: true });
  return texts;
}

describe('a seek of a queue', () => {
  it('to a time starts before the first segment stored then, in every partition', async () => {
    const texts = await drained('to a time');
    await pushMessages(db, 'to a time', 'young', ['y0']);
    await pushMessages(db, 'to a time', 'old', ['o0']);
    await ageSegments(db, 'to a time', 'old', 7200, { from: 0, to: 0 });
    const at = await hoursAgo(1);
    expect(await seekQueue('to a time', { at })).toEqual({
      ...{ success: true, consumerGroup: 'g', queueName: 'to a time', seekToEnd: false },
      targetTimestamp: at.replace(/\d{3}Z$/, 'Z'),
      partitionsUpdated: 3,
    });
    expect(await claimTexts(db, 'to a time', 'p')).toEqual(texts.slice(5));
    expect(await claimTexts(db, 'to a time', 'young')).toEqual(['y0']);
    expect(await claimTexts(db, 'to a time', 'old')).toEqual([]);
  });

  it('to the end skips what is there, and delivers what comes', async () => {
    await pushMessages(db, 'to the end', 'p', numbered('m', 3));
    expect(await seekQueue('to the end', { toEnd: true })).toMatchObject({
      ...{ success: true, seekToEnd: true, targetTimestamp: null, partitionsUpdated: 1 },
    });
    expect(await claimTexts(db, 'to the end', 'p')).toEqual([]);
    await pushMessages(db, 'to the end', 'p', ['next']);
    expect(await claimTexts(db, 'to the end', 'p')).toEqual(['next']);
  });

  it('to a time before everything starts at the oldest message that is left', async () => {
    await drained('beginning');
    await db.query(`delete from queen.log_segments s using queen.log_partitions l
      where s.partition_id = l.id and s.base_offset < 2
        and l.queue_id = (select id from queen.queues where name = 'beginning')`);
    await db.query(`update queen.log_partitions set log_start = 2
      where queue_id = (select id from queen.queues where name = 'beginning')`);
    await seekQueue('beginning', { at: LONG_AGO });
    expect((await consumerRow(db, 'beginning', 'p'))?.committed).toBe(1);
    expect(await claimTexts(db, 'beginning', 'p')).toEqual(numbered('m', 8, 2));
  });

  it('to a time that has not come is a seek to the end', async () => {
    await pushMessages(db, 'next century', 'p', ['m0']);
    await seekQueue('next century', { at: NEXT_CENTURY });
    expect(await claimTexts(db, 'next century', 'p')).toEqual([]);
    await pushMessages(db, 'next century', 'p', ['m1']);
    expect(await claimTexts(db, 'next century', 'p')).toEqual(['m1']);
  });

  it('finds the place in a deep partition without walking it', async () => {
    await pushBacklog(db, 'deep', 'p', 600);
    await ageSegments(db, 'deep', 'p', 7200, { from: 0, to: 399 });
    for (const [hours, base] of [
      [1, 400],
      [3, 0],
    ] as const) {
      await seekQueue('deep', { at: await hoursAgo(hours) });
      expect((await consumerRow(db, 'deep', 'p'))?.committed).toBe(base - 1);
    }
  });

  it('takes the lease away, starts retries and attempts over and keeps what was consumed', async () => {
    await pushMessages(db, 'under way', 'p', numbered('m', 4));
    const { partitionId } = await makeLease(db, 'under way', 'p');
    await run(db, ackByHashCall(partitionId, ['m0', 'm1'], ['completed', 'failed']));
    await makeLease(db, 'under way', 'p', { worker: 'w2' });
    expect(await consumerRow(db, 'under way', 'p')).toMatchObject({ retryCount: 1, attemptCount: 2 });
    await seekQueue('under way', { at: LONG_AGO });
    expect(await consumerRow(db, 'under way', 'p')).toMatchObject({
      ...{ committed: -1, workerId: null, leaseExpiresAt: null, leaseAcquiredAt: null, batchEnd: null },
      ...{ retryCount: 0, attemptOffset: null, attemptEnd: null, attemptCount: 0, totalConsumed: 1 },
    });
    expect(
      await scalar(db, ackByHashCall(partitionId, numbered('m', 4), null, { worker: 'w2' })),
    ).toMatchObject({ ok: false, error: 'invalid or expired lease' });
    expect(await claimTexts(db, 'under way', 'p')).toEqual(numbered('m', 4));
  });

  it('creates cursors that are missing, also of a group nobody has seen', async () => {
    await pushMessages(db, 'unseen', 'p', ['m0']);
    await seekQueue('unseen', { toEnd: true, group: 'new group' });
    expect(await consumerRow(db, 'unseen', 'p', 'new group')).toMatchObject({ committed: 0 });
    const { texts } = await popWildcard(db, 'unseen', { group: 'new group' });
    expect(texts).toEqual([]);
  });

  it('leaves other groups and other queues alone', async () => {
    await drained('ours');
    await popSpecific(db, 'ours', 'p', { autoAck: true, group: 'h' });
    await drained('theirs');
    await seekQueue('ours', { at: LONG_AGO });
    expect((await consumerRow(db, 'ours', 'p', 'h'))?.committed).toBe(9);
    expect((await consumerRow(db, 'theirs', 'p'))?.committed).toBe(9);
  });

  it('drops the watermark: cold partitions are found by the next scan (Z33)', async () => {
    await pushMessages(db, 'cold', 'p', ['m0']);
    await popWildcard(db, 'cold', { autoAck: true });
    await db.query(`update queen.log_partitions set last_write_at = clock_timestamp() - interval '1 hour'
      where queue_id = (select id from queen.queues where name = 'cold')`);
    await db.query(`update queen.consumer_watermarks set last_empty_scan_at = clock_timestamp()
      where queue_id = (select id from queen.queues where name = 'cold')`);
    await seekQueue('cold', { at: LONG_AGO });
    expect((await popWildcard(db, 'cold')).texts).toEqual(['m0']);
  });

  it('leaves one notice for the brokers, which changes with each seek', async () => {
    await pushMessages(db, 'noticed', 'p', ['m0']);
    const notices = () => run(db, ["select * from queen.log_repairs_v1() where r_queue = 'noticed'", []]);
    await seekQueue('noticed', { toEnd: true });
    const [first] = await notices();
    expect(first).toMatchObject({ r_queue: 'noticed', r_group: 'g', r_partition: null });
    await seekQueue('noticed', { toEnd: true });
    const after = await notices();
    expect(after).toHaveLength(1);
    expect(after[0].r_repaired_at).not.toEqual(first.r_repaired_at);
  });

  it.each<[string, string, SeekTo, string]>([
    ['of a queue that does not exist', 'missing', { toEnd: true }, 'Queue not found or has no partitions'],
    ['of a queue without partitions', 'bare', { toEnd: true }, 'Queue not found or has no partitions'],
    [
      'of a queue of another tenant',
      'foreign',
      { toEnd: true, tenant: OTHER_TENANT },
      'Queue not found or has no partitions',
    ],
    ['to nowhere', 'foreign', {}, 'Must specify toEnd=true or a timestamp'],
    ['to nowhere in so many words', 'foreign', { toEnd: null }, 'Must specify toEnd=true or a timestamp'],
  ])('%s is refused and leaves nothing behind', async (_, queue, to, error) => {
    await makeQueue(db, 'bare');
    await pushMessages(db, 'foreign', 'p', ['m0']);
    expect(await seekQueue(queue, to)).toEqual({
      ...{ success: false, error, consumerGroup: 'g', queueName: queue, partitionsUpdated: 0 },
    });
    expect(await consumerRow(db, 'foreign', 'p')).toBeNull();
    expect(await countRows(db, 'hotlist_repairs', 'queue_name = $1', [queue])).toBe(0);
  });

  it('over more partitions than the lock table has room for', async () => {
    const queueId = await makeQueue(db, 'wide');
    await makePartitions(db, queueId, numbered('p', 20_000));
    // A session as the broker's: in ours the plan of the foreign-key check stems from when there were few partitions.
    const session = await db.connect({ options: '-c enable_seqscan=off' });
    for (const to of [{ toEnd: true }, { at: LONG_AGO }])
      expect(await scalar(session, seekQueueCall('wide', to))).toMatchObject({ partitionsUpdated: 20_000 });
  });
});

describe('a seek of a partition', () => {
  it('moves that one only', async () => {
    await pushMessages(db, 'one of two', 'p', ['m0', 'm1']);
    await pushMessages(db, 'one of two', 'q', ['n0']);
    for (const name of ['p', 'q']) await popSpecific(db, 'one of two', name, { autoAck: true });
    expect(await seekPartition('one of two', 'p', { at: LONG_AGO })).toEqual({
      ...{ success: true, consumerGroup: 'g', queueName: 'one of two', partitionName: 'p' },
      ...{ seekToEnd: false, targetTimestamp: '2001-01-01T00:00:00.000Z', updated: true },
    });
    expect(await claimTexts(db, 'one of two', 'p')).toEqual(['m0', 'm1']);
    expect(await claimTexts(db, 'one of two', 'q')).toEqual([]);
  });

  it('to the end, with a lease out', async () => {
    await pushMessages(db, 'lease out', 'p', ['m0', 'm1']);
    await makeLease(db, 'lease out', 'p');
    expect(await seekPartition('lease out', 'p', { toEnd: true })).toMatchObject({
      ...{ seekToEnd: true, targetTimestamp: null, updated: true },
    });
    expect(await consumerRow(db, 'lease out', 'p')).toMatchObject({ committed: 1, workerId: null });
  });

  it('names the partition in its notice; a second partition makes it a notice about the queue', async () => {
    for (const name of ['p', 'q']) await pushMessages(db, 'notices', name, ['m0']);
    const partitions = () =>
      run(db, ["select r_partition from queen.log_repairs_v1() where r_queue = 'notices'", []]);
    await seekPartition('notices', 'p', { toEnd: true });
    await seekPartition('notices', 'p', { toEnd: true });
    expect(await partitions()).toEqual([{ r_partition: 'p' }]);
    await seekPartition('notices', 'q', { toEnd: true });
    expect(await partitions()).toEqual([{ r_partition: null }]);
    await seekPartition('notices', 'q', { toEnd: true });
    expect(await partitions()).toEqual([{ r_partition: null }]);
  });

  it.each<[string, string, SeekTo, string]>([
    ['that does not exist', 'nowhere', { toEnd: true }, 'Partition not found'],
    ['to nowhere', 'p', {}, 'Must specify toEnd=true or a timestamp'],
  ])('%s is refused', async (_, partition, to, error) => {
    await pushMessages(db, 'refusing', 'p', ['m0']);
    expect(await seekPartition('refusing', partition, to)).toEqual({
      ...{ success: false, error, consumerGroup: 'g', queueName: 'refusing', partitionName: partition },
      updated: false,
    });
    expect(await consumerRow(db, 'refusing', 'p')).toBeNull();
  });
});

describe('notices', () => {
  it('are gone after an hour, for readers at once and for good with a later one', async () => {
    await pushMessages(db, 'hour', 'p', ['m0']);
    await seekQueue('hour', { toEnd: true, group: 'old' });
    await db.query(`update queen.hotlist_repairs set repaired_at = repaired_at - interval '61 minutes'
      where queue_name = 'hour'`);
    const readable = "select r_group from queen.log_repairs_v1() where r_queue = 'hour'";
    expect(await run(db, [readable, []])).toEqual([]);
    await seekQueue('hour', { toEnd: true, group: 'young' });
    expect(await run(db, [readable, []])).toEqual([{ r_group: 'young' }]);
    expect(await countRows(db, 'hotlist_repairs', "queue_name = 'hour'")).toBe(1);
  });
});

describe('a preview', () => {
  it('counts what would be skipped and what would come again, and moves nothing', async () => {
    await drained('preview');
    await pushBacklog(db, 'preview', 'q', 3, 2);
    const at = await hoursAgo(1);
    const before = await consumerRow(db, 'preview', 'p');
    // p: done up to 9, back to before 5. q: no cursor yet, so at its beginning.
    expect(await preview('preview', null, { at })).toEqual({
      ...{ partitions: 2, messagesSkipped: 0, messagesReplayed: 5 },
    });
    expect(await preview('preview', null, { toEnd: true })).toEqual({
      ...{ partitions: 2, messagesSkipped: 6, messagesReplayed: 0 },
    });
    expect(await preview('preview', 'p', { at: LONG_AGO })).toEqual({
      ...{ partitions: 1, messagesSkipped: 0, messagesReplayed: 10 },
    });
    expect(await consumerRow(db, 'preview', 'p')).toEqual(before);
    expect(await consumerRow(db, 'preview', 'q')).toBeNull();
    expect(await countRows(db, 'hotlist_repairs', "queue_name = 'preview'")).toBe(0);
  });

  it('counts from where the group would start where it has no cursor, and from what is left', async () => {
    await pushBacklog(db, 'subscribed', 'p', 10);
    await popWildcard(db, 'subscribed', { mode: 'new' });
    await pushBacklog(db, 'subscribed', 'later', 4);
    await db.query(`update queen.log_partitions set log_start = 3
      where name = 'p' and queue_id = (select id from queen.queues where name = 'subscribed')`);
    expect(await preview('subscribed', null, { toEnd: true })).toMatchObject({ messagesSkipped: 4 });
    expect(await preview('subscribed', null, { at: LONG_AGO })).toEqual({
      ...{ partitions: 2, messagesSkipped: 0, messagesReplayed: 7 },
    });
  });

  it('of nothing counts no partitions', async () => {
    const nothing = { partitions: 0, messagesSkipped: 0, messagesReplayed: 0 };
    expect(await preview('no such queue', null, { toEnd: true })).toEqual(nothing);
    expect(await preview('preview', 'no such partition', { toEnd: true })).toEqual(nothing);
  });

  it('agrees with the seek that follows', async () => {
    await drained('agrees');
    await pushBacklog(db, 'agrees', 'q', 4, 5);
    await popSpecific(db, 'agrees', 'q', { budget: 7, autoAck: true });
    const at = await hoursAgo(1);
    const cursors = async () => [
      (await consumerRow(db, 'agrees', 'p'))!.committed,
      (await consumerRow(db, 'agrees', 'q'))!.committed,
    ];
    const before = await cursors();
    const expected = await preview('agrees', null, { at });
    await seekQueue('agrees', { at });
    const moves = (await cursors()).map((committed, i) => committed - before[i]);
    expect(expected).toMatchObject({
      messagesSkipped: moves.filter((by) => by > 0).reduce((sum, by) => sum + by, 0),
      messagesReplayed: -moves.filter((by) => by < 0).reduce((sum, by) => sum + by, 0),
    });
    expect(expected.messagesReplayed).toBe(5 + 7);
  });
});

it('an expired lease is no obstacle to a seek', async () => {
  await pushMessages(db, 'expired', 'p', ['m0']);
  await makeLease(db, 'expired', 'p');
  await expireLease(db, 'expired', 'p');
  await seekQueue('expired', { toEnd: true });
  expect(await consumerRow(db, 'expired', 'p')).toMatchObject({ committed: 0, workerId: null });
});
