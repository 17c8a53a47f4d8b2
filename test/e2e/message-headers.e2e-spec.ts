import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type Message,
  type TestBroker,
} from '../support/broker.js';

type WithHeaders = Message & { headers?: Record<string, string> };

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const HEADER_BYTES_MAX = 16 * 1024;

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const pop = async (path: string, query: Record<string, string | number | boolean> = {}) =>
  (await broker.pop(path, query)).body.messages as WithHeaders[];

/** Push of one message whose headers are spelled as given. */
const pushRaw = (queue: string, headers: string) =>
  broker.post(
    '/api/v1/push',
    `{"items":[{"queue":"${queue}","partition":"p","payload":1,"headers":${headers}}]}`,
  );

describe('the headers of a message', () => {
  it('come with every delivery of it, to every group, on every route', async () => {
    const headers = { traceparent: TRACEPARENT, tracestate: 'a=1,b=2', 'x-tenant': 'ü ☃', empty: '' };
    await broker.push([{ queue: 'ns-headers.t', partition: 'p', payload: { n: 1 }, headers }]);
    const first = await pop(partitionPath('ns-headers.t', 'p'), { consumerGroup: 'g' });
    expect(first[0]).toMatchObject({ headers, data: { n: 1 } });
    await broker.ackBatch(acksFor(first, 'retry'));
    const again = await pop(queuePath('ns-headers.t'), { consumerGroup: 'g' });
    expect(again[0].headers).toEqual(headers);
    const discovered = await pop('', { namespace: 'ns-headers', consumerGroup: 'h' });
    expect(discovered[0].headers).toEqual(headers);
  });

  it('stay with their own message', async () => {
    await broker.push([
      { queue: 'own', partition: 'p', payload: 1, headers: { a: '1' } },
      { queue: 'own', partition: 'p', payload: 2 },
      { queue: 'own', partition: 'p', payload: 3, headers: null },
      { queue: 'own', partition: 'p', payload: 4, headers: {} },
      { queue: 'own', partition: 'p', payload: 5, headers: { a: '5' } },
    ]);
    const messages = await pop(partitionPath('own', 'p'), { autoAck: true });
    expect(messages.map(({ data, headers }) => [data, headers])).toEqual([
      [1, { a: '1' }],
      [2, undefined],
      [3, undefined],
      [4, {}],
      [5, { a: '5' }],
    ]);
    expect(messages[1]).not.toHaveProperty('headers');
  });

  it.each(['{ "b":"1",  "a":"2" }', '{"a":"\\u0000\\/","\\u0061":"b"}', '{}'])(
    '%s come back byte for byte',
    async (headers) => {
      const queue = `raw ${headers.length}`;
      expect((await pushRaw(queue, headers)).body).toMatchObject([{ status: 'queued' }]);
      const { text } = await broker.pop(partitionPath(queue, 'p'), { autoAck: true });
      expect(text).toContain(`"headers":${headers},`);
    },
  );

  it('may be of exactly 16 KiB, and not a byte more', async () => {
    const spelled = (bytes: number) => `{"a":"${'x'.repeat(bytes - '{"a":""}'.length)}"}`;
    expect((await pushRaw('limit', spelled(HEADER_BYTES_MAX))).body).toMatchObject([{ status: 'queued' }]);
    expect((await pushRaw('limit', spelled(HEADER_BYTES_MAX + 1))).body).toMatchObject([
      {
        status: 'failed',
        code: 'bad_body',
        error: expect.stringMatching(/^headers must not be longer than 16384/),
      },
    ]);
    const messages = await pop(partitionPath('limit', 'p'), { autoAck: true });
    expect(messages.map(({ headers }) => headers?.a.length)).toEqual([HEADER_BYTES_MAX - 8]);
  });

  it.each(['"text"', '[]', '1', 'true', '{"a":1}', '{"a":null}', '{"a":["b"]}'])(
    '%s are refused, and only for their own message',
    async (headers) => {
      const body = `{"items":[{"queue":"bad headers","payload":1,"headers":${headers}},{"queue":"bad headers","payload":2}]}`;
      const answer = await broker.post('/api/v1/push', body);
      expect(answer.body).toMatchObject([
        { status: 'failed', code: 'bad_body', error: 'headers must be an object of strings' },
        { status: 'queued' },
      ]);
    },
  );

  it('of a duplicate are those of the message that was first', async () => {
    const item = { queue: 'twice', partition: 'p', transactionId: 't', payload: 1 };
    await broker.push([{ ...item, headers: { n: '1' } }]);
    expect((await broker.push([{ ...item, headers: { n: '2' } }])).body).toMatchObject([
      { status: 'duplicate' },
    ]);
    expect((await pop(partitionPath('twice', 'p'), { autoAck: true })).map(({ headers }) => headers)).toEqual(
      [{ n: '1' }],
    );
  });

  it('show in the list of messages, alone, and in a dead letter', async () => {
    const headers = { traceparent: TRACEPARENT };
    await broker.push([{ queue: 'shown', partition: 'p', transactionId: 't', payload: 1, headers }]);
    const messages = await pop(partitionPath('shown', 'p'), { consumerGroup: 'g' });
    const of = (answer: { body: unknown }) =>
      (answer.body as { messages: WithHeaders[] }).messages[0].headers;
    expect(of(await broker.get('/api/v1/messages?queue=shown'))).toEqual(headers);
    const detail = await broker.get(`/api/v1/messages/${messages[0].partitionId}/t`);
    expect((detail.body as WithHeaders).headers).toEqual(headers);
    await broker.ackBatch(acksFor(messages, 'dlq'));
    expect(of(await broker.get('/api/v1/dlq?queue=shown'))).toEqual(headers);
  });

  it('pass through a transaction', async () => {
    const items = [
      { queue: 'transacted', partition: 'p', payload: 1, headers: { traceparent: TRACEPARENT } },
    ];
    const answer = await broker.post('/api/v1/transaction', { operations: [{ type: 'push', items }] });
    expect(answer.body).toMatchObject({ success: true });
    expect((await pop(partitionPath('transacted', 'p'), { autoAck: true }))[0].headers).toEqual(
      items[0].headers,
    );
  });
});
