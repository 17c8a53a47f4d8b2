import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { queuePath, startBroker, type TestBroker } from '../support/broker.js';

jest.setTimeout(180_000);

const MIB = 1024 * 1024;

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const popAll = (queue: string) =>
  broker.pop(queuePath(queue), {
    consumerGroup: 'g',
    autoAck: true,
    batch: 100,
    wait: true,
    timeout: 60_000,
  });

it.each([
  ['compresses', () => JSON.stringify('abc '.repeat(3 * MIB))],
  ['does not compress', () => JSON.stringify(randomBytes(7 * MIB).toString('base64'))],
])(
  'a message larger than a segment of many keeps its bytes and its place: one that %s',
  async (what, make) => {
    const queue = `large.${what.replaceAll(' ', '-')}`;
    const large = make();
    expect(large.length).toBeGreaterThan(9 * MIB);
    const items = ['1', large, '2'].map((payload) => `{"queue":"${queue}","payload":${payload}}`);
    const pushed = await broker.post('/api/v1/push', `{"items":[${items.join(',')}]}`);
    expect(pushed.status).toBe(201);
    const got: string[] = [];
    while (got.length < 3) {
      const { status, body } = await popAll(queue);
      expect(status).toBe(200);
      got.push(...body.messages.map(({ data }) => JSON.stringify(data)));
    }
    expect(got.map((data) => data.length)).toEqual([1, large.length, 1]);
    expect(got[1] === large).toBe(true);
  },
);

it('a body of many slices is judged as a whole: a fault at its end leaves nothing behind', async () => {
  const items = Array.from(
    { length: 40_000 },
    (_, i) => `{"queue":"slices","payload":{"n":${i},"text":"0123456789"}}`,
  );
  const body = `{"items":[${items.join(',')}]}`;
  expect(body.length).toBeGreaterThan(2 * MIB);
  const refused = await broker.post('/api/v1/push', `${body.slice(0, -2)},{]}`);
  expect(refused).toMatchObject({ status: 400, body: { code: 'bad_body' } });
  expect((await broker.pop(queuePath('slices'), { consumerGroup: 'g' })).status).toBe(204);

  const pushed = await broker.post('/api/v1/push', body);
  expect(pushed.status).toBe(201);
  expect(pushed.body).toHaveLength(items.length);
  const { body: first } = await popAll('slices');
  expect(first.messages[0].data).toEqual({ n: 0, text: '0123456789' });
});

it('an ack batch of many slices has a result for each, in order', async () => {
  const partitionId = '0190b1c2-aaaa-7bbb-8ccc-1234567890ab';
  const acknowledgments = Array.from({ length: 20_000 }, (_, i) => ({ transactionId: `t${i}`, partitionId }));
  const { status, body } = await broker.ackBatch({ consumerGroup: 'g', acknowledgments });
  expect(status).toBe(200);
  expect(body.map(({ transactionId }) => transactionId)).toEqual(
    acknowledgments.map(({ transactionId }) => transactionId),
  );
});
