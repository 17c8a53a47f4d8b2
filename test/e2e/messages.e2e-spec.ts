import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, startBroker, type TestBroker } from '../support/broker.js';
import { putAside } from '../support/dead-letters.js';
import { dropBelow, numbered } from '../support/make.js';

interface Listed {
  id: string | null;
  transactionId: string | null;
  partition: string;
  status: string;
  createdAt: string;
  data: unknown;
  segment: { seq: number; frameIdx: number };
}

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

async function list(query: Record<string, string | number>): Promise<Listed[]> {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) text.set(name, String(value));
  const { status, body } = await broker.get(`/api/v1/messages?${text.toString()}`);
  expect(status).toBe(200);
  const { messages, total } = body as { messages: Listed[]; total: number };
  expect(total).toBe(messages.length);
  return messages;
}

const ids = (messages: readonly Listed[]) => messages.map(({ transactionId }) => transactionId);

/** The text between `"data":` and the key that follows it. */
const rawData = (text: string) => /"data":(.*?),"payload"/s.exec(text)?.[1];

describe('the list of messages', () => {
  it('is newest first over partitions and segments, and has pages', async () => {
    const push = (partition: string, texts: string[]) =>
      broker.push(texts.map((text) => ({ queue: 'pages', partition, transactionId: text, payload: text })));
    await push('a', ['m0', 'm1']);
    await push('b', ['m2']);
    await push('a', ['m3', 'm4']);
    const all = ['m4', 'm3', 'm2', 'm1', 'm0'];
    expect(ids(await list({ queue: 'pages' }))).toEqual(all);
    expect(ids(await list({ queue: 'pages', limit: 2 }))).toEqual(all.slice(0, 2));
    expect(ids(await list({ queue: 'pages', limit: 2, offset: 2 }))).toEqual(all.slice(2, 4));
    expect(ids(await list({ queue: 'pages', limit: 2, offset: 4 }))).toEqual(all.slice(4));
    expect((await list({ queue: 'pages', limit: 1, offset: 1 }))[0].segment).toEqual({ seq: 2, frameIdx: 0 });
  });

  it('filters by names, status and time', async () => {
    await broker.configure('filter.x', { namespace: 'list-ns', task: 'list-task' });
    const item = { queue: 'filter.x', payload: 1 };
    await broker.push([
      ...[1, 2, 3].map((n) => ({ ...item, partition: 'p', transactionId: `p${n}` })),
      { ...item, partition: 'q/ü', transactionId: 'q1' },
    ]);
    const popped = await broker.pop(partitionPath('filter.x', 'p'), { batch: 2 });
    const [first, second] = popped.body.messages;
    await broker.ackBatch(acksFor([first]));
    await broker.ackBatch(acksFor([second], 'retry'));
    await broker.pop(partitionPath('filter.x', 'p'), { batch: 1 });

    const byName: Record<string, string>[] = [
      { namespace: 'list-ns' },
      { ns: 'list-ns' },
      { task: 'list-task' },
      { queue: 'filter.x' },
    ];
    for (const filter of byName) {
      expect(new Set(ids(await list(filter)))).toEqual(new Set(['p1', 'p2', 'p3', 'q1']));
    }
    expect(ids(await list({ queue: 'filter.x', partition: 'q/ü' }))).toEqual(['q1']);
    expect(ids(await list({ queue: 'filter.x', partition: 'p', status: 'completed' }))).toEqual(['p1']);
    expect(ids(await list({ queue: 'filter.x', partition: 'p', status: 'processing' }))).toEqual(['p2']);
    expect(ids(await list({ queue: 'filter.x', partition: 'p', status: 'pending' }))).toEqual(['p3']);
    expect(ids(await list({ queue: 'filter.x', to: '2020-01-01' }))).toEqual([]);
    const [{ createdAt }] = await list({ queue: 'filter.x', limit: 1 });
    // Up to the end of that minute, so a time that is cut to the millisecond still finds its message.
    expect(await list({ queue: 'filter.x', from: '2020-01-01', to: createdAt })).toHaveLength(4);
    await putAside(broker, { queue: 'filter.x', partition: 'd', transactionId: 'd1' });
    expect(ids(await list({ ns: 'list-ns', status: 'dead_letter' }))).toEqual(['d1']);
  });

  it.each([
    'limit=abc',
    'limit=1.5',
    'offset=0x1',
    'status=lost',
    'from=yesterday',
    'to=1',
    'limit=1&limit=1',
  ])('refuses %s by name', async (query) => {
    expect(await broker.get(`/api/v1/messages?${query}`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining(query.split('=')[0]), code: 'bad_parameter' },
    });
  });

  it('clamps what is out of range, and ignores what it does not know', async () => {
    expect(await list({ queue: 'pages', limit: 0 })).toHaveLength(1);
    expect(await list({ queue: 'pages', limit: (1e6).toFixed(), offset: -3 })).toHaveLength(5);
    expect(await list({ queue: 'pages', limit: '', offset: '', colour: 'red' })).toHaveLength(5);
  });

  it('of large messages comes in pieces', async () => {
    const large = 'x'.repeat(2 * 1024 * 1024);
    for (const n of [0, 1, 2]) await broker.push([{ queue: 'large', partition: `p${n}`, payload: large }]);
    const answer = await broker.get('/api/v1/messages?queue=large');
    expect(answer.headers.get('transfer-encoding')).toBe('chunked');
    const { messages } = answer.body as { messages: Listed[] };
    expect(messages.map(({ data }) => (data as string).length)).toEqual(Array(3).fill(large.length));
  });

  it('reads a segment of many messages once, in the middle as well', async () => {
    await broker.push(
      numbered('s', 300).map((transactionId) => ({
        queue: 'one segment',
        transactionId,
        payload: transactionId,
      })),
    );
    const messages = await list({ queue: 'one segment', limit: 3, offset: 150 });
    expect(messages.map(({ transactionId, data }) => [transactionId, data])).toEqual(
      ['s149', 's148', 's147'].map((id) => [id, id]),
    );
  });
});

describe('a message', () => {
  it.each(['{"b": 1.0,  "a":1, "a":2}', '12345678901234567890.10e+2', '{"a":"\\u0000"}', 'null'])(
    'shows the payload %s byte for byte, in the list and alone',
    async (payload) => {
      const queue = `bytes ${payload}`;
      const item = `{"queue":${JSON.stringify(queue)},"partition":"p","transactionId":"t","payload":${payload}}`;
      await broker.post('/api/v1/push', `{"items":[${item}]}`);
      const page = await broker.get(`/api/v1/messages?queue=${encodeURIComponent(queue)}`);
      expect(rawData(page.text)).toBe(payload);
      const [{ partitionId }] = (page.body as { messages: { partitionId: string }[] }).messages;
      expect(rawData((await broker.get(`/api/v1/messages/${partitionId}/t`)).text)).toBe(payload);
    },
  );

  it('that only a dead letter remembers is shown from there', async () => {
    const letter = await putAside(broker, {
      ...{ queue: 'remembered', transactionId: 't', payload: { n: 1 }, headers: { h: '1' } },
    });
    await broker.push([{ queue: 'remembered', partition: 'p', payload: 2 }]);
    await dropBelow(broker.database, 'remembered', 'p', 1);
    expect((await broker.get(`/api/v1/messages/${letter.partitionId}/t`)).body).toMatchObject({
      ...{ id: letter.messageId, data: { n: 1 }, headers: { h: '1' }, status: 'dead_letter' },
      ...{ errorMessage: 'no good', createdAt: letter.failedAt, payloadAvailable: true },
    });
  });
});
