import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { acksFor, queuePath, startBroker, type TestBroker } from '../../support/broker.js';
import { numbered } from '../../support/make.js';
import { waitFor } from '../../support/wait-for.js';

/** The exact shapes that clients of the status routes read; a key with another name fails here. */
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const millis = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const number = expect.any(Number);
const STATUS = '/api/v1/status';

/** Waits of several seconds are told by what they wait for, not by the runner. */
jest.setTimeout(30_000);

let broker: TestBroker;
beforeAll(async () => {
  // Both loops at their quickest, for the tests of what comes by itself.
  broker = await startBroker({ STATS_INTERVAL_MS: 1000, METRICS_FLUSH_MS: 1000 });
  await broker.configure('shop.mail', {
    namespace: 'shop',
    task: 'mail',
    priority: 4,
    retryDelay: 5,
    maxSize: 900,
  });
  await broker.push(numbered('m', 6).map((payload) => ({ queue: 'shop.mail', partition: 'p', payload })));
  await broker.push([{ queue: 'other', partition: 'p', payload: 1 }]);
  const query = { consumerGroup: 'g' };
  await broker.pop(queuePath('shop.mail'), { ...query, batch: 2, autoAck: true });
  const { body } = await broker.pop(queuePath('shop.mail'), { ...query, batch: 1 });
  await broker.ackBatch(acksFor(body.messages, 'dlq', 'boom'));
  await broker.pop(queuePath('shop.mail'), { ...query, batch: 2 });
  await broker.post('/api/v1/stats/refresh', {});
});
afterAll(() => broker.stop());

const counts = { total: 6, pending: 3, processing: 2, completed: 2, failed: null, deadLetter: 1, expired: 0 };

describe('GET /api/v1/status', () => {
  it('has throughput, queues, counts, leases, dead letters, brokers and errors', async () => {
    const status = async () => (await broker.get(`${STATUS}?queue=shop.mail`)).body as { workers: unknown[] };
    await waitFor(async () => (await status()).workers.length > 0, {
      within: 10_000,
      what: 'the broker to report',
    });
    expect(await status()).toEqual({
      ...{ timeRange: { from: millis, to: millis }, bucketMinutes: 1, pointCount: number },
      throughput: expect.any(Array),
      queues: [
        { id: uuid, name: 'shop.mail', namespace: 'shop', task: 'mail', partitions: 1, totalConsumed: 3 },
      ],
      messages: {
        ...counts,
        failed: 0,
        requests: { push: number, pop: number, ack: number },
        batchEfficiency: { push: number, pop: number, ack: number },
      },
      leases: { active: 1, partitionsWithLeases: 1, totalBatchSize: 2, totalAcked: 0 },
      deadLetterQueue: {
        ...{ totalMessages: 1, currentMessages: 1, affectedPartitions: 1 },
        topErrors: [{ error: 'boom', count: 1 }],
      },
      workers: [
        {
          ...{ broker: expect.any(String), lastSeen: millis },
          ...{ pushMessages: number, popMessages: number, ackMessages: number },
        },
      ],
      errors: { dbErrors: 0, ackFailed: 0, dlqMessages: 1 },
      statsAge: number,
    });
  });

  it('has points in which everything is counted once', async () => {
    const { body } = await broker.get(`${STATUS}?queue=shop.mail`);
    const { throughput } = body as { throughput: Record<string, number>[] };
    for (const point of throughput) {
      expect(point).toEqual({
        ...{ timestamp: millis, ingested: number, processed: number },
        ...{ ingestedPerSecond: number, processedPerSecond: number },
      });
    }
    const sum = (name: string) => throughput.reduce((total, point) => total + point[name], 0);
    expect([sum('ingested'), sum('processed')]).toEqual([6, 3]);
  });

  it('covers the hour before its end, and longer ranges in longer buckets', async () => {
    const range = async (query: string) => {
      const { body } = await broker.get(`${STATUS}?${query}`);
      const { timeRange, bucketMinutes } = body as {
        timeRange: { from: string; to: string };
        bucketMinutes: number;
      };
      return { ...timeRange, bucketMinutes };
    };
    expect(await range('to=2026-01-02T03:00:00Z')).toEqual({
      ...{ from: '2026-01-02T02:00:00.000Z', to: '2026-01-02T03:00:00.000Z', bucketMinutes: 1 },
    });
    for (const [from, minutes] of [
      ['02:00', 1],
      ['00:00', 5],
    ] as const) {
      const answer = await range(`from=2026-01-02T${from}:00Z&to=2026-01-02T03:00:00Z`);
      expect(answer.bucketMinutes).toBe(minutes);
    }
    expect(await range('from=2026-01-01&to=2026-01-02')).toMatchObject({ bucketMinutes: 15 });
    expect(await range('from=2026-01-01&to=2026-01-10')).toMatchObject({ bucketMinutes: 60 });
    expect(await range('from=2025-01-01&to=2026-01-10')).toMatchObject({ bucketMinutes: 1440 });
  });

  it.each(['from=yesterday', 'to=1e9', 'from=2026-01-02&to=2026-01-01', 'queue=a&queue=b'])(
    'refuses ?%s',
    async (query) => {
      expect(await broker.get(`${STATUS}?${query}`)).toMatchObject({
        status: 400,
        body: { code: 'bad_parameter' },
      });
    },
  );
});

describe('GET /api/v1/status/queues', () => {
  it('is a page of queues by name', async () => {
    const { body } = await broker.get(`${STATUS}/queues?limit=1&offset=1`);
    expect(body).toEqual({
      queues: [
        {
          ...{
            id: uuid,
            name: 'shop.mail',
            namespace: 'shop',
            task: 'mail',
            createdAt: millis,
            partitions: 1,
          },
          messages: { total: 6, pending: 3, processing: 2, completed: 2, deadLetter: 1 },
        },
      ],
      pagination: { limit: 1, offset: 1 },
    });
  });

  it.each([
    ['', ['other', 'shop.mail']],
    ['queue=other', ['other']],
    ['namespace=shop', ['shop.mail']],
    ['task=mail&namespace=', ['shop.mail']],
    ['namespace=shop&task=web', []],
    ['limit=-5', ['other']],
  ])('takes the filters ?%s', async (query, names) => {
    const { body } = await broker.get(`${STATUS}/queues?${query}`);
    expect((body as { queues: { name: string }[] }).queues.map(({ name }) => name)).toEqual(names);
  });
});

describe('GET /api/v1/status/queues/:queue', () => {
  it('has the settings, the partitions and totals', async () => {
    const { status, body } = await broker.get(`${STATUS}/queues/shop.mail`);
    expect(status).toBe(200);
    expect(body).toEqual({
      queue: {
        ...{ id: uuid, name: 'shop.mail', namespace: 'shop', task: 'mail', priority: 4, createdAt: millis },
        paused: { pops: false, pushes: false },
        config: {
          ...{ leaseTime: 300, retryLimit: 3, retryDelay: 5, ttl: 0, maxQueueSize: 900, maxDeliveries: 0 },
          deadLetterQueue: true,
        },
      },
      partitions: [
        {
          ...{ id: uuid, name: 'p', createdAt: millis, messages: counts, stats: counts },
          ...{ cursor: { totalConsumed: 3, batchesConsumed: 0 }, lastActivity: millis },
          ...{ oldestMessage: millis, newestMessage: millis },
        },
      ],
      ...{ totals: { messages: counts }, live: true },
      pagination: { limit: 1000, offset: 0, after: null, next: null },
    });
  });

  it('pages like the resource route, and is 404 for a queue that is not there', async () => {
    const { body } = await broker.get(`${STATUS}/queues/shop.mail?after=p&limit=7`);
    expect(body).toMatchObject({ partitions: [], pagination: { limit: 7, after: 'p', next: null } });
    const missing = await broker.get(`${STATUS}/queues/nowhere`);
    expect([missing.status, missing.body]).toEqual([404, { error: 'Queue not found', code: 'not_found' }]);
  });
});

describe('GET /api/v1/status/analytics', () => {
  it('is messages over time', async () => {
    const { body } = await broker.get(`${STATUS}/analytics?interval=day&queue=shop.mail`);
    expect(body).toEqual({
      ...{ dataPoints: [{ timestamp: millis, messages: 6 }], interval: 'day', from: millis, to: millis },
    });
    expect((await broker.get(`${STATUS}/analytics`)).body).toMatchObject({ interval: 'hour' });
    expect((await broker.get(`${STATUS}/analytics?task=web`)).body).toMatchObject({ dataPoints: [] });
  });

  it.each(['interval=week', 'interval=minute&from=2000-01-01', 'from=2026-01-02&to=2026-01-01'])(
    'refuses ?%s',
    async (query) => {
      expect(await broker.get(`${STATUS}/analytics?${query}`)).toMatchObject({
        status: 400,
        body: { code: 'bad_parameter' },
      });
    },
  );
});

describe('the rest', () => {
  it('GET /api/v1/status/buffers', async () => {
    const { status, body } = await broker.get(`${STATUS}/buffers`);
    expect([status, body]).toEqual([200, { pending: 0, failed: 0, dbHealthy: true, worker: 0 }]);
  });

  it.each([
    ['no body', undefined],
    ['{}', '{}'],
    ['nonsense', 'nonsense'],
  ])('POST /api/v1/stats/refresh with %s', async (_, sent) => {
    const { status, body } = await broker.post('/api/v1/stats/refresh', sent);
    expect(status).toBe(200);
    expect(body).toEqual({
      ...{ engine: 'segments', queuesUpdated: expect.any(Number), segPartitions: 2 },
      ...{ namespaces: { count: 2 }, tasks: { count: 1 } },
      system: {
        ...{ queues: 2, partitions: 2, messages: 7, pending: 4, processing: 2, deadLetters: 1 },
        ...{ segments: 2, retainedBytes: number },
      },
      refreshedAt: millis,
    });
  });

  it('GET /status', async () => {
    const { status, body } = await broker.get('/status');
    expect([status, body]).toEqual([200, { status: 'ok', engine: 'queen-nest' }]);
  });

  it('GET /metrics', async () => {
    const { status, headers, body } = await broker.get('/metrics');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(body).toEqual({
      ...{ uptime: number, requests: { total: number, rate: 0 }, messages: { total: number, rate: 0 } },
      database: { poolSize: number, idleConnections: number, waitingRequests: number },
      memory: { rss: number, heapTotal: number, heapUsed: number, external: number, arrayBuffers: number },
      cpu: { user: number, system: number },
    });
    const { requests, messages } = body as Record<string, { total: number }>;
    // Two pushes, three pops, one ack; seven items, five deliveries, one acknowledgement.
    expect([requests.total, messages.total]).toEqual([6, 13]);
  });
});

it('what queues hold is counted without being asked', async () => {
  const pending = async () => {
    const { body } = await broker.get('/api/v1/resources/queues');
    const { queues } = body as { queues: { name: string; messages: { pending: number } }[] };
    return queues.find(({ name }) => name === 'other')!.messages.pending;
  };
  expect(await pending()).toBe(1);
  await broker.pop(queuePath('other'), { consumerGroup: 'g', autoAck: true });
  await waitFor(async () => (await pending()) === 0, { within: 10_000, what: 'the next count' });
});
