import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { queuePath, startBroker, type TestBroker } from '../../support/broker.js';
import { numbered } from '../../support/make.js';

/** The exact shapes that clients of the resource routes read; a key with another name fails here. */
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const millis = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const RESOURCES = '/api/v1/resources';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const queueUrl = (queue: string) => `${RESOURCES}/queues/${encodeURIComponent(queue)}`;

/** Five messages in partition a and two in b; the group has finished one of a and holds the next two. */
async function worked(queue: string): Promise<void> {
  await broker.push(numbered('m', 5).map((payload) => ({ queue, partition: 'a', payload })));
  await broker.push(numbered('n', 2).map((payload) => ({ queue, partition: 'b', payload })));
  const pop = (query: object) =>
    broker.pop(`${queuePath(queue)}/partition/a`, { consumerGroup: 'g', ...query });
  await pop({ batch: 1, autoAck: true });
  await pop({ batch: 2 });
}

const ofA = { total: 5, pending: 4, processing: 2, completed: 1, failed: null, deadLetter: 0, expired: 0 };
const ofB = { total: 2, pending: 2, processing: 0, completed: 0, failed: null, deadLetter: 0, expired: 0 };
const ofBoth = { total: 7, pending: 6, processing: 2, completed: 1, failed: null, deadLetter: 0, expired: 0 };

describe('GET /api/v1/resources/queues', () => {
  it('is a list of queues, the newest first, with labels and counts', async () => {
    await broker.configure('list empty', {});
    await worked('list.full');
    await broker.post('/api/v1/stats/refresh');
    const { status, headers, body } = await broker.get(`${RESOURCES}/queues?limit=1&whatever=x`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    const paused = { pops: false, pushes: false };
    expect(body).toEqual({
      queues: [
        {
          ...{
            id: uuid,
            name: 'list.full',
            namespace: 'list',
            task: 'full',
            createdAt: millis,
            partitions: 2,
          },
          ...{ retainedBytes: expect.any(Number), messages: { total: 7, pending: 4, processing: 2 }, paused },
          segments: { segments: 2, messages: 7 },
        },
        {
          ...{ id: uuid, name: 'list empty', namespace: '', task: '', createdAt: millis, partitions: 0 },
          ...{ retainedBytes: 0, messages: { total: 0, pending: 0, processing: 0 }, paused },
        },
      ],
    });
    expect((body as { queues: { retainedBytes: number }[] }).queues[0].retainedBytes).toBeGreaterThan(20);
  });
});

describe('GET /api/v1/resources/queues/:queue', () => {
  it('has the queue, its partitions by name, and totals', async () => {
    await worked('detail');
    const { status, body } = await broker.get(queueUrl('detail'));
    expect(status).toBe(200);
    const partition = { id: uuid, createdAt: millis, oldestMessage: millis, newestMessage: millis };
    expect(body).toEqual({
      ...{ id: uuid, name: 'detail', namespace: 'detail', task: '', createdAt: millis },
      paused: { pops: false, pushes: false },
      partitions: [
        { ...partition, name: 'a', stats: ofA },
        { ...partition, name: 'b', stats: ofB },
      ],
      ...{ totals: ofBoth, live: true, retainedBytes: expect.any(Number) },
      segments: { segments: 2, messages: 7 },
      pagination: { limit: 1000, offset: 0, after: null, next: null },
    });
  });

  it('pages through partitions', async () => {
    await broker.push(numbered('p', 5).map((partition) => ({ queue: 'paged', partition, payload: 1 })));
    const page = async (query: string) => {
      const { body } = await broker.get(`${queueUrl('paged')}?${query}`);
      const { partitions, pagination } = body as {
        partitions: { name: string }[];
        pagination: { next: string | null };
      };
      return { names: partitions.map(({ name }) => name), next: pagination.next };
    };
    expect(await page('limit=2')).toEqual({ names: ['p0', 'p1'], next: 'p1' });
    expect(await page('limit=2&after=p1')).toEqual({ names: ['p2', 'p3'], next: 'p3' });
    expect(await page('limit=2&after=p3')).toEqual({ names: ['p4'], next: null });
    expect(await page('limit=2&offset=3')).toEqual({ names: ['p3', 'p4'], next: 'p4' });
    expect((await page('limit=0')).names).toEqual(['p0']);
    expect((await page('limit=99999')).names).toHaveLength(5);
  });

  it.each(['limit=ten', 'limit=1.5', 'offset=x', 'limit=1&limit=2', 'after=%00'])(
    'refuses ?%s by name',
    async (query) => {
      expect(await broker.get(`${queueUrl('paged')}?${query}`)).toMatchObject({
        status: 400,
        body: { code: 'bad_parameter', error: expect.stringContaining(query.split('=')[0]) },
      });
    },
  );

  it.each(['', '/depth'])('is 404 for a queue that is not there (%s)', async (suffix) => {
    const { status, body } = await broker.get(queueUrl('nowhere') + suffix);
    expect([status, body]).toEqual([404, { error: 'Queue not found', code: 'not_found' }]);
  });

  it('finds a queue under any name that push takes', async () => {
    for (const queue of ['a/b', 'a b', 'a+b', '%', 'é', '😀', "x'; drop table t;--"]) {
      await broker.push([{ queue, partition: queue, payload: 1 }]);
      expect((await broker.get(queueUrl(queue))).body).toMatchObject({
        name: queue,
        partitions: [{ name: queue }],
      });
    }
  });
});

describe('GET /api/v1/resources/queues/:queue/depth', () => {
  it('is what a group has before it', async () => {
    await worked('depth');
    expect((await broker.get(`${queueUrl('depth')}/depth?group=g`)).body).toEqual({
      ...{ queue: 'depth', group: 'g', pending: 6, partitionsPending: 2 },
      partitions: [
        { partition: 'a', pending: 4 },
        { partition: 'b', pending: 2 },
      ],
    });
  });

  it('has a null group when none is asked for', async () => {
    expect((await broker.get(`${queueUrl('depth')}/depth?limit=1`)).body).toEqual({
      ...{ queue: 'depth', group: null, pending: 6, partitionsPending: 2 },
      partitions: [{ partition: 'a', pending: 4 }],
    });
  });
});

describe('views over everything', () => {
  let other: TestBroker;
  beforeAll(async () => {
    other = await startBroker();
    await other.push([
      { queue: 'shop.mail', partition: 'a', payload: 1 },
      { queue: 'shop.web', partition: 'a', payload: 1 },
    ]);
    await other.configure('unlabelled', {});
    await other.pop(queuePath('shop.mail'), { consumerGroup: 'g' });
  });
  afterAll(() => other.stop());

  it('GET /api/v1/resources/overview', async () => {
    const overview = async () => {
      const { status, body } = await other.get(`${RESOURCES}/overview`);
      expect(status).toBe(200);
      return body;
    };
    const lag = { avg: 0, median: 0, min: 0, max: 0 };
    const shape = {
      ...{ queues: 3, partitions: 2, namespaces: 1, tasks: 2 },
      messages: { total: 2, pending: 2, processing: 0, completed: 0, failed: 0, deadLetter: 0, expired: 0 },
      lag: { time: lag, offset: { avg: 1, median: 1, min: 1, max: 1 } },
      throughput: { ingestedPerSecond: 0, processedPerSecond: 0 },
      ...{ timestamp: millis, statsAge: -1 },
    };
    expect(await overview()).toEqual(shape);
    await other.post('/api/v1/stats/refresh');
    const number = expect.any(Number);
    expect(await overview()).toEqual({
      ...shape,
      messages: { ...shape.messages, processing: 1 },
      lag: { time: { avg: number, median: number, min: number, max: number }, offset: shape.lag.offset },
      throughput: { ingestedPerSecond: 0.01, processedPerSecond: 0 },
      statsAge: expect.any(Number),
    });
  });

  it.each([
    ['namespaces', [{ namespace: 'shop', queues: 2, partitions: 2, messages: { total: 2, pending: 2 } }]],
    [
      'tasks',
      [
        { task: 'mail', queues: 1, partitions: 1, messages: { total: 1, pending: 1 } },
        { task: 'web', queues: 1, partitions: 1, messages: { total: 1, pending: 1 } },
      ],
    ],
  ])('GET /api/v1/resources/%s', async (label, entries) => {
    expect((await other.get(`${RESOURCES}/${label}`)).body).toEqual({ [label]: entries });
  });
});
