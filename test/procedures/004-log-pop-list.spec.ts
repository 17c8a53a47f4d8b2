import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageSegments,
  claim,
  consumerRow,
  countRows,
  dropBelow,
  expireLease,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionId,
  popList,
  popListCall,
  pushMessages,
  pushMultiCall,
  run,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** `count` partitions p0 … with one segment of three messages each: p0-0, p0-1, p0-2. */
async function pushThreesTo(queue: string, count: number): Promise<void> {
  const inputs = numbered('p', count).map((partition) => ({
    ...{ queue, partition, texts: numbered(`${partition}-`, 3) },
  }));
  await run(db, pushMultiCall(inputs));
}

const states = (verdicts: { partition: string; state: string }[]) =>
  verdicts.map(({ partition, state }) => `${partition} ${state}`);

describe('a pop of listed partitions', () => {
  it('serves them in the order given and says so of each', async () => {
    await pushThreesTo('order', 4);
    const { batches, verdicts, texts } = await popList(db, 'order', ['p2', 'p0', 'p3'], {
      maxPartitions: 10,
    });
    expect(batches.map(({ partition }) => partition)).toEqual(['p2', 'p0', 'p3']);
    expect(texts).toHaveLength(9);
    expect(states(verdicts)).toEqual(['p2 took', 'p0 took', 'p3 took']);
    for (const [i, batch] of batches.entries()) {
      expect(batch).toMatchObject({ queue: 'order', attempt: 1, partitionId: verdicts[i].partitionId });
      expect(verdicts[i]).toMatchObject({ lastOffset: 2, waitMs: null });
      expect(await consumerRow(db, 'order', batch.partition)).toMatchObject({
        batchEnd: batch.end,
        workerId: 'w',
      });
    }
  });

  it('says nothing of a name it did not get to: the budget is spent', async () => {
    await pushThreesTo('budget', 3);
    const { verdicts, batches } = await popList(db, 'budget', ['p0', 'p1', 'p2'], {
      ...{ budget: 4, maxPartitions: 10 },
    });
    expect(batches.map((batch) => batch.texts.length)).toEqual([3, 1]);
    expect(states(verdicts)).toEqual(['p0 took', 'p1 took']);
    expect(await consumerRow(db, 'budget', 'p2')).toBeNull();
  });

  it('says nothing of a name it did not get to: enough partitions are served', async () => {
    await pushThreesTo('capped', 3);
    await claim(db, 'capped', 'p0', { autoAck: true });
    const { verdicts } = await popList(db, 'capped', ['p0', 'p1', 'p2'], { maxPartitions: 1 });
    expect(states(verdicts)).toEqual(['p0 empty', 'p1 took']);
  });

  it.each([null, 0, -1, 2_147_483_647])('takes %s as no limit of partitions', async (maxPartitions) => {
    const queue = `uncapped ${maxPartitions}`;
    await pushThreesTo(queue, 5);
    expect((await popList(db, queue, numbered('p', 5), { maxPartitions })).batches).toHaveLength(5);
  });

  it('takes a budget below one as one', async () => {
    await pushThreesTo('tiny', 1);
    expect((await popList(db, 'tiny', ['p0'], { budget: 0 })).texts).toEqual(['p0-0']);
  });

  it('looks once at a name given twice, and not at all at a missing one', async () => {
    await pushThreesTo('doubled', 2);
    const names = ['p1', 'p0', 'p1', null, 'p0'] as string[];
    const { verdicts } = await popList(db, 'doubled', names, { budget: 100, maxPartitions: 10 });
    expect(states(verdicts)).toEqual(['p1 took', 'p0 took']);
  });

  it('of an unknown queue, or one of another tenant, gives no row and creates nothing', async () => {
    await pushThreesTo('ours', 1);
    expect(await run(db, popListCall('nowhere', ['p']))).toEqual([]);
    expect(await run(db, popListCall('ours', ['p0'], { tenant: OTHER_TENANT }))).toEqual([]);
    expect(await countRows(db, 'queues', `name = 'nowhere'`)).toBe(0);
  });

  it('of no names gives no row', async () => {
    await pushThreesTo('no names', 1);
    expect(await run(db, popListCall('no names', []))).toEqual([]);
  });

  it('registers nobody', async () => {
    await pushThreesTo('unregistered', 1);
    await popList(db, 'unregistered', ['p0']);
    expect(await countRows(db, 'consumer_groups_metadata')).toBe(0);
    expect(await countRows(db, 'consumer_watermarks')).toBe(0);
  });

  it('forwards what the pop wishes on first contact', async () => {
    await pushThreesTo('wish', 1);
    const { verdicts } = await popList(db, 'wish', ['p0'], { mode: 'new' });
    expect(states(verdicts)).toEqual(['p0 empty']);
    expect((await consumerRow(db, 'wish', 'p0'))?.committed).toBe(2);
  });

  it('counts deliveries, and calls every auto-acked one the first', async () => {
    await pushThreesTo('attempts', 1);
    for (const attempt of [1, 2]) {
      expect((await popList(db, 'attempts', ['p0'])).batches[0].attempt).toBe(attempt);
      await expireLease(db, 'attempts', 'p0');
    }
    expect((await popList(db, 'attempts', ['p0'], { autoAck: true })).batches[0].attempt).toBe(1);
  });
});

describe('the verdict', () => {
  it('"took" carries the last offset of the partition, not of the batch', async () => {
    await pushMessages(db, 'deep', 'p', numbered('m', 1000));
    for (let taken = 100; taken <= 1000; taken += 100) {
      const { verdicts, batches } = await popList(db, 'deep', ['p'], { budget: 100, autoAck: true });
      expect([batches[0].end, verdicts[0].lastOffset]).toEqual([taken - 1, 999]);
    }
    expect(states((await popList(db, 'deep', ['p'])).verdicts)).toEqual(['p empty']);
  });

  it('"leased" carries the time left of the lease of another worker', async () => {
    await pushThreesTo('foreign', 1);
    await claim(db, 'foreign', 'p0', { worker: 'w1', leaseSeconds: 40 });
    const [verdict] = (await popList(db, 'foreign', ['p0'], { worker: 'w2' })).verdicts;
    expect(verdict).toMatchObject({
      ...{ state: 'leased', lastOffset: null, partitionId: await partitionId(db, 'foreign', 'p0') },
    });
    expect(verdict.waitMs).toBeGreaterThan(35_000);
    expect(verdict.waitMs).toBeLessThanOrEqual(40_000);
  });

  it('"leased" is said of a foreign lease even when nothing is left beyond it', async () => {
    await pushThreesTo('all leased', 1);
    await claim(db, 'all leased', 'p0', { worker: 'w1' });
    await db.query(`update queen.log_consumers set committed = 2 where worker_id = 'w1' and batch_end = 2`);
    const [verdict] = (await popList(db, 'all leased', ['p0'], { worker: 'w2' })).verdicts;
    expect(verdict).toMatchObject({ state: 'leased' });
    expect(verdict.waitMs).toBeGreaterThan(10_000);
  });

  it('"leased" for a quarter of a second is said of a backlog that its own worker holds', async () => {
    await pushThreesTo('own', 1);
    await claim(db, 'own', 'p0', { worker: 'w1' });
    const [verdict] = (await popList(db, 'own', ['p0'], { worker: 'w1' })).verdicts;
    expect(verdict).toMatchObject({ state: 'leased', waitMs: 250 });
  });

  it('"leased" of a lease of centuries fits its column', async () => {
    await pushThreesTo('endless', 1);
    await claim(db, 'endless', 'p0', { worker: 'w1', leaseSeconds: 2_147_483_647 });
    const [verdict] = (await popList(db, 'endless', ['p0'], { worker: 'w2' })).verdicts;
    expect(verdict).toMatchObject({ state: 'leased', waitMs: 2_147_483_647 });
  });

  it('"leased" for a quarter of a second is said of messages that a delay holds back', async () => {
    await makeQueue(db, 'delayed', { delayedProcessing: 100 });
    await pushThreesTo('delayed', 1);
    expect((await popList(db, 'delayed', ['p0'])).verdicts).toMatchObject([{ state: 'leased', waitMs: 250 }]);
  });

  it('"leased" for a quarter of a second is said of messages in a quiet window, unless that is bypassed', async () => {
    await makeQueue(db, 'window', { windowBuffer: 100 });
    await pushThreesTo('window', 1);
    expect((await popList(db, 'window', ['p0'])).verdicts).toMatchObject([{ state: 'leased', waitMs: 250 }]);
    expect(states((await popList(db, 'window', ['p0'], { skipWindow: true })).verdicts)).toEqual(['p0 took']);
  });

  it('"empty" is said of a partition without a backlog, with its id; of an unknown one without', async () => {
    await pushThreesTo('drained', 1);
    await claim(db, 'drained', 'p0', { autoAck: true });
    expect((await popList(db, 'drained', ['p0', 'nowhere'])).verdicts).toEqual([
      {
        ...{ partition: 'p0', partitionId: await partitionId(db, 'drained', 'p0') },
        ...{ state: 'empty', lastOffset: null, waitMs: null },
      },
      { partition: 'nowhere', partitionId: null, state: 'empty', lastOffset: null, waitMs: null },
    ]);
  });

  it('"empty" is said of a partition that retention emptied, whose cursor is sealed by the look', async () => {
    await pushThreesTo('retained', 1);
    await dropBelow(db, 'retained', 'p0', 3);
    expect(states((await popList(db, 'retained', ['p0'])).verdicts)).toEqual(['p0 empty']);
    expect((await consumerRow(db, 'retained', 'p0'))?.committed).toBe(2);
  });

  it('"took" is said as soon as the delay is over', async () => {
    await makeQueue(db, 'ripe', { delayedProcessing: 100 });
    await pushThreesTo('ripe', 1);
    await ageSegments(db, 'ripe', 'p0', 101);
    expect(states((await popList(db, 'ripe', ['p0'])).verdicts)).toEqual(['p0 took']);
  });
});
