import { describe, expect, it } from '@jest/globals';
import { BrokerError } from '../base/errors/broker-error.js';
import { MAX_OPERATIONS, parseTransactionBody } from './transaction.request.js';

const PARTITION_ID = '01890000-0000-7000-8000-000000000001';

const parse = (body: unknown) =>
  parseTransactionBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

function refusalOf(body: unknown): { code: string; message: string } {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof BrokerError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('the body was taken');
}

/** What matters of each operation. */
const summary = (body: unknown) =>
  parse(body).operations.map((operation) =>
    operation.kind === 'push'
      ? [operation.item.queue, operation.item.partition, operation.item.payload.toString()]
      : [operation.group, operation.ack.transactionId, operation.ack.status, operation.ack.leaseId],
  );

const ack = (over: object = {}) => ({ type: 'ack', transactionId: 't', partitionId: PARTITION_ID, ...over });

describe('the operations of a transaction', () => {
  it('are flattened in their order', () => {
    expect(
      summary({
        operations: [
          {
            type: 'push',
            items: [
              { queue: 'a', payload: 1 },
              { queue: 'b', partition: 'p', payload: 2 },
            ],
          },
          ack({ consumerGroup: 'g', status: 'retry', leaseId: 'l' }),
          { type: 'push', queue: 'c', payload: 3 },
          { type: 'push', items: [] },
        ],
      }),
    ).toEqual([
      ['a', 'Default', '1'],
      ['b', 'p', '2'],
      ['g', 't', 'retry', 'l'],
      ['c', 'Default', '3'],
    ]);
  });

  it('may name their type last, in any spelling, and repeat keys', () => {
    expect(
      summary(`{"operations":[{"payload":1,"queue":"a","\\u0074ype":"pu\\u0073h"},
        {"type":"ack","items":[{"queue":"x","payload":1}],"items":[{"queue":"y","payload":2}],"type":"push"},
        {"transactionId":"t","partitionId":"${PARTITION_ID}","type":"push","queue":7,"type":"ack"}]}`),
    ).toEqual([
      ['a', 'Default', '1'],
      ['y', 'Default', '2'],
      ['__QUEUE_MODE__', 't', 'completed', ''],
    ]);
  });

  it('take data for a missing payload, and an empty object for both', () => {
    expect(
      summary(`{"operations":[{"type":"push","items":[{"queue":"q","payload":{"a": 1},"data":2},
        {"queue":"q","data":[1 ]},{"queue":"q"},{"queue":"q","payload":null,"data":2}]}]}`).map(
        ([, , text]) => text,
      ),
    ).toEqual(['{"a": 1}', '[1 ]', '{}', 'null']);
  });

  it('take null and nothing for queue mode', () => {
    const groups = [{}, { consumerGroup: null }, { consumerGroup: '' }].map(ack);
    expect(summary({ operations: groups }).map(([group]) => group)).toEqual(Array(3).fill('__QUEUE_MODE__'));
  });

  it('of a push without items are the operation itself', () => {
    expect(summary({ operations: [{ type: 'push', items: null, queue: 'q', payload: 1 }] })).toHaveLength(1);
  });

  it('the last list of operations counts, with all its faults', () => {
    expect(summary('{"operations":[7],"operations":[]}')).toEqual([]);
    expect(refusalOf('{"operations":[],"operations":7}').message).toBe(
      'transaction requires an operations array',
    );
  });

  it('keep an id that cannot exist: it is the transaction that calls it unknown', () => {
    const [operation] = parse({ operations: [ack({ transactionId: 'a\0' })] }).operations;
    expect(operation).toMatchObject({
      kind: 'ack',
      ack: { problem: expect.stringContaining('unresolvable') },
    });
  });
});

describe('the leases of a transaction', () => {
  it('are those required and those beside its acks, each once', () => {
    const body = {
      operations: [
        ack({ leaseId: 'b' }),
        ack({ leaseId: 'c' }),
        ack({ leaseId: null }),
        ack({ leaseId: '' }),
      ],
      requiredLeases: ['a', 'b', 'a', null, ''],
    };
    expect(parse(body).leases).toEqual(['a', 'b', 'c']);
  });

  it.each([undefined, null, []])('may be none: %j', (requiredLeases) => {
    expect(parse({ operations: [ack()], requiredLeases }).leases).toEqual([]);
  });
});

describe('a transaction is refused', () => {
  it.each([
    [
      { operations: [{ type: 'push', items: [{ queue: 'q' }, 7] }] },
      'operation 0: item 1: must be an object',
    ],
    [{ operations: [ack(), { type: 'push' }] }, 'operation 1: queue is required'],
    [{ operations: [{ type: 'push', queue: 'q', partition: 7 }] }, 'partition must be a string or null'],
    [
      { operations: [{ type: 'push', queue: 'q', headers: { a: 1 } }] },
      'headers must be an object of strings',
    ],
    [{ operations: [ack({ transactionId: 7 })] }, 'operation 0: transactionId must be a string'],
    [{ operations: [ack({ leaseId: 7 })] }, 'operation 0: leaseId must be a string or null'],
    [{ operations: [ack({ consumerGroup: 'x'.repeat(256) })] }, 'consumerGroup must not be longer'],
    [{ operations: [7, { type: 'x' }] }, 'operation 0: must be an object'],
  ])('naming the first operation at fault: %j', (body, message) => {
    expect(refusalOf(body)).toEqual({ code: 'bad_transaction', message: expect.stringContaining(message) });
  });

  it('for what is not JSON behind the fault as well', () => {
    expect(refusalOf('{"operations":[7],').code).toBe('bad_body');
    expect(refusalOf(`{"operations":[7],"x":${'['.repeat(600)}${']'.repeat(600)}}`).code).toBe(
      'json_too_deep',
    );
  });

  it('beyond its largest number of operations', () => {
    const one = '{"type":"push","queue":"q"}';
    const body = (count: number) => `{"operations":[${Array(count).fill(one).join(',')}]}`;
    expect(parse(body(MAX_OPERATIONS)).operations).toHaveLength(MAX_OPERATIONS);
    expect(refusalOf(body(MAX_OPERATIONS + 1)).code).toBe('body_too_large');
  });
});
