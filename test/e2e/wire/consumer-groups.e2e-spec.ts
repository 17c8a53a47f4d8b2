import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { queuePath, startBroker, type TestBroker } from '../../support/broker.js';
import { ageSegments, numbered, partitionId } from '../../support/make.js';

/** The exact shapes that clients of the group routes read; a key with another name fails here. */
let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const GROUPS = '/api/v1/consumer-groups';
const ISO_MS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

const seekPath = (group: string, queue: string, partition?: string) =>
  `${GROUPS}/${encodeURIComponent(group)}/queues/${encodeURIComponent(queue)}` +
  (partition === undefined ? '/seek' : `/partitions/${encodeURIComponent(partition)}/seek`);

/** m0 … m2 in partition p; g has taken the first and holds the second. */
async function half(queue: string): Promise<string> {
  await broker.push(numbered('m', 3).map((payload) => ({ queue, partition: 'p', payload })));
  const query = { consumerGroup: 'g', batch: 1 };
  await broker.pop(queuePath(queue), { ...query, autoAck: true });
  return (await broker.pop(queuePath(queue), query)).body.leaseId;
}

describe('GET /api/v1/consumer-groups', () => {
  it('is a list with one entry per group and queue', async () => {
    await half('list');
    const { status, body } = await broker.get(GROUPS);
    expect(status).toBe(200);
    expect((body as { queueName: string }[]).filter(({ queueName }) => queueName === 'list')).toEqual([
      {
        ...{ name: 'g', topics: ['list'], queueName: 'list', members: 1, partitionCursors: 1 },
        ...{ partitionsWithLag: 1, totalLag: 2, maxTimeLag: expect.any(Number), state: 'Stable' },
        storage: 'segments',
        ...{ subscriptionMode: null, subscriptionTimestamp: null, subscriptionCreatedAt: null },
      },
    ]);
  });
});

describe('GET /api/v1/consumer-groups/lagging', () => {
  it('is a list of partitions', async () => {
    const worker = await half('lagging');
    await ageSegments(broker.database, 'lagging', 'p', 9000);
    const { status, body } = await broker.get(`${GROUPS}/lagging`);
    expect([status, body]).toEqual([
      200,
      [
        {
          ...{ consumer_group: 'g', queue_name: 'lagging', partition_name: 'p', worker_id: worker },
          partition_id: await partitionId(broker.database, 'lagging', 'p'),
          ...{ offset_lag: 2, time_lag_seconds: expect.any(Number), lag_hours: 2.5 },
          ...{ oldest_unconsumed_at: expect.stringMatching(ISO_MS), last_consumed_at: null },
        },
      ],
    ]);
    expect((await broker.get(`${GROUPS}/lagging?minLagSeconds=10000`)).body).toEqual([]);
    expect((await broker.get(`${GROUPS}/lagging?minLagSeconds=60`)).body).toHaveLength(1);
    expect((await broker.get(`${GROUPS}/lagging?minLagSeconds=60&offset=1`)).body).toEqual([]);
  });
});

describe('GET /api/v1/consumer-groups/:group', () => {
  it('is an object by queue', async () => {
    const worker = await half('detail');
    const { status, body } = await broker.get(`${GROUPS}/g`);
    expect(status).toBe(200);
    expect((body as Record<string, unknown>).detail).toEqual({
      partitionsTotal: 1,
      partitions: [
        {
          ...{ partition: 'p', workerId: worker, lastConsumedAt: null, totalConsumed: 1 },
          ...{ offsetLag: 2, timeLagSeconds: expect.any(Number), leaseActive: true },
        },
      ],
    });
  });

  it('is empty for a group nobody has seen', async () => {
    expect(await broker.get(`${GROUPS}/nobody`)).toMatchObject({ status: 200, body: {} });
  });
});

describe('DELETE /api/v1/consumer-groups/:group', () => {
  it('tells how many cursors there were, also none', async () => {
    await broker.push(numbered('p', 2).map((partition) => ({ queue: 'gone', partition, payload: 1 })));
    await broker.pop(queuePath('gone'), { consumerGroup: 'gone', partitions: 2 });
    for (const deletedPartitions of [2, 0]) {
      const { status, body } = await broker.del(`${GROUPS}/gone`);
      expect([status, body]).toEqual([
        200,
        { success: true, consumerGroup: 'gone', deletedPartitions, metadataDeleted: true },
      ]);
    }
    expect((await broker.del(`${GROUPS}/gone?deleteMetadata=false`)).body).toEqual({
      ...{ success: true, consumerGroup: 'gone', deletedPartitions: 0, metadataDeleted: false },
    });
  });

  it('of one queue says which', async () => {
    await half('gone here');
    const { status, body } = await broker.del(`${GROUPS}/g/queues/gone%20here`);
    expect([status, body]).toEqual([
      200,
      {
        ...{ success: true, consumerGroup: 'g', queueName: 'gone here' },
        ...{ deletedPartitions: 1, metadataDeleted: true },
      },
    ]);
    expect((await broker.del(`${GROUPS}/g/queues/no%20queue?deleteMetadata=0`)).body).toEqual({
      ...{ success: true, consumerGroup: 'g', queueName: 'no queue' },
      ...{ deletedPartitions: 0, metadataDeleted: false },
    });
  });
});

describe('POST /api/v1/consumer-groups/:group/subscription', () => {
  it('repeats the time as it was sent', async () => {
    await half('subscribed');
    const subscriptionTimestamp = '2026-01-02T03:04:05+02:00';
    const answer = await broker.post(`${GROUPS}/g/subscription`, { subscriptionTimestamp });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        ...{ success: true, consumerGroup: 'g', newTimestamp: subscriptionTimestamp },
        rowsUpdated: expect.any(Number),
      },
    ]);
    expect((answer.body as { rowsUpdated: number }).rowsUpdated).toBeGreaterThan(0);
    expect((await broker.post(`${GROUPS}/nobody/subscription`, { subscriptionTimestamp })).body).toEqual({
      ...{ success: true, consumerGroup: 'nobody', newTimestamp: subscriptionTimestamp, rowsUpdated: 0 },
    });
  });

  it.each([undefined, {}, { subscriptionTimestamp: null }, { subscriptionTimestamp: '' }])(
    'is 400 without a time: %j',
    async (body) => {
      expect(await broker.post(`${GROUPS}/g/subscription`, body)).toMatchObject({
        status: 400,
        body: { error: 'subscriptionTimestamp is required', code: 'bad_body' },
      });
    },
  );

  it('is 400 for what is no time', async () => {
    const answer = await broker.post(`${GROUPS}/g/subscription`, { subscriptionTimestamp: 'soon' });
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: 'subscriptionTimestamp is not an ISO 8601 time: "soon"', code: 'bad_timestamp' },
    ]);
  });
});

describe('POST …/queues/:queue/seek', () => {
  it('tells where it went and how many partitions moved', async () => {
    await half('seek');
    const toEnd = await broker.post(seekPath('g', 'seek'), { toEnd: true });
    expect([toEnd.status, toEnd.body]).toEqual([
      200,
      {
        ...{ success: true, consumerGroup: 'g', queueName: 'seek', seekToEnd: true },
        ...{ targetTimestamp: null, partitionsUpdated: 1 },
      },
    ]);
    const toTime = await broker.post(seekPath('g', 'seek'), {
      toEnd: null,
      timestamp: '2026-01-02T03:04:05.678901+01:00',
    });
    expect([toTime.status, toTime.body]).toEqual([
      200,
      {
        ...{ success: true, consumerGroup: 'g', queueName: 'seek', seekToEnd: false },
        ...{ targetTimestamp: '2026-01-02T02:04:05.678Z', partitionsUpdated: 1 },
      },
    ]);
  });

  it('is 404 when there is nothing to move', async () => {
    await broker.configure('bare', {});
    for (const queue of ['no such queue', 'bare'])
      for (const body of [{ toEnd: true }, { toEnd: true, dryRun: true }]) {
        const answer = await broker.post(seekPath('g', queue), body);
        expect([answer.status, answer.body]).toEqual([
          404,
          {
            ...{ error: 'Queue not found or has no partitions', code: 'not_found', success: false },
            ...{ consumerGroup: 'g', queueName: queue, partitionsUpdated: 0 },
          },
        ]);
      }
  });

  it('as a dry run counts messages', async () => {
    await half('dry');
    const answer = await broker.post(`${seekPath('g', 'dry')}?dryRun=true`, { toEnd: true });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        ...{ success: true, consumerGroup: 'g', queueName: 'dry', seekToEnd: true, targetTimestamp: null },
        ...{ partitionsUpdated: 0, dryRun: true, partitions: 1, messagesSkipped: 2, messagesReplayed: 0 },
      },
    ]);
  });
});

describe('POST …/partitions/:partition/seek', () => {
  it('tells where it went', async () => {
    await half('seek one');
    const moved = {
      ...{ success: true, consumerGroup: 'g', queueName: 'seek one', partitionName: 'p' },
      ...{ seekToEnd: true, targetTimestamp: null, updated: true },
    };
    for (const body of [{ toEnd: true }, {}, undefined]) {
      const answer = await broker.post(seekPath('g', 'seek one', 'p'), body);
      expect([answer.status, answer.body]).toEqual([200, moved]);
    }
    const answer = await broker.post(seekPath('g', 'seek one', 'p'), { timestamp: '2026-01-02' });
    expect(answer.body).toEqual({
      ...moved,
      ...{ seekToEnd: false, targetTimestamp: '2026-01-02T00:00:00.000Z' },
    });
  });

  it('is 404 for a partition that does not exist', async () => {
    await half('seek none');
    for (const [queue, partition] of [
      ['seek none', 'q'],
      ['no such queue', 'p'],
    ]) {
      const answer = await broker.post(seekPath('g', queue, partition), { toEnd: true });
      expect([answer.status, answer.body]).toEqual([
        404,
        {
          ...{ error: 'Partition not found', code: 'not_found', success: false, consumerGroup: 'g' },
          ...{ queueName: queue, partitionName: partition, updated: false },
        },
      ]);
    }
  });

  it('as a dry run counts messages', async () => {
    await half('dry one');
    const body = { timestamp: '2001-01-01T00:00:00Z', dryRun: true };
    expect((await broker.post(seekPath('g', 'dry one', 'p'), body)).body).toEqual({
      ...{ success: true, consumerGroup: 'g', queueName: 'dry one', partitionName: 'p', seekToEnd: false },
      ...{ targetTimestamp: '2001-01-01T00:00:00.000Z', updated: false, dryRun: true },
      ...{ partitions: 1, messagesSkipped: 0, messagesReplayed: 1 },
    });
  });
});

describe.each([
  ['queue', seekPath('g', 'q')],
  ['partition', seekPath('g', 'q', 'p')],
])('a seek of a %s', (what, path) => {
  it.each<[string, unknown, string]>([
    ['{"toEnd":false}', { toEnd: false }, 'Must specify toEnd=true or a timestamp'],
    [
      'both',
      { toEnd: true, timestamp: '2026-01-01' },
      'bad body: specify either toEnd=true or a timestamp, not both',
    ],
    ['toEnd as a text', { toEnd: 'true' }, 'bad body: toEnd must be true or false'],
    ['dryRun as a number', { toEnd: true, dryRun: 1 }, 'bad body: dryRun must be true or false'],
    ['a time as a number', { timestamp: 1 }, 'bad body: timestamp must be a string'],
    ['a list', [], 'bad body: expected an object'],
  ])('refuses %s', async (_, body, error) => {
    const answer = await broker.post(path, body);
    expect([answer.status, answer.body]).toEqual([400, { error, code: 'bad_body' }]);
  });

  it.each(['now', 'infinity', '2026-02-31', '0000-01-01', '1754388672', '2026-01-01T00:00:00 CET'])(
    'refuses the time %s',
    async (timestamp) => {
      const answer = await broker.post(path, { timestamp });
      const error = `timestamp is not an ISO 8601 time: ${JSON.stringify(timestamp)}`;
      expect([answer.status, answer.body]).toEqual([400, { error, code: 'bad_timestamp' }]);
    },
  );

  it('refuses what is not JSON', async () => {
    expect(await broker.post(path, 'x')).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^bad body/), code: 'bad_body' },
    });
  });

  if (what === 'queue') {
    it.each([undefined, {}])('needs to be told where: %j', async (body) => {
      expect(await broker.post(path, body)).toMatchObject({
        status: 400,
        body: { error: 'Must specify toEnd=true or a timestamp', code: 'bad_body' },
      });
    });
  }
});

describe('names', () => {
  it.each([
    'a/b',
    'a%2Fb',
    'a b',
    'a+b',
    'g#1',
    'g?1',
    'a.b',
    'é',
    '😀',
    '%',
    `x'; drop table t;--`,
    '__proto__',
  ])('a group called %j is reached by every route', async (group) => {
    const path = `${GROUPS}/${encodeURIComponent(group)}`;
    await broker.push([{ queue: group, partition: group, payload: 1 }]);
    await broker.pop(queuePath(group), { consumerGroup: group, autoAck: true });
    const details = await broker.get(path);
    expect(details.text).toContain(`{${JSON.stringify(group)}:{"partitions":[`);
    expect((await broker.post(seekPath(group, group), { timestamp: '2001-01-01' })).status).toBe(200);
    expect((await broker.post(seekPath(group, group, group), { timestamp: '2001-01-01' })).status).toBe(200);
    expect((await broker.pop(queuePath(group), { consumerGroup: group })).body.messages).toHaveLength(1);
    const deleted = await broker.del(`${path}/queues/${encodeURIComponent(group)}`);
    expect(deleted.body).toMatchObject({ consumerGroup: group, queueName: group, deletedPartitions: 1 });
    expect((await broker.del(path)).body).toMatchObject({ consumerGroup: group, deletedPartitions: 0 });
  });

  it.each([
    ['GET', `${GROUPS}/${'x'.repeat(256)}`],
    ['DELETE', `${GROUPS}/a%00b`],
    ['DELETE', `${GROUPS}/g/queues/`],
    ['POST', `${GROUPS}//queues/q/seek`],
    ['POST', `${GROUPS}/g/queues/${'x'.repeat(256)}/seek`],
    ['POST', `${GROUPS}/g/queues/q/partitions/a%00b/seek`],
  ])('%s %s is 400', async (method, path) => {
    const body = method === 'POST' ? '{"toEnd":true}' : undefined;
    const response = await fetch(broker.base + path, { method, body });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([400, 'bad_name']);
  });
});

describe('the pages of lists', () => {
  it.each(['limit', 'offset', 'minLagSeconds'])('refuse a %s that is no plain number', async (name) => {
    for (const value of ['x', '1.5', '1e3', '0x10'])
      expect(await broker.get(`${GROUPS}/lagging?${name}=${value}`)).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining(name), code: 'bad_parameter' },
      });
  });

  it('bring a number inside its range', async () => {
    for (const query of [
      'limit=0',
      'limit=100000',
      'offset=-1',
      'minLagSeconds=-5',
      'minLagSeconds=99999999999',
    ])
      expect((await broker.get(`${GROUPS}/lagging?${query}`)).status).toBe(200);
  });
});
