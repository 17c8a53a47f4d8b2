import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type Message,
  type TestBroker,
} from '../support/broker.js';
import { candidatePaths, SOON } from '../support/candidate-paths.js';
import { ageSegments, consumerRow, dropBelow, numbered, partitionRow, run } from '../support/make.js';
import { THIS_PARTITION } from '../support/rows.js';
import { PopMaintenance } from '../../src/base/maintenance/maintenance-switch.js';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';

describe.each(candidatePaths)('what a pop does not see yet, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  const push = (queue: string, ...texts: string[]) =>
    broker.push(texts.map((payload) => ({ queue, partition: 'p', payload })));

  /** By the database's clock, which is the one that rules. */
  async function ageSeconds({ createdAt }: Message): Promise<number> {
    const age = 'select extract(epoch from clock_timestamp() - $1::timestamptz)::float8 as age';
    const { rows } = await broker.database.query<{ age: number }>(age, [createdAt]);
    return rows[0].age;
  }

  describe('delayedProcessing', () => {
    it('hides messages until they are old enough, and then shows them to whoever waits', async () => {
      await broker.configure('delay', { delayedProcessing: 1 });
      await push('delay', 'm');
      expect(await broker.pop(queuePath('delay'))).toMatchObject({ status: 204 });
      expect(await broker.pop(partitionPath('delay', 'p'))).toMatchObject({ status: 204 });
      const { body } = await broker.pop(queuePath('delay'), SOON);
      expect(await ageSeconds(body.messages[0])).toBeGreaterThanOrEqual(1);
    });

    it('shows the old part of a partition and keeps the young part', async () => {
      await broker.configure('part', { delayedProcessing: 600 });
      for (const text of ['m0', 'm1', 'm2']) await push('part', text);
      await ageSegments(broker.database, 'part', 'p', 700, { to: 1 });
      expect(
        (await broker.pop(queuePath('part'), { autoAck: true })).body.messages.map(({ data }) => data),
      ).toEqual(['m0', 'm1']);
      expect(await broker.pop(partitionPath('part', 'p'))).toMatchObject({ status: 204 });
      // Hidden is not gone: the cursor stays where the visible part ended.
      expect(await consumerRow(broker.database, 'part', 'p', '__QUEUE_MODE__')).toMatchObject({
        committed: 1,
      });
    });

    it('that is taken back shows everything at once', async () => {
      await broker.configure('back', { delayedProcessing: 600 });
      await push('back', 'm');
      expect(await broker.pop(queuePath('back'))).toMatchObject({ status: 204 });
      await broker.configure('back', { delayedProcessing: 0 });
      expect((await broker.pop(queuePath('back'))).body.messages).toMatchObject([{ data: 'm' }]);
    });
  });

  describe('windowBuffer', () => {
    it('holds a partition back until it has been quiet, and then one pop gets all of it', async () => {
      await broker.configure('window', { windowBuffer: 1 });
      for (const text of ['m0', 'm1', 'm2']) await push('window', text);
      expect(await broker.pop(queuePath('window'), { batch: 4 })).toMatchObject({ status: 204 });
      const { body } = await broker.pop(queuePath('window'), { batch: 4, ...SOON });
      expect(body.messages.map(({ data }) => data)).toEqual(['m0', 'm1', 'm2']);
      expect(await ageSeconds(body.messages[2])).toBeGreaterThanOrEqual(1);
    });

    it('holds the whole partition, the old part as well', async () => {
      await broker.configure('young', { windowBuffer: 600 });
      await push('young', 'm0');
      await ageSegments(broker.database, 'young', 'p', 700);
      await push('young', 'm1');
      expect(await broker.pop(queuePath('young'))).toMatchObject({ status: 204 });
      expect(await broker.pop(partitionPath('young', 'p'))).toMatchObject({ status: 204 });
      await ageSegments(broker.database, 'young', 'p', 700, { from: 1 });
      expect((await broker.pop(partitionPath('young', 'p'))).body.messages).toHaveLength(2);
    });
  });

  describe('pop maintenance', () => {
    it('answers every pop at once with 204 and does no work', async () => {
      await push('maintained.x', 'm');
      const maintenance = broker.broker.app.get(PopMaintenance);
      const sql = broker.broker.app.get(RawSqlService);
      maintenance.set(true);
      try {
        const before = sql.stats().statements;
        for (const path of [queuePath('maintained.x'), partitionPath('maintained.x', 'p'), '']) {
          const answer = await broker.pop(path, { namespace: 'maintained', wait: true, timeout: 60_000 });
          expect([answer.status, answer.text]).toEqual([204, '']);
        }
        // Loops in the background may have run one or two; each of the three pops would have run at least one.
        expect(sql.stats().statements - before).toBeLessThan(3);
      } finally {
        maintenance.set(false);
      }
      expect(await broker.pop(queuePath('maintained.x'))).toMatchObject({ status: 200 });
    });
  });

  describe('retention', () => {
    it('leaves a gap that the next pop steps over', async () => {
      for (const text of numbered('m', 4)) await push('gap', text);
      const first = await broker.pop(queuePath('gap'), { batch: 1, consumerGroup: 'g' });
      await broker.ackBatch(acksFor(first.body.messages));
      await dropBelow(broker.database, 'gap', 'p', 3);
      const { body } = await broker.pop(queuePath('gap'), { consumerGroup: 'g', ...SOON });
      expect(body.messages.map(({ data }) => data)).toEqual(['m3']);
    });

    it('that emptied a partition seals the cursor, and what comes after is delivered', async () => {
      await push('sealed', ...numbered('m', 3));
      await run(broker.database, [
        `delete from queen.log_segments where partition_id = ${THIS_PARTITION}`,
        ['sealed', 'p'],
      ]);
      expect(await broker.pop(queuePath('sealed'), { consumerGroup: 'g' })).toMatchObject({ status: 204 });
      expect((await partitionRow(broker.database, 'sealed', 'p'))!.lastOffset).toBe(2);
      expect(await consumerRow(broker.database, 'sealed', 'p')).toMatchObject({
        committed: 2,
        workerId: null,
        attemptCount: 0,
      });
      await push('sealed', 'next');
      expect((await broker.pop(queuePath('sealed'), { consumerGroup: 'g' })).body.messages).toMatchObject([
        { data: 'next' },
      ]);
    });
  });
});

describe('with the ring', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({ QUEEN_HOTLIST_WINDOW_BATCH: 20 });
  });
  afterAll(() => broker.stop());

  const push = (queue: string, ...texts: string[]) =>
    broker.push(texts.map((payload) => ({ queue, partition: 'p', payload })));

  it('a window ends early when enough messages have piled up', async () => {
    await broker.configure('piled', { windowBuffer: 600 });
    expect(await broker.pop(queuePath('piled'))).toMatchObject({ status: 204 });
    expect(await broker.pop(queuePath('piled'))).toMatchObject({ status: 204 });
    await push('piled', ...numbered('m', 3));
    expect(await broker.pop(queuePath('piled'))).toMatchObject({ status: 204 });
    await push('piled', ...numbered('m', 17, 3));
    const { body } = await broker.pop(queuePath('piled'), SOON);
    expect(body.messages.map(({ data }) => data)).toEqual(numbered('m', 20));
  });

  describe('minPopWaitTime', () => {
    /** The ring of the group exists and is quiet, so that marks are counted from here on. */
    async function prepared(queue: string, minPopWaitTime: number) {
      await broker.configure(queue, { minPopWaitTime });
      for (let i = 0; i < 2; i++) expect(await broker.pop(queuePath(queue))).toMatchObject({ status: 204 });
    }

    it('holds an under-full batch until it is full', async () => {
      await prepared('fill', 60_000);
      await push('fill', 'm0');
      const popping = broker.pop(queuePath('fill'), { batch: 3, wait: true, timeout: 60_000 });
      await push('fill', 'm1');
      await push('fill', 'm2');
      expect((await popping).body.messages.map(({ data }) => data)).toEqual(['m0', 'm1', 'm2']);
    });

    it('holds it for its time at most, and for the time of the pop at most', async () => {
      await prepared('time', 300);
      await push('time', 'm0');
      const startedMs = performance.now();
      const { body } = await broker.pop(queuePath('time'), { batch: 3, autoAck: true, ...SOON });
      expect(body.messages).toHaveLength(1);
      expect(performance.now() - startedMs).toBeGreaterThanOrEqual(290);

      await prepared('deadline', 60_000);
      await push('deadline', 'm0');
      const short = await broker.pop(queuePath('deadline'), { batch: 3, wait: true, timeout: 200 });
      expect(short.body.messages).toHaveLength(1);
    });

    it.each([
      ['does not wait', { batch: 3 }],
      ['wants one message', { batch: 1, wait: true, timeout: 60_000 }],
      ['is full already', { batch: 2, wait: true, timeout: 60_000 }],
    ])('does not hold a pop that %s', async (what, query) => {
      const queue = `at once ${what}`;
      await prepared(queue, 60_000);
      await push(queue, 'm0', 'm1');
      const startedMs = performance.now();
      expect(await broker.pop(queuePath(queue), query)).toMatchObject({ status: 200 });
      expect(performance.now() - startedMs).toBeLessThan(10_000);
    });
  });
});
