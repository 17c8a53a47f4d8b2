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
import { LONG_AGO, NEXT_CENTURY } from '../support/group-calls.js';
import { ageSegments, consumerRow, countRows, numbered } from '../support/make.js';

const GROUPS = '/api/v1/consumer-groups';

const seek = (on: TestBroker, queue: string, body: unknown, group = 'g') =>
  on.post(`${GROUPS}/${group}/queues/${queue}/seek`, body);
const seekPartition = (on: TestBroker, queue: string, partition: string, body: unknown, group = 'g') =>
  on.post(`${GROUPS}/${group}/queues/${queue}/partitions/${partition}/seek`, body);

async function pop(on: TestBroker, queue: string, query = {}): Promise<Message[]> {
  const { status, body } = await on.pop(queuePath(queue), { consumerGroup: 'g', ...query });
  return status === 204 ? [] : body.messages;
}

const texts = (messages: Message[]) => messages.map(({ data }) => data);

/** Two partitions with three messages each; g has had them all. */
async function drained(on: TestBroker, queue: string): Promise<void> {
  for (const partition of ['p', 'q'])
    await on.push(numbered(`${partition}-`, 3).map((payload) => ({ queue, partition, payload })));
  expect(await pop(on, queue, { partitions: 2, autoAck: true })).toHaveLength(6);
  expect(await pop(on, queue, { partitions: 2 })).toEqual([]);
}

describe.each(candidatePaths)('administration of a group, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  it('a seek back is seen by the very next pop, in every partition', async () => {
    await drained(broker, 'back');
    expect((await seek(broker, 'back', { timestamp: LONG_AGO })).status).toBe(200);
    expect(texts(await pop(broker, 'back', { partitions: 2, autoAck: true })).sort()).toEqual([
      ...numbered('p-', 3),
      ...numbered('q-', 3),
    ]);
    expect(await pop(broker, 'back', { partitions: 2 })).toEqual([]);
  });

  it('a seek back wakes a pop that waits', async () => {
    await drained(broker, 'wake');
    const waiting = pop(broker, 'wake', { partitions: 2, ...SOON });
    await seek(broker, 'wake', { timestamp: LONG_AGO });
    expect((await waiting).length).toBeGreaterThan(0);
  });

  it('a seek of one partition is seen by the very next pop, and brings that one only', async () => {
    await drained(broker, 'one');
    await seekPartition(broker, 'one', 'q', { timestamp: LONG_AGO });
    expect(texts(await pop(broker, 'one', { partitions: 2, autoAck: true }))).toEqual(numbered('q-', 3));
    expect(await pop(broker, 'one', { partitions: 2 })).toEqual([]);
  });

  it('a seek takes leases away: the batch is there at once, and the old worker is refused (A24)', async () => {
    await broker.push(numbered('m', 2).map((payload) => ({ queue: 'leased', partition: 'p', payload })));
    for (const move of [
      () => seek(broker, 'leased', { timestamp: LONG_AGO }),
      () => seekPartition(broker, 'leased', 'p', { timestamp: LONG_AGO }),
    ]) {
      const held = await pop(broker, 'leased', { leaseSeconds: 600 });
      expect(held).toHaveLength(2);
      expect(await pop(broker, 'leased')).toEqual([]);
      await move();
      const again = await pop(broker, 'leased');
      expect(texts(again)).toEqual(['m0', 'm1']);
      const refused = (await broker.ackBatch(acksFor(held))).body;
      expect(refused.map(({ success, error }) => [success, error])).toEqual([
        [false, 'invalid or expired lease'],
        [false, 'invalid or expired lease'],
      ]);
      expect((await broker.ackBatch(acksFor(again, 'retry'))).body.every(({ success }) => success)).toBe(
        true,
      );
    }
  });

  it('a seek to the end skips, and what comes afterwards is delivered (A24)', async () => {
    for (const [queue, to] of [
      ['end', { toEnd: true }],
      ['future', { timestamp: NEXT_CENTURY }],
    ] as const) {
      await broker.push(numbered('m', 3).map((payload) => ({ queue, partition: 'p', payload })));
      await pop(broker, queue, { batch: 1, autoAck: true });
      await seek(broker, queue, to);
      expect(await pop(broker, queue)).toEqual([]);
      await broker.push([{ queue, partition: 'p', payload: 'next' }]);
      expect(texts(await pop(broker, queue))).toEqual(['next']);
    }
  });

  it('a seek to a time goes by what is stored since then (A24)', async () => {
    await broker.push(numbered('old', 2).map((payload) => ({ queue: 'time', partition: 'p', payload })));
    await ageSegments(broker.database, 'time', 'p', 7200);
    await broker.push([{ queue: 'time', partition: 'p', payload: 'young' }]);
    await pop(broker, 'time', { autoAck: true });
    await seek(broker, 'time', { timestamp: new Date(Date.now() - 3_600_000).toISOString() });
    expect(texts(await pop(broker, 'time'))).toEqual(['young']);
  });

  it('a dry run moves nothing (A24)', async () => {
    await drained(broker, 'dry');
    const { body } = await seek(broker, 'dry', { timestamp: LONG_AGO, dryRun: true });
    expect(body).toMatchObject({ messagesReplayed: 6, messagesSkipped: 0, partitionsUpdated: 0 });
    expect(await pop(broker, 'dry', { partitions: 2 })).toEqual([]);
  });

  it('a group that is deleted starts over at once, with the mode of its next pop', async () => {
    await drained(broker, 'over');
    await broker.del(`${GROUPS}/g/queues/over`);
    expect(await pop(broker, 'over', { partitions: 2 })).toHaveLength(6);
    await broker.del(`${GROUPS}/g`);
    expect(await pop(broker, 'over', { partitions: 2, subscriptionMode: 'new' })).toEqual([]);
    await broker.push([{ queue: 'over', partition: 'p', payload: 'new' }]);
    expect(texts(await pop(broker, 'over', { partitions: 2 }))).toEqual(['new']);
  });

  it('a group that is deleted wakes pops that wait', async () => {
    await drained(broker, 'over soon');
    const waiting = pop(broker, 'over soon', { partitions: 2, ...SOON });
    await broker.del(`${GROUPS}/g`);
    expect((await waiting).length).toBeGreaterThan(0);
  });

  it('a group that keeps its subscription starts over from there', async () => {
    await broker.push([{ queue: 'kept', partition: 'p', payload: 'before' }]);
    await pop(broker, 'kept', { subscriptionMode: 'new' });
    await broker.push([{ queue: 'kept', partition: 'p', payload: 'after' }]);
    await pop(broker, 'kept', { autoAck: true });
    await broker.del(`${GROUPS}/g/queues/kept?deleteMetadata=false`);
    expect(texts(await pop(broker, 'kept', { subscriptionMode: 'all' }))).toEqual(['after']);
  });

  it('other groups do not notice', async () => {
    await drained(broker, 'others');
    await pop(broker, 'others', { consumerGroup: 'h', partitions: 2, autoAck: true });
    await seek(broker, 'others', { timestamp: LONG_AGO });
    await broker.del(`${GROUPS}/g/queues/others`);
    expect(await pop(broker, 'others', { consumerGroup: 'h', partitions: 2 })).toEqual([]);
  });
});

describe('a queue that holds messages back', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  it.each([{ delayedProcessing: 30 }, { windowBuffer: 30 }])(
    'does not hold back again what a seek brings back: %j',
    async (options) => {
      const [queue] = Object.keys(options);
      await broker.configure(queue, options);
      await broker.push([{ queue, partition: 'p', payload: 'old' }]);
      await ageSegments(broker.database, queue, 'p', 120);
      await broker.database
        .query(`update queen.log_partitions set last_write_at = last_write_at - interval '2 minutes'
        where queue_id = (select id from queen.queues where name = '${queue}')`);
      expect(texts(await pop(broker, queue, { autoAck: true, ...SOON }))).toEqual(['old']);
      await seek(broker, queue, { timestamp: LONG_AGO });
      expect(texts(await pop(broker, queue, { autoAck: true, ...SOON }))).toEqual(['old']);
      await seekPartition(broker, queue, 'p', { timestamp: LONG_AGO });
      expect(texts(await pop(broker, queue, { autoAck: true, ...SOON }))).toEqual(['old']);
    },
  );
});

describe('another broker', () => {
  let a: TestBroker;
  let b: TestBroker;
  beforeAll(async () => {
    a = await startBroker();
    b = await startBroker({ database: a.database, QUEEN_CACHE_REFRESH_INTERVAL_MS: 200 });
  });
  afterAll(async () => {
    await b.stop();
    await a.stop();
  });

  it('delivers what a seek on this one brought back, once it has read the notice', async () => {
    await drained(b, 'remote');
    const waiting = pop(b, 'remote', { partitions: 2, ...SOON });
    await seek(a, 'remote', { timestamp: LONG_AGO });
    expect((await waiting).length).toBeGreaterThan(0);
  });

  it('delivers what a seek of a partition brought back', async () => {
    await drained(b, 'remote one');
    const waiting = pop(b, 'remote one', { partitions: 2, ...SOON });
    await seekPartition(a, 'remote one', 'q', { timestamp: LONG_AGO });
    expect(texts(await waiting)).toEqual(numbered('q-', 3));
  });

  it('treats a group that was deleted here as one it has never seen', async () => {
    await drained(b, 'remote group');
    const waiting = pop(b, 'remote group', { partitions: 2, ...SOON });
    await a.del(`${GROUPS}/g/queues/remote group`);
    expect((await waiting).length).toBeGreaterThan(0);
    const registered = `consumer_group = 'g' and queue_id = (select id from queen.queues where name = 'remote group')`;
    expect(await countRows(a.database, 'consumer_groups_metadata', registered)).toBe(1);
  });

  it('serves a partition by name at once, notice or not', async () => {
    await drained(b, 'remote name');
    await seek(a, 'remote name', { timestamp: LONG_AGO });
    const { body } = await b.pop(partitionPath('remote name', 'q'), { consumerGroup: 'g' });
    expect(body.messages).toHaveLength(3);
    expect(await consumerRow(a.database, 'remote name', 'q')).toMatchObject({ batchEnd: 2 });
  });
});
