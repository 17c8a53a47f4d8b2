import { NAME_BYTES_MAX } from '../../base/names/names.js';
import { MAX_OPERATIONS } from '../../transaction/transaction.request.js';
import { DATABASE, REFUSED_PUSHES } from '../errors.js';
import type { Area } from '../operation.js';
import {
  always,
  anyJson,
  boolean,
  count,
  list,
  nullable,
  object,
  ref,
  text,
  uuid,
  type Schema,
} from '../schema.js';
import { ackMembers } from './ack.js';
import { itemMembers } from './push.js';

const item: Record<string, Schema> = {
  ...itemMembers,
  'payload?': anyJson('Any JSON. Absent: `data`, and `{}` without either.'),
  'data?': anyJson(),
};

export const transactionArea: Area = {
  name: 'Transaction',
  about: 'Pushes and acks in one commit.',
  schemas: {
    TransactionItem: object(item),
    TransactionOperation: {
      oneOf: [
        object({ type: always('push'), items: list(ref('TransactionItem')) }, 'Messages to store.'),
        object({ type: always('push'), ...item }, 'One message to store.'),
        object(
          {
            type: always('ack'),
            ...ackMembers,
            'consumerGroup?': nullable(text('Absent or empty: queue mode.', { maxLength: NAME_BYTES_MAX })),
          },
          'A message to acknowledge.',
        ),
      ],
    },
    TransactionResult: {
      oneOf: [
        object({
          index: count(),
          type: always('push'),
          success: always(true),
          transactionId: text(),
          messageId: uuid(),
          queueName: text(),
          'duplicate?': always(true, 'The same key stands twice in this transaction; stored once.'),
        }),
        object({
          index: count(),
          type: always('ack'),
          success: boolean('False: the message could not be put aside after the commit, and comes again.'),
          transactionId: text(),
          error: nullable(text()),
          dlq: boolean(),
        }),
      ],
    },
  },
  operations: {
    'POST /api/v1/transaction': {
      id: 'transaction',
      summary: 'Store messages and acknowledge others, all or nothing',
      about:
        'An ack acts only under a lease that the request names, or under none when it names none. A stored duplicate, a lost lease or an unknown transactionId rolls everything back; that is an answer (200, `success:false`), not to be sent again as it is.',
      body: {
        required: true,
        schema: object({
          operations: list(ref('TransactionOperation'), undefined, { maxItems: MAX_OPERATIONS }),
          'requiredLeases?': nullable(list(nullable(text()), 'Leases of the messages that are acked.')),
        }),
        example: {
          operations: [
            { type: 'push', items: [{ queue: 'invoices', partition: 'customer-1', payload: { order: 1 } }] },
            {
              type: 'ack',
              transactionId: 'order-1',
              partitionId: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
              consumerGroup: 'billing',
            },
          ],
          requiredLeases: ['0198c3f2-7000-7aaa-8bbb-0b6a5f1d7e22'],
        },
      },
      answers: {
        200: {
          about:
            'Committed, or rolled back: `success` says which. One result for each item and ack, in order.',
          schema: {
            oneOf: [
              object({
                transactionId: uuid('Of this call.'),
                success: always(true),
                results: list(ref('TransactionResult')),
              }),
              object({
                transactionId: uuid('Of this call.'),
                success: always(false),
                error: text('Why nothing was done.'),
                results: list(anyJson(), undefined, { maxItems: 0 }),
              }),
            ],
          },
          example: {
            transactionId: '0198c3f2-7000-7aaa-8bbb-0b6a5f1d7e23',
            success: true,
            results: [
              {
                index: 0,
                type: 'push',
                success: true,
                transactionId: '0198c3f2-7000-7aaa-8bbb-0b6a5f1d7e24',
                messageId: '0198c3f2-7000-7aaa-8bbb-0b6a5f1d7e24',
                queueName: 'invoices',
              },
              { index: 1, type: 'ack', success: true, transactionId: 'order-1', error: null, dlq: false },
            ],
          },
        },
      },
      errors: [
        ...DATABASE,
        {
          code: 'bad_transaction',
          keys: {
            'transactionId?': uuid(),
            'success?': always(false),
            'results?': list(anyJson(), undefined, { maxItems: 0 }),
          },
        },
        'bad_body',
        'json_too_deep',
        'body_too_large',
        ...REFUSED_PUSHES,
        'offset_too_large',
      ],
    },
  },
};
