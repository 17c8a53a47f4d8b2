import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { countRows, numbered } from '../support/make.js';

interface Result {
  index: number;
  status: string;
  error?: string;
  code?: string;
}

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

describe('a push that is not of the right shape', () => {
  it.each([
    ['a bare word', 'hello', /^bad body: expected an object/],
    ['a truncated document', '{"items":[{"queue":"shape","payload":1}', /^bad body: not JSON/],
    ['something behind the document', '{"items":[{"queue":"shape","payload":1}]}]', /^bad body: not JSON/],
    [
      'bytes that are not UTF-8',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      /^bad body: not JSON/,
    ],
    ['a list at the top', '[]', /^bad body: expected an object/],
    ['no items', '{}', /^bad body: items is required/],
    [
      'items that are no list',
      '{"items":{"queue":"shape","payload":1}}',
      /^bad body: items must be an array/,
    ],
    ['items that are null', '{"items":null}', /^bad body: items must be an array/],
  ])('is refused for %s', async (_, body, error) => {
    const response = await fetch(`${broker.base}/api/v1/push`, { method: 'POST', body });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: expect.stringMatching(error), code: 'bad_body' });
  });

  it('names every item that is, and stores none of the others', async () => {
    const answer = await broker.post('/api/v1/push', {
      items: [
        { queue: 'shape', payload: 1 },
        { payload: 1 },
        { queue: 'shape' },
        { queue: 7, payload: 1 },
        { queue: null, payload: 1 },
        { queue: 'shape', partition: 7, payload: 1 },
        { queue: 'shape', transactionId: 7, payload: 1 },
        'text',
        {},
      ],
    });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      error: expect.stringMatching(/^bad body: item 1: queue is required \(and 7 more/),
      code: 'bad_body',
      items: [
        { index: 1, error: 'queue is required' },
        { index: 2, error: 'payload is required' },
        { index: 3, error: 'queue must be a string' },
        { index: 4, error: 'queue must be a string' },
        { index: 5, error: 'partition must be a string or null' },
        { index: 6, error: 'transactionId must be a string or null' },
        { index: 7, error: 'must be an object' },
        { index: 8, error: 'queue is required; payload is required' },
      ],
    });
    expect(await countRows(broker.database, 'queues')).toBe(0);
  });
});

describe('an item that cannot be stored', () => {
  const good = { queue: 'faulty', partition: 'p', payload: 1 };

  it.each([
    ['an empty queue name', { queue: '' }, 'bad_name', /^queue must not be empty/],
    ['a queue name with U+0000', { queue: 'a\0b' }, 'bad_name', /^queue must not contain U\+0000/],
    [
      'a queue name with half a surrogate pair',
      { queue: 'a\ud83d' },
      'bad_name',
      /^queue must not contain a lone surrogate/,
    ],
    [
      'a queue name of 256 bytes',
      { queue: 'é'.repeat(128) },
      'bad_name',
      /^queue must not be longer than 255 bytes/,
    ],
    ['the queue ".."', { queue: '..' }, 'bad_name', /^queue must not be "\." or "\.\."/],
    ['a partition name with U+0000', { partition: '\0' }, 'bad_name', /^partition must not contain U\+0000/],
    [
      'a partition name with half a surrogate pair',
      { partition: '\udc00x' },
      'bad_name',
      /^partition must not contain a lone surrogate/,
    ],
    [
      'a partition name of 256 bytes',
      { partition: 'x'.repeat(256) },
      'bad_name',
      /^partition must not be longer/,
    ],
    ['the partition "."', { partition: '.' }, 'bad_name', /^partition must not be/],
    [
      'a transactionId with U+0000',
      { transactionId: 'a\0' },
      'bad_body',
      /^transactionId must not contain U\+0000/,
    ],
    [
      'a transactionId with half a surrogate pair',
      { transactionId: '\ud800' },
      'bad_body',
      /^transactionId must not contain a lone/,
    ],
    [
      'a transactionId of 65,536 bytes',
      { transactionId: 'x'.repeat(65_536) },
      'bad_body',
      /^transactionId must not be longer than 65535 bytes/,
    ],
    ['headers that are no object', { headers: [] }, 'bad_body', /^headers must be an object of strings/],
    ['headers with a number', { headers: { a: 1 } }, 'bad_body', /^headers must be an object of strings/],
    [
      'headers of 16 KiB and a byte',
      { headers: { a: 'x'.repeat(16 * 1024) } },
      'bad_body',
      /^headers must not be longer/,
    ],
  ])('fails alone, with its reason: %s', async (what, fault, code, error) => {
    const queue = `faulty ${what}`;
    const answer = await broker.push([
      { ...good, queue },
      { ...good, queue, ...fault },
      { ...good, queue, payload: 2 },
    ]);
    expect(answer.status).toBe(201);
    const results = answer.body as Result[];
    expect(results.map(({ status }) => status)).toEqual(['queued', 'failed', 'queued']);
    expect(results[1]).toMatchObject({ index: 1, code, error: expect.stringMatching(error) });
    const popped = await broker.pop(partitionPath(queue, 'p'), { autoAck: true });
    expect(popped.body.messages.map(({ data }) => data)).toEqual([1, 2]);
  });

  it('is answered 201 even when it is the only one, since repeating it cannot help', async () => {
    const answer = await broker.push([{ queue: '', payload: 1 }]);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject([{ index: 0, queueName: '', status: 'failed', code: 'bad_name' }]);
  });

  it('does not sink its batch, and a repeat of the batch stores nothing twice (A01)', async () => {
    const items = numbered('t', 100).map((transactionId, i) => ({
      queue: 'batch',
      partition: i === 51 ? '\ud83d' : 'p',
      transactionId: i === 50 ? 'a\0b' : transactionId,
      payload: i,
    }));
    const first = (await broker.push(items)).body as Result[];
    expect(first.filter(({ status }) => status === 'queued')).toHaveLength(98);
    expect(first.filter(({ status }) => status === 'failed').map(({ index }) => index)).toEqual([50, 51]);

    const again = (await broker.push(items)).body as Result[];
    expect(again.filter(({ status }) => status === 'duplicate')).toHaveLength(98);
    const popped = await broker.pop(queuePath('batch'), { autoAck: true, partitions: 10 });
    const expected = Array.from({ length: 100 }, (_, i) => i).filter((i) => i !== 50 && i !== 51);
    expect(popped.body.messages.map(({ data }) => data)).toEqual(expected);
  });
});

it('names of exactly 255 bytes and an id of exactly 65,535 are stored and reachable', async () => {
  const queue = 'é'.repeat(127) + 'x';
  const partition = '/'.repeat(255);
  const transactionId = 'x'.repeat(65_535);
  const pushed = await broker.push([{ queue, partition, transactionId, payload: 1 }]);
  expect(pushed.body).toMatchObject([{ status: 'queued' }]);
  const popped = await broker.pop(partitionPath(queue, partition));
  expect(popped.body).toMatchObject({ queue, partition, messages: [{ transactionId }] });
  const [message] = popped.body.messages;
  expect(
    (await broker.ack({ transactionId, partitionId: message.partitionId, leaseId: message.leaseId })).body,
  ).toMatchObject([{ success: true }]);
});
