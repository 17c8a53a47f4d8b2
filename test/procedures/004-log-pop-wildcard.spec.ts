import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageLastWrite,
  consumerRow,
  countRows,
  expireLease,
  inTurn,
  makePartitions,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionId,
  popWildcard,
  popWildcardCall,
  pushMessages,
  pushMultiCall,
  QUEUE_MODE,
  run,
} from '../support/make.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** `count` partitions p0 … with one segment of three messages each: p0-0, p0-1, p0-2. */
async function pushThreesTo(queue: string, count: number): Promise<void> {
  const inputs = numbered('p', count).map((partition) => ({
    queue,
    partition,
    texts: numbered(`${partition}-`, 3),
  }));
  await run(db, pushMultiCall(inputs));
}

const watermark = async (queue: string, group = 'g') => {
  const select = `select w.last_empty_scan_at, w.updated_at, w.last_empty_scan_at = 'epoch' as at_epoch
    from queen.consumer_watermarks w join queen.queues q on q.id = w.queue_id
    where q.name = $1 and w.consumer_group = $2`;
  return (await run(db, [select, [queue, group]]))[0];
};

const letCheckAgain = (queue: string) =>
  db.query(
    `update queen.consumer_watermarks w set updated_at = 'epoch' from queen.queues q
     where q.id = w.queue_id and q.name = $1`,
    [queue],
  );

describe('a pop across a queue', () => {
  it('shares its budget among partitions and stops when it is spent', async () => {
    await pushThreesTo('budget', 5);
    const { batches, texts } = await popWildcard(db, 'budget', { budget: 7, maxPartitions: 10 });
    expect(batches.map((batch) => batch.texts.length)).toEqual([3, 3, 1]);
    expect(new Set(texts).size).toBe(7);
    for (const batch of batches) {
      expect(await consumerRow(db, 'budget', batch.partition)).toMatchObject({
        ...{ workerId: 'w', batchEnd: batch.end, committed: -1 },
      });
      expect(batch).toMatchObject({
        ...{ queue: 'budget', attempt: 1, partitionId: await partitionId(db, 'budget', batch.partition) },
      });
    }
    expect(await countRows(db, 'log_consumers', `worker_id = 'w' and batch_end is not null`)).toBe(3);
  });

  it('stops at the number of partitions asked for', async () => {
    await pushThreesTo('capped', 5);
    expect((await popWildcard(db, 'capped', { maxPartitions: 2 })).batches).toHaveLength(2);
    expect((await popWildcard(db, 'capped', { maxPartitions: 2, worker: 'w2' })).batches).toHaveLength(2);
    expect((await popWildcard(db, 'capped', { maxPartitions: 2, worker: 'w3' })).batches).toHaveLength(1);
    expect((await popWildcard(db, 'capped', { maxPartitions: 2, worker: 'w4' })).batches).toEqual([]);
  });

  it.each([null, 0, -1, 2_147_483_647])('takes %s as no limit of partitions', async (maxPartitions) => {
    const queue = `uncapped ${maxPartitions}`;
    await pushThreesTo(queue, 80);
    const { batches } = await popWildcard(db, queue, { maxPartitions, budget: 1000 });
    expect(batches).toHaveLength(80);
  });

  it.each<[number, number]>([
    [1, 64],
    [16, 64],
    [17, 68],
    [127, 508],
    [128, 512],
    [600, 512],
  ])('of %d partitions nominates at most %d', async (maxPartitions, candidates) => {
    // All candidates are held back by the delay, so that each is looked at and none is taken: the cursors that
    // the looks create tell how many there were.
    const queue = `nominates ${maxPartitions}`;
    const group = `g${maxPartitions}`;
    const queueId = await makeQueue(db, queue, { delayedProcessing: 1000 });
    await popWildcard(db, queue, { group });
    await makePartitions(db, queueId, numbered('p', 520));
    await db.query('update queen.log_partitions set last_offset = 0 where queue_id = $1', [queueId]);
    await db.query(
      `insert into queen.log_segments select id, 0, 0, clock_timestamp(), '' from queen.log_partitions where queue_id = $1`,
      [queueId],
    );
    await popWildcard(db, queue, { group, maxPartitions });
    expect(await countRows(db, 'log_consumers', 'consumer_group = $1', [group])).toBe(candidates);
  });

  it('asks for partitions in random order, so that consumers do not crowd on the first ones (Z4)', async () => {
    await pushThreesTo('random', 100);
    const firsts = await inTurn(numbered('g', 20), async (group) => {
      const { batches } = await popWildcard(db, 'random', { group, budget: 1 });
      return batches[0].partition;
    });
    expect(new Set(firsts).size).toBeGreaterThan(8);
  });

  it('skips leased partitions and serves the others', async () => {
    await pushThreesTo('one leased', 2);
    const first = await popWildcard(db, 'one leased', { worker: 'w1' });
    const second = await popWildcard(db, 'one leased', { worker: 'w2', maxPartitions: 2 });
    expect(second.batches.map(({ partition }) => partition)).not.toContain(first.batches[0].partition);
    expect(second.batches).toHaveLength(1);
  });

  it('acks at once when asked to', async () => {
    await pushThreesTo('auto', 2);
    const { batches } = await popWildcard(db, 'auto', { autoAck: true, maxPartitions: 2 });
    expect(batches.map(({ attempt }) => attempt)).toEqual([1, 1]);
    expect(await consumerRow(db, 'auto', 'p0')).toMatchObject({ committed: 2, workerId: null });
  });

  it('uses the lease time of the queue when it names none', async () => {
    await makeQueue(db, 'lease time', { leaseTime: 17 });
    await pushThreesTo('lease time', 1);
    await popWildcard(db, 'lease time', { leaseSeconds: null });
    const row = await consumerRow(db, 'lease time', 'p0');
    expect(row!.leaseExpiresAt!.getTime() - row!.leaseAcquiredAt!.getTime()).toBe(17_000);
  });

  it('keeps to the quiet window', async () => {
    await makeQueue(db, 'quiet', { windowBuffer: 100 });
    await pushThreesTo('quiet', 1);
    expect((await popWildcard(db, 'quiet')).texts).toEqual([]);
  });

  it('sees only its own tenant', async () => {
    await pushThreesTo('tenants', 1);
    expect((await popWildcard(db, 'tenants', { tenant: OTHER_TENANT })).texts).toEqual([]);
  });
});

describe('the first pop of a group', () => {
  it('creates a missing queue, with the defaults of a push', async () => {
    await popWildcard(db, 'early.bird', { mode: 'new' });
    const [queue] = await run(db, [`select * from queen.queues where name = 'early.bird'`, []]);
    expect(queue).toMatchObject({ namespace: 'early', task: 'bird', lease_time: 60 });
  });

  it('of the queue without a name creates nothing', async () => {
    expect(await run(db, popWildcardCall(''))).toEqual([]);
    expect(await countRows(db, 'queues', `name = ''`)).toBe(0);
  });

  it.each<[string, string, { mode?: string; from?: string }, string, number]>([
    ['registers as all without a wish', 'g', {}, 'all', -1],
    ['registers as new in mode new', 'g', { mode: 'new' }, 'new', 2],
    ['registers as new from now', 'g', { from: 'now' }, 'new', 2],
    ['registers as new for text nobody can read', 'g', { from: 'soon' }, 'new', 2],
    ['registers at a timestamp', 'g', { from: '2000-01-01T00:00:00Z' }, 'timestamp', -1],
    ['registers at a later timestamp', 'g', { from: '2999-01-01T00:00:00Z' }, 'timestamp', 2],
    ['registers as all in queue mode, whatever the wish', QUEUE_MODE, { mode: 'new' }, 'all', -1],
  ])('%s, and seeds every partition', async (what, group, wish, mode, cursor) => {
    const queue = `first: ${what}`;
    await pushThreesTo(queue, 3);
    await popWildcard(db, queue, { group, ...wish });
    const select = `select m.subscription_mode from queen.consumer_groups_metadata m
      join queen.queues q on q.id = m.queue_id where q.name = $1 and m.consumer_group = $2`;
    expect(await run(db, [select, [queue, group]])).toEqual([{ subscription_mode: mode }]);
    const rows = await inTurn(numbered('p', 3), (name) => consumerRow(db, queue, name, group));
    expect(rows.map((row) => row?.committed)).toEqual([cursor, cursor, cursor]);
  });

  it('delivers of a retained log what is left of it', async () => {
    await pushThreesTo('cut', 1);
    await db.query(
      `update queen.log_partitions p set log_start = 3 from queen.queues q where q.id = p.queue_id and q.name = 'cut'`,
    );
    await pushMessages(db, 'cut', 'p0', ['next']);
    await db.query(`delete from queen.log_segments where base_offset = 0 and partition_id = $1`, [
      await partitionId(db, 'cut', 'p0'),
    ]);
    expect((await popWildcard(db, 'cut')).texts).toEqual(['next']);
  });

  it('is the only one that registers', async () => {
    await pushThreesTo('registered', 1);
    await popWildcard(db, 'registered', { mode: 'new' });
    await popWildcard(db, 'registered', { mode: 'all' });
    expect((await popWildcard(db, 'registered', { mode: 'all' })).texts).toEqual([]);
    expect(await countRows(db, 'consumer_groups_metadata', `subscription_mode = 'new'`)).toBeGreaterThan(0);
  });
});

describe('the floor of the candidate scan', () => {
  it('hides partitions not written for two minutes before the last empty scan, and no others', async () => {
    await pushThreesTo('floor', 3);
    await popWildcard(db, 'floor', { autoAck: true, maxPartitions: 3 });
    await popWildcard(db, 'floor');
    await inTurn(['p0', 'p1', 'p2'], (partition) =>
      pushMessages(db, 'floor', partition, [`next ${partition}`]),
    );
    await ageLastWrite(db, 'floor', 'p0', 125);
    await ageLastWrite(db, 'floor', 'p1', 115);
    const { batches } = await popWildcard(db, 'floor', { maxPartitions: 3 });
    expect(batches.map(({ partition }) => partition).sort()).toEqual(['p1', 'p2']);
  });

  it('stands at the epoch until a scan was empty', async () => {
    await pushThreesTo('not yet empty', 1);
    await popWildcard(db, 'not yet empty');
    expect(await watermark('not yet empty')).toMatchObject({ at_epoch: true });
  });

  it('moves with an empty scan, at most every 30 seconds', async () => {
    await pushThreesTo('moves', 1);
    await popWildcard(db, 'moves', { autoAck: true });
    await popWildcard(db, 'moves');
    const first = await watermark('moves');
    expect(first.at_epoch).toBe(false);
    await popWildcard(db, 'moves');
    expect(await watermark('moves')).toEqual(first);
    await letCheckAgain('moves');
    await popWildcard(db, 'moves');
    expect((await watermark('moves')).last_empty_scan_at).not.toEqual(first.last_empty_scan_at);
  });

  it('stays while a partition is only leased, so that it is found again', async () => {
    await pushThreesTo('leased', 1);
    await popWildcard(db, 'leased');
    await ageLastWrite(db, 'leased', 'p0', 600);
    expect((await popWildcard(db, 'leased', { worker: 'w2' })).texts).toEqual([]);
    expect(await watermark('leased')).toMatchObject({ at_epoch: true });
    await expireLease(db, 'leased', 'p0');
    expect((await popWildcard(db, 'leased', { worker: 'w2' })).texts).toHaveLength(3);
  });
});
