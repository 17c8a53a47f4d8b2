import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { partitionPath, startBroker, type TestBroker } from '../../support/broker.js';
import { inTurn } from '../../support/make.js';

/** The exact shapes that clients of the trace routes read; a key with another name fails here. */
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const millis = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const PATH = '/api/v1/traces';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

async function makePartition(queue: string): Promise<string> {
  await broker.push([{ queue, partition: 'p', transactionId: 't', payload: 1 }]);
  return (await broker.pop(partitionPath(queue, 'p'), { consumerGroup: 'traces' })).body.partitionId;
}

async function record(trace: Record<string, unknown>): Promise<string> {
  const { status, body } = await broker.post(PATH, { transactionId: 't', data: {}, ...trace });
  expect([status, body]).toEqual([201, { success: true, traceId: uuid }]);
  return (body as { traceId: string }).traceId;
}

const ofMessage = (partitionId: string, transactionId = 't') =>
  broker.get(`${PATH}/${partitionId}/${encodeURIComponent(transactionId)}`);

describe('POST /api/v1/traces', () => {
  it('is recorded as clients send it, nulls and all', async () => {
    const partitionId = await makePartition('recorded');
    const id = await record({ partitionId, data: { step: 1 }, consumerGroup: null, traceNames: null });
    const { status, body } = await ofMessage(partitionId);
    expect(status).toBe(200);
    expect(body).toEqual({
      traces: [
        {
          ...{ id, event_type: 'info', data: { step: 1 }, consumer_group: '__QUEUE_MODE__' },
          ...{ worker_id: null, created_at: millis, trace_names: [] },
        },
      ],
    });
  });

  it('takes one name or several, a group and a type', async () => {
    const partitionId = await makePartition('named');
    await record({ partitionId, traceNames: 'alone' });
    await record({
      partitionId,
      traceNames: ['b', 'a', 'b', null, ''],
      consumerGroup: 'g',
      eventType: 'error',
    });
    const { traces } = (await ofMessage(partitionId)).body as { traces: object[] };
    expect(traces).toMatchObject([
      { trace_names: ['alone'] },
      { trace_names: ['a', 'b'], consumer_group: 'g', event_type: 'error' },
    ]);
  });

  it.each(['{"b": 1.0,  "a":1, "a":2}', '12345678901234567890', '{"a":"\\u0000"}', 'null'])(
    'keeps the data %s byte for byte',
    async (data) => {
      const partitionId = randomUUID();
      const body = `{"transactionId":"t","partitionId":"${partitionId}","data":${data}}`;
      expect((await broker.post(PATH, body)).status).toBe(201);
      expect((await ofMessage(partitionId)).text).toContain(`"data":${data},"consumer_group"`);
    },
  );

  it('does not ask whether the message exists', async () => {
    const partitionId = randomUUID();
    const transactionId = 'a/b ü?#';
    const id = await record({ partitionId, transactionId });
    expect((await ofMessage(partitionId, transactionId)).body).toMatchObject({ traces: [{ id }] });
  });

  const good = { transactionId: 't', partitionId: randomUUID(), data: {} };
  it.each([
    [
      'without transactionId',
      { ...good, transactionId: null },
      /^transactionId and partitionId are required$/,
    ],
    ['without partitionId', { transactionId: 't', data: {} }, /^transactionId and partitionId are required$/],
    ['without data', { ...good, data: undefined }, /^data is required$/],
    ['with a transactionId that is no text', { ...good, transactionId: 1 }, /transactionId must be a string/],
    ['with names that are no text', { ...good, traceNames: [1] }, /traceNames must be a string, a list/],
    [
      'with a name that is too long',
      { ...good, traceNames: 'é'.repeat(128) },
      /traceNames must not be longer/,
    ],
    [
      'with too many names',
      { ...good, traceNames: Array.from({ length: 101 }, (_, n) => `n${n}`) },
      /more than 100/,
    ],
    ['with a type that is too long', { ...good, eventType: 'x'.repeat(256) }, /eventType must not be longer/],
    ['with U+0000 in a name', { ...good, traceNames: 'a\0' }, /traceNames must not contain U\+0000/],
    ['that is no object', [], /expected an object/],
    ['that is no JSON', '{', /not JSON/],
    ['without a body', undefined, /the body is empty/],
  ])('%s is refused', async (_, body, error) => {
    expect(await broker.post(PATH, body)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(error), code: 'bad_body' },
    });
  });

  it('with a partitionId that is none is refused', async () => {
    expect(await broker.post(PATH, { ...good, partitionId: 'p' })).toMatchObject({
      status: 400,
      body: { error: 'partitionId must be a uuid', code: 'bad_parameter' },
    });
  });
});

describe('GET /api/v1/traces/:partitionId/:transactionId', () => {
  it('is empty without an error where there is nothing', async () => {
    const answer = await ofMessage(randomUUID());
    expect([answer.status, answer.text]).toEqual([200, '{"traces":[]}']);
  });

  it('comes in pieces when there is much, oldest first', async () => {
    const partitionId = randomUUID();
    const data = 'x'.repeat(3 * 1024 * 1024);
    const made = await inTurn([1, 2, 3], () => record({ partitionId, data }));
    const { traces } = (await ofMessage(partitionId)).body as { traces: { id: string; data: string }[] };
    expect(traces.map(({ id }) => id)).toEqual(made);
    expect(traces.every((trace) => trace.data === data)).toBe(true);
  });

  it('refuses a partitionId that is none', async () => {
    expect(await ofMessage('names-of-something')).toMatchObject({
      status: 400,
      body: { code: 'bad_parameter' },
    });
  });
});

describe('GET /api/v1/traces/by-name/:traceName', () => {
  it('has the keys of a trace and of where it belongs, newest first', async () => {
    const partitionId = await makePartition('by name');
    const made = await inTurn([1, 2], (n) => record({ partitionId, data: n, traceNames: ['by/name ü'] }));
    const path = `${PATH}/by-name/${encodeURIComponent('by/name ü')}`;
    const { status, body } = await broker.get(path);
    const common = {
      ...{ event_type: 'info', consumer_group: '__QUEUE_MODE__', worker_id: null, created_at: millis },
      ...{ trace_names: ['by/name ü'], transaction_id: 't', partition_id: partitionId },
      ...{ queue_name: 'by name', partition_name: 'p', message_payload: null },
    };
    expect([status, body]).toEqual([
      200,
      {
        traces: [
          { ...common, id: made[1], data: 2 },
          { ...common, id: made[0], data: 1 },
        ],
        total: 2,
        pagination: { limit: 100, offset: 0 },
      },
    ]);
    expect((await broker.get(`${path}?limit=1&offset=1`)).body).toMatchObject({
      traces: [{ id: made[0] }],
      total: 2,
      pagination: { limit: 1, offset: 1 },
    });
  });

  it('is empty without an error where there is nothing', async () => {
    expect((await broker.get(`${PATH}/by-name/nothing`)).body).toEqual({
      ...{ traces: [], total: 0, pagination: { limit: 100, offset: 0 } },
    });
  });
});

describe('GET /api/v1/traces/names', () => {
  it('has the keys of a name, the one used last first', async () => {
    const partitionId = await makePartition('names');
    await record({ partitionId, traceNames: ['names 1', 'names 2'] });
    await record({ partitionId, traceNames: ['names 2'], transactionId: 'u' });
    const { status, body } = await broker.get(`${PATH}/names?limit=2`);
    const { total } = body as { total: number };
    expect([status, body]).toEqual([
      200,
      {
        trace_names: [
          { trace_name: 'names 2', trace_count: 2, message_count: 2, last_seen: millis },
          { trace_name: 'names 1', trace_count: 1, message_count: 1, last_seen: millis },
        ],
        total,
        pagination: { limit: 2, offset: 0 },
      },
    ]);
    expect(total).toBeGreaterThan(2);
    expect((await broker.get(`${PATH}/names`)).body).toMatchObject({ pagination: { limit: 50, offset: 0 } });
  });

  it.each(['limit=x', 'offset=1.5'])('refuses %s', async (query) => {
    expect(await broker.get(`${PATH}/names?${query}`)).toMatchObject({
      status: 400,
      body: { code: 'bad_parameter' },
    });
  });
});
