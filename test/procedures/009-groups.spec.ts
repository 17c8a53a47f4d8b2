import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  deleteGroupCall,
  deleteGroupOfQueueCall,
  LONG_AGO,
  subscriptionCall,
} from '../support/group-calls.js';
import {
  ageSegments,
  claimTexts,
  consumerRow,
  countRows,
  expireLease,
  makeLease,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionId,
  popSpecific,
  popWildcard,
  pushBacklog,
  pushMessages,
  QUEUE_MODE,
  run,
  scalar,
  TENANT,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

type Json = Record<string, unknown>;

const notices = async (group: string): Promise<unknown[]> =>
  (await run(db, ['select r_queue from queen.log_repairs_v1() where r_group = $1 order by 1', [group]])).map(
    ({ r_queue }) => r_queue,
  );

describe('deleting a group', () => {
  it('removes its cursors, subscriptions and watermarks in all queues, and tells which', async () => {
    for (const queue of ['all a', 'all b']) {
      for (const name of ['p', 'q']) await pushMessages(db, queue, name, ['m0', 'm1']);
      await popWildcard(db, queue, { group: 'gone', maxPartitions: 2, autoAck: true });
      await popWildcard(db, queue, { group: 'stays', maxPartitions: 2, autoAck: true });
    }
    const deleted = await scalar<Json>(db, deleteGroupCall('gone'));
    expect({ ...deleted, queues: (deleted.queues as string[]).sort() }).toEqual({
      ...{ success: true, consumerGroup: 'gone', deletedPartitions: 4, metadataDeleted: true },
      queues: ['all a', 'all b'],
    });
    for (const table of ['log_consumers', 'consumer_groups_metadata', 'consumer_watermarks']) {
      expect([table, await countRows(db, table, "consumer_group = 'gone'")]).toEqual([table, 0]);
      expect(await countRows(db, table, "consumer_group = 'stays'")).toBeGreaterThan(0);
    }
    expect(await notices('gone')).toEqual(['all a', 'all b']);
    expect(await notices('stays')).toEqual([]);
  });

  it('lets a group of that name start over, with the mode of its next pop', async () => {
    await pushMessages(db, 'over', 'p', ['m0']);
    await popWildcard(db, 'over', { group: 'over', mode: 'new' });
    await run(db, deleteGroupCall('over'));
    expect((await popWildcard(db, 'over', { group: 'over', mode: 'all' })).texts).toEqual(['m0']);
  });

  it('keeps the subscription on request: the group starts over from its point in time', async () => {
    await pushMessages(db, 'kept', 'p', ['before']);
    await popWildcard(db, 'kept', { group: 'kept', mode: 'new' });
    await pushMessages(db, 'kept', 'p', ['after']);
    await popWildcard(db, 'kept', { group: 'kept', autoAck: true });
    expect(await scalar<Json>(db, deleteGroupCall('kept', false))).toMatchObject({
      ...{ deletedPartitions: 1, metadataDeleted: false, queues: ['kept'] },
    });
    expect(await countRows(db, 'consumer_groups_metadata', "consumer_group = 'kept'")).toBe(1);
    expect((await popWildcard(db, 'kept', { group: 'kept', mode: 'all' })).texts).toEqual(['after']);
  });

  it('takes leases away', async () => {
    await pushMessages(db, 'leased', 'p', ['m0']);
    await makeLease(db, 'leased', 'p', { group: 'leased' });
    await run(db, deleteGroupCall('leased'));
    expect(await claimTexts(db, 'leased', 'p', { group: 'leased' })).toEqual(['m0']);
  });

  it('reaches a group that only ever popped single partitions', async () => {
    await pushMessages(db, 'specific', 'p', ['m0']);
    await popSpecific(db, 'specific', 'p', { group: 'specific', autoAck: true });
    expect(await scalar<Json>(db, deleteGroupCall('specific'))).toMatchObject({ queues: ['specific'] });
    expect(await consumerRow(db, 'specific', 'p', 'specific')).toBeNull();
  });

  it('removes subscriptions that belong to no queue', async () => {
    await db.query(`insert into queen.consumer_groups_metadata
      (consumer_group, namespace, subscription_mode, subscription_timestamp) values ('by namespace', 'n', 'all', 'epoch')`);
    await run(db, deleteGroupCall('by namespace', false));
    expect(await countRows(db, 'consumer_groups_metadata', "consumer_group = 'by namespace'")).toBe(1);
    await run(db, deleteGroupCall('by namespace'));
    expect(await countRows(db, 'consumer_groups_metadata', "consumer_group = 'by namespace'")).toBe(0);
  });

  it('stays inside its tenant', async () => {
    await pushMessages(db, 'tenants', 'p', ['m0'], { tenant: OTHER_TENANT });
    await popWildcard(db, 'tenants', { group: 'tenants', tenant: OTHER_TENANT, autoAck: true });
    expect(await scalar<Json>(db, deleteGroupCall('tenants'))).toMatchObject({
      deletedPartitions: 0,
      queues: [],
    });
    expect(await countRows(db, 'log_consumers', "consumer_group = 'tenants'")).toBe(1);
    expect(await scalar<Json>(db, deleteGroupCall('tenants', true, OTHER_TENANT))).toMatchObject({
      ...{ deletedPartitions: 1, queues: ['tenants'] },
    });
  });

  it('that nobody has seen is no error', async () => {
    expect(await scalar<Json>(db, deleteGroupCall('never seen'))).toEqual({
      ...{
        success: true,
        consumerGroup: 'never seen',
        deletedPartitions: 0,
        metadataDeleted: true,
        queues: [],
      },
    });
  });
});

describe('deleting a group in one queue', () => {
  it('leaves it in the others', async () => {
    for (const queue of ['one a', 'one b']) {
      await pushMessages(db, queue, 'p', ['m0']);
      await popWildcard(db, queue, { group: 'one', autoAck: true });
    }
    expect(await scalar<Json>(db, deleteGroupOfQueueCall('one', 'one a'))).toEqual({
      ...{
        success: true,
        consumerGroup: 'one',
        queueName: 'one a',
        deletedPartitions: 1,
        metadataDeleted: true,
      },
    });
    expect(await consumerRow(db, 'one a', 'p', 'one')).toBeNull();
    expect(await consumerRow(db, 'one b', 'p', 'one')).not.toBeNull();
    expect(await countRows(db, 'consumer_groups_metadata', "consumer_group = 'one'")).toBe(1);
    expect(await notices('one')).toEqual(['one a']);
  });

  it('can keep the subscription', async () => {
    await pushMessages(db, 'keep one', 'p', ['m0']);
    await popWildcard(db, 'keep one', { group: 'keep', autoAck: true });
    const call = deleteGroupOfQueueCall('keep', 'keep one', false);
    expect(await scalar<Json>(db, call)).toMatchObject({ deletedPartitions: 1, metadataDeleted: false });
    expect(await countRows(db, 'consumer_groups_metadata', "consumer_group = 'keep'")).toBe(1);
  });

  it('that does not exist is no error', async () => {
    expect(await scalar<Json>(db, deleteGroupOfQueueCall('g', 'no queue'))).toMatchObject({
      ...{ success: true, deletedPartitions: 0 },
    });
  });
});

describe('a new subscription time', () => {
  it('counts for partitions without a cursor, and moves none', async () => {
    await pushMessages(db, 'sub', 'p', ['old p']);
    await popWildcard(db, 'sub', { group: 'sub', mode: 'new' });
    await pushMessages(db, 'sub', 'later', ['old later']);
    await ageSegments(db, 'sub', 'later', 3600, { from: 0, to: 0 });
    await pushMessages(db, 'sub', 'later', ['young later']);

    const at = await scalar<string>(db, [
      "select queen.log_utc_iso(clock_timestamp() - interval '30 minutes') as at",
      [],
    ]);
    expect(await scalar<Json>(db, subscriptionCall('sub', at))).toEqual({
      ...{ success: true, consumerGroup: 'sub', newTimestamp: at, rowsUpdated: 1, queues: ['sub'] },
    });
    expect(await claimTexts(db, 'sub', 'p', { group: 'sub' })).toEqual([]);
    expect(await claimTexts(db, 'sub', 'later', { group: 'sub' })).toEqual(['young later']);
    expect(await countRows(db, 'consumer_watermarks', "consumer_group = 'sub'")).toBe(0);
    expect(await notices('sub')).toEqual(['sub']);
  });

  it('is in UTC when it names no zone, whatever the session says', async () => {
    await makeQueue(db, 'zone');
    await popWildcard(db, 'zone', { group: 'zone' });
    const session = await db.connect();
    await session.query("set timezone = 'Asia/Tokyo'");
    await session.query(...(subscriptionCall('zone', '2026-01-02T03:04:05') as [string, unknown[]]));
    const at =
      "select queen.log_utc_iso(subscription_timestamp) from queen.consumer_groups_metadata where consumer_group = 'zone'";
    expect(await scalar(db, [at, []])).toBe('2026-01-02T03:04:05.000000Z');
  });

  it('changes nothing for a group without subscriptions, or when it is no time', async () => {
    expect(await scalar<Json>(db, subscriptionCall('nobody', LONG_AGO))).toMatchObject({
      ...{ success: true, rowsUpdated: 0, queues: [] },
    });
    await expect(run(db, subscriptionCall('nobody', 'soon'))).rejects.toMatchObject({ code: '22007' });
  });
});

describe('the list of groups', () => {
  const listOf = async (group: string, tenant = TENANT) =>
    (await scalar<Json[]>(db, ['select queen.get_consumer_groups_v4($1) as result', [tenant]])).filter(
      ({ name }) => name === group,
    );

  it('has one entry per group and queue, with exact lag', async () => {
    await pushBacklog(db, 'list b', 'p', 4, 5);
    await pushBacklog(db, 'list b', 'q', 1, 3);
    await pushMessages(db, 'list a', 'p', ['m0']);
    await popSpecific(db, 'list b', 'p', { group: 'lister', budget: 7, autoAck: true });
    await popSpecific(db, 'list b', 'q', { group: 'lister', autoAck: true });
    await popSpecific(db, 'list a', 'p', { group: 'lister' });
    const common = {
      ...{ name: 'lister', storage: 'segments' },
      ...{ subscriptionMode: null, subscriptionTimestamp: null, subscriptionCreatedAt: null },
    };
    expect(await listOf('lister')).toEqual([
      {
        ...common,
        ...{ topics: ['list a'], queueName: 'list a', members: 1, partitionCursors: 1 },
        ...{ partitionsWithLag: 1, totalLag: 1, maxTimeLag: 0, state: 'Dead' },
      },
      {
        ...common,
        ...{ topics: ['list b'], queueName: 'list b', members: 2, partitionCursors: 2 },
        ...{ partitionsWithLag: 1, totalLag: 13, maxTimeLag: 0, state: 'Stable' },
      },
    ]);
  });

  it('calls a group lagging when its oldest message waits for more than five minutes', async () => {
    await pushBacklog(db, 'slow', 'p', 3);
    await ageSegments(db, 'slow', 'p', 400, { from: 0, to: 2 });
    await popSpecific(db, 'slow', 'p', { group: 'slow', budget: 1, autoAck: true });
    const [entry] = await listOf('slow');
    expect(entry).toMatchObject({ state: 'Lagging', totalLag: 2 });
    expect(entry.maxTimeLag as number).toBeGreaterThanOrEqual(400);
    expect(entry.maxTimeLag as number).toBeLessThan(460);
  });

  it('does not count what retention took', async () => {
    await pushBacklog(db, 'taken', 'p', 4);
    await popSpecific(db, 'taken', 'p', { group: 'taken', budget: 1, autoAck: true });
    const pid = await partitionId(db, 'taken', 'p');
    await db.query('delete from queen.log_segments where partition_id = $1 and base_offset < 3', [pid]);
    await db.query('update queen.log_partitions set log_start = 3 where id = $1', [pid]);
    expect(await listOf('taken')).toMatchObject([{ totalLag: 1, partitionsWithLag: 1 }]);
  });

  it('has queue mode as a group, and nothing of other tenants', async () => {
    await pushMessages(db, 'mode', 'p', ['m0']);
    await popSpecific(db, 'mode', 'p', { group: QUEUE_MODE });
    expect((await listOf(QUEUE_MODE)).map(({ queueName }) => queueName)).toContain('mode');
    expect(await listOf(QUEUE_MODE, OTHER_TENANT)).toEqual([]);
  });
});

describe('lagging partitions', () => {
  const lagging = (minLagSeconds: number, limit = 1000, offset = 0, tenant = TENANT) =>
    scalar<Json[]>(db, [
      'select queen.get_lagging_partitions_v1($1, $2, $3, $4) as result',
      [minLagSeconds, limit, offset, tenant],
    ]);

  it('come worst first, strictly above the threshold, in pages', async () => {
    for (const [partition, age] of [
      ['day', 90_000],
      ['hours', 7300],
      ['week', 700_000],
    ] as const) {
      await pushBacklog(db, 'lagging', partition, 2);
      await ageSegments(db, 'lagging', partition, age, { from: 0, to: 1 });
      await makeLease(db, 'lagging', partition, { group: 'lagger', worker: `w-${partition}` });
    }
    const all = await lagging(7200);
    expect(all.map(({ partition_name }) => partition_name)).toEqual(['week', 'day', 'hours']);
    expect(all[1]).toEqual({
      ...{ consumer_group: 'lagger', queue_name: 'lagging', partition_name: 'day', worker_id: 'w-day' },
      partition_id: await partitionId(db, 'lagging', 'day'),
      ...{ offset_lag: 2, time_lag_seconds: expect.any(Number), lag_hours: 25 },
      ...{ oldest_unconsumed_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/), last_consumed_at: null },
    });
    expect(all[1].time_lag_seconds as number).toBeGreaterThanOrEqual(90_000);
    expect(await lagging(8000)).toHaveLength(2);
    expect(await lagging(10_000_000)).toEqual([]);
    expect((await lagging(7200, 1, 1)).map(({ partition_name }) => partition_name)).toEqual(['day']);
    expect(await lagging(0, 1000, 0, OTHER_TENANT)).toEqual([]);
  });

  it('are none once a group has caught up', async () => {
    await pushBacklog(db, 'caught up', 'p', 1);
    await ageSegments(db, 'caught up', 'p', 9000, { from: 0, to: 0 });
    await popSpecific(db, 'caught up', 'p', { group: 'caught up', autoAck: true });
    expect((await lagging(0)).filter(({ queue_name }) => queue_name === 'caught up')).toEqual([]);
  });
});

describe('the details of a group', () => {
  const details = (group: string, limit = 1000, offset = 0, tenant = TENANT) =>
    scalar<Record<string, { partitions: Json[]; partitionsTotal: number }>>(db, [
      'select queen.get_consumer_group_details_v1($1, $2, $3, $4) as result',
      [group, limit, offset, tenant],
    ]);

  it('are its cursors by queue, partitions by name', async () => {
    await pushBacklog(db, 'detail', 'b', 2, 3);
    await pushBacklog(db, 'detail', 'a', 1);
    await pushBacklog(db, 'detail', 'c', 1);
    await ageSegments(db, 'detail', 'b', 500, { from: 0, to: 3 });
    await popSpecific(db, 'detail', 'b', { group: 'det', budget: 2, autoAck: true });
    await makeLease(db, 'detail', 'b', { group: 'det', worker: 'w-b' });
    await popSpecific(db, 'detail', 'a', { group: 'det', autoAck: true });
    await makeLease(db, 'detail', 'c', { group: 'det', worker: 'w-c' });
    await expireLease(db, 'detail', 'c', 'det');
    const { detail } = await details('det');
    expect(detail).toEqual({
      partitionsTotal: 3,
      partitions: [
        {
          ...{ partition: 'a', workerId: null, lastConsumedAt: null, totalConsumed: 1 },
          ...{ offsetLag: 0, timeLagSeconds: 0, leaseActive: false },
        },
        {
          ...{ partition: 'b', workerId: 'w-b', lastConsumedAt: null, totalConsumed: 2 },
          ...{ offsetLag: 4, timeLagSeconds: expect.any(Number), leaseActive: true },
        },
        {
          ...{ partition: 'c', workerId: 'w-c', lastConsumedAt: null, totalConsumed: 0 },
          ...{ offsetLag: 1, timeLagSeconds: 0, leaseActive: false },
        },
      ],
    });
    expect(detail.partitions[1].timeLagSeconds as number).toBeGreaterThanOrEqual(500);
  });

  it('come in pages of each queue, so that no queue hides another', async () => {
    for (const name of numbered('p', 5)) {
      await pushMessages(db, 'paged', name, ['m0']);
      await popSpecific(db, 'paged', name, { group: 'pager' });
    }
    await pushMessages(db, 'paged too', 'p', ['m0']);
    await popSpecific(db, 'paged too', 'p', { group: 'pager' });
    const page = await details('pager', 2, 2);
    expect(page.paged.partitions.map(({ partition }) => partition)).toEqual(['p2', 'p3']);
    expect([page.paged.partitionsTotal, page['paged too']]).toEqual([
      5,
      { partitions: [], partitionsTotal: 1 },
    ]);
  });

  it('are empty for a group nobody has seen, or of another tenant', async () => {
    expect(await details('never')).toEqual({});
    expect(await details('det', 1000, 0, OTHER_TENANT)).toEqual({});
  });
});

describe('the oldest message at or above an offset', () => {
  it('is the one that covers it, else the first behind a gap, else none', async () => {
    await pushBacklog(db, 'oldest', 'p', 3, 2);
    await ageSegments(db, 'oldest', 'p', 300, { from: 0, to: 0 });
    await ageSegments(db, 'oldest', 'p', 100, { from: 4, to: 4 });
    const pid = await partitionId(db, 'oldest', 'p');
    const ageAt = async (offset: number) => {
      const call = `select round(extract(epoch from clock_timestamp() - queen.log_oldest_pending_at_v1($1, $2)) / 100)::int`;
      return scalar<number | null>(db, [call, [pid, offset]]);
    };
    expect(await ageAt(1)).toBe(3);
    expect(await ageAt(2)).toBe(0);
    expect(await ageAt(5)).toBe(1);
    expect(await ageAt(6)).toBeNull();
    await db.query('delete from queen.log_segments where partition_id = $1 and base_offset < 4', [pid]);
    expect(await ageAt(1)).toBe(1);
  });
});
