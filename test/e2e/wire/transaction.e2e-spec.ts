import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { queuePath, startBroker, type Message, type TestBroker } from '../../support/broker.js';

/** The exact shapes that clients of the transaction route read; a key with another name fails here. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const uuid = expect.stringMatching(UUID);

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const transact = (body: unknown) => broker.post('/api/v1/transaction', body);

async function popped(queue: string, payloads: unknown[], query = {}): Promise<Message[]> {
  await broker.push(payloads.map((payload, i) => ({ queue, payload, transactionId: `m${i}` })));
  return (await broker.pop(queuePath(queue), { consumerGroup: 'g', ...query })).body.messages;
}

/** As client libraries send an ack: the lease stands in requiredLeases only. */
const ackOf = ({ transactionId, partitionId }: Message, over = {}) => ({
  ...{ type: 'ack', transactionId, partitionId, status: 'completed', consumerGroup: 'g' },
  ...over,
});

describe('a transaction that is committed', () => {
  it('answers with one flat result per item and ack, in request order', async () => {
    const [first, second] = await popped('committed', [1, 2]);
    const answer = await transact({
      operations: [
        ackOf(first),
        {
          type: 'push',
          items: [
            { queue: 'next', partition: 'p', payload: { n: 1 }, transactionId: 'n1' },
            { queue: 'next', partition: 'p', payload: { n: 2 }, transactionId: 'n1' },
            { queue: 'other', payload: null },
          ],
        },
        ackOf(second),
        { type: 'push', queue: 'flat', payload: [] },
      ],
      requiredLeases: [first.leaseId],
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    const body = answer.body as { results: { messageId: string }[] };
    expect(body).toEqual({
      transactionId: uuid,
      success: true,
      results: [
        { index: 0, type: 'ack', success: true, transactionId: 'm0', error: null, dlq: false },
        { index: 1, type: 'push', success: true, transactionId: 'n1', messageId: uuid, queueName: 'next' },
        {
          ...{ index: 2, type: 'push', success: true, transactionId: 'n1', queueName: 'next' },
          ...{ messageId: body.results[1].messageId, duplicate: true },
        },
        {
          ...{ index: 3, type: 'push', success: true, queueName: 'other' },
          ...{ transactionId: body.results[3].messageId, messageId: uuid },
        },
        { index: 4, type: 'ack', success: true, transactionId: 'm1', error: null, dlq: false },
        {
          ...{ index: 5, type: 'push', success: true, queueName: 'flat' },
          ...{ transactionId: body.results[5].messageId, messageId: uuid },
        },
      ],
    });
  });

  it('of nothing answers with no results', async () => {
    expect(await transact({ operations: [] })).toMatchObject({
      status: 200,
      body: { transactionId: uuid, success: true, results: [] },
    });
  });

  it('says which acks ended in a dead letter', async () => {
    await broker.configure('dead', { retryLimit: 0 });
    const [first, second] = await popped('dead', [1, 2]);
    const { body } = await transact({
      operations: [ackOf(first), ackOf(second, { status: 'failed', error: 'no good' })],
      requiredLeases: [first.leaseId],
    });
    expect(body).toMatchObject({
      success: true,
      results: [
        { index: 0, type: 'ack', success: true, transactionId: 'm0', error: null, dlq: true },
        { index: 1, type: 'ack', success: true, transactionId: 'm1', error: null, dlq: true },
      ],
    });
  });
});

describe('a transaction that is rolled back', () => {
  it.each<[string, (message: Message) => unknown[], RegExp]>([
    [
      'because a message is stored already',
      () => [{ type: 'push', queue: 'rolled back', payload: 1, transactionId: 'm0' }],
      /^QDUP duplicate messages in queue "rolled back" partition "Default"; transaction rolled back$/,
    ],
    [
      'because an id is unknown',
      (message) => [ackOf(message, { transactionId: 'never pushed' })],
      /^QTXN ack references unknown transactionId; transaction rolled back$/,
    ],
    [
      'because an id cannot exist',
      (message) => [ackOf(message, { transactionId: 'a\0b' })],
      /^QTXN ack references unknown transactionId; transaction rolled back$/,
    ],
    [
      'because a lease is not held',
      (message) => [ackOf(message, { leaseId: 'not mine' })],
      /^QTXN ack failed for partition [0-9a-f-]{36} group "g": invalid or expired lease; transaction rolled back$/,
    ],
    [
      'because a group has no cursor',
      (message) => [ackOf(message, { consumerGroup: 'stranger' })],
      /^QTXN ack failed for partition [0-9a-f-]{36} group "stranger": consumer not found; transaction rolled back$/,
    ],
    [
      'because acks of one cursor name two leases',
      (message) => [ackOf(message, { leaseId: message.leaseId }), ackOf(message, { leaseId: 'another' })],
      /^QTXN ack failed for partition [0-9a-f-]{36} group "g": several leases named; transaction rolled back$/,
    ],
  ])('%s answers 200 with the reason', async (_, operationsOf, error) => {
    await broker.del('/api/v1/resources/queues/rolled%20back');
    const [message] = await popped('rolled back', [1]);
    const answer = await transact({ operations: operationsOf(message) });
    expect([answer.status, answer.body]).toEqual([
      200,
      { transactionId: uuid, success: false, error: expect.stringMatching(error), results: [] },
    ]);
  });
});

describe('a transaction that cannot be carried out', () => {
  const PARTITION_ID = '01890000-0000-7000-8000-000000000001';

  it.each<[unknown, string]>([
    [{}, 'transaction requires an operations array'],
    [{ operations: null }, 'transaction requires an operations array'],
    [{ operations: { type: 'push' } }, 'transaction requires an operations array'],
    [{ operations: [{ type: 'pop' }] }, 'segments transaction supports only push and ack operations'],
    [{ operations: [{ queue: 'q' }] }, 'segments transaction supports only push and ack operations'],
    [{ operations: [{ type: 7 }] }, 'segments transaction supports only push and ack operations'],
    [{ operations: [7] }, 'operation 0: must be an object'],
    [
      { operations: [{ type: 'push', items: [{ queue: 'q' }, { payload: 1 }] }] },
      'operation 0: item 1: queue is required',
    ],
    [{ operations: [{ type: 'push', items: 'x' }] }, 'operation 0: items must be an array'],
    [
      {
        operations: [
          { type: 'push', queue: 'q' },
          { type: 'push', queue: '' },
        ],
      },
      'operation 1: queue must not be empty',
    ],
    [{ operations: [{ type: 'ack', partitionId: PARTITION_ID }] }, 'operation 0: transactionId is required'],
    [
      { operations: [{ type: 'ack', transactionId: 't', partitionId: 'x' }] },
      'operation 0: partitionId must be a uuid',
    ],
    [
      { operations: [{ type: 'ack', transactionId: 't', partitionId: PARTITION_ID, consumerGroup: 7 }] },
      'operation 0: consumerGroup must be a string or null',
    ],
    [
      { operations: [{ type: 'ack', transactionId: 't', partitionId: PARTITION_ID, consumerGroup: '..' }] },
      'operation 0: consumerGroup must not be "." or "..": URLs cannot address it',
    ],
    [{ operations: [], requiredLeases: 'x' }, 'requiredLeases must be an array of strings'],
    [{ operations: [], requiredLeases: [7] }, 'requiredLeases must be an array of strings'],
  ])('%j is 400 in the same shape', async (body, error) => {
    const answer = await transact(body);
    expect([answer.status, answer.body]).toEqual([
      400,
      { error, code: 'bad_transaction', transactionId: uuid, success: false, results: [] },
    ]);
  });

  it.each(['', '{', '[]', '"x"', 'null', '{"operations":[]} x'])('%j is a bad body', async (body) => {
    const answer = await transact(body);
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: expect.stringMatching(/^bad body: /), code: 'bad_body' },
    ]);
  });
});
