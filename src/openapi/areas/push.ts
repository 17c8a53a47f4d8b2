import { errorTable, type ErrorCode } from '../../base/errors/error-table.js';
import { NAME_BYTES_MAX } from '../../base/names/names.js';
import { DEFAULT_PARTITION, MAX_HEADERS_BYTES, MAX_TRANSACTION_ID_BYTES } from '../../push/push-item.js';
import { MAX_PUSH_ITEMS } from '../../push/push.request.js';
import { BAD_ITEMS, DATABASE, REFUSED_PUSHES } from '../errors.js';
import type { Area } from '../operation.js';
import {
  anyJson,
  count,
  list,
  mapOf,
  nullable,
  object,
  oneOfTexts,
  ref,
  text,
  uuid,
  type Schema,
} from '../schema.js';

/** Why an item is not stored: it breaks a rule, or its partition could not be written to. */
const ITEM_CODES: readonly ErrorCode[] = [
  ...(['bad_name', 'bad_body', 'body_too_large', 'offset_too_large'] as const),
  ...DATABASE,
  ...(['spool_failed', 'internal'] as const),
];

/** What a message is made of, on every route that stores one. */
export const itemMembers: Record<string, Schema> = {
  queue: text('Comes into being when it is first used.', { minLength: 1, maxLength: NAME_BYTES_MAX }),
  'partition?': nullable(
    text(`Messages of one partition keep their order. Absent or null: \`${DEFAULT_PARTITION}\`.`, {
      maxLength: NAME_BYTES_MAX,
    }),
  ),
  'transactionId?': nullable(
    text(
      'Your key: pushed again within the dedup window, it stores nothing twice. Absent: the id of the message.',
      {
        maxLength: MAX_TRANSACTION_ID_BYTES,
      },
    ),
  ),
  'traceId?': anyJson('A uuid; anything else is ignored.'),
  'headers?': nullable(
    mapOf(
      text(),
      `An object of strings, at most ${MAX_HEADERS_BYTES} bytes; \`traceparent\` may be among them.`,
    ),
  ),
};

export const pushArea: Area = {
  name: 'Push',
  about: 'Store messages.',
  schemas: {
    PushItem: object({
      ...itemMembers,
      payload: anyJson('Any JSON, null included; it comes back byte for byte.'),
    }),
    PushResult: object({
      index: count('Place of the item in the request.'),
      message_id: uuid('Of the stored message; of a duplicate, that of the original (nil when it is gone).'),
      transaction_id: text(),
      queueName: text(),
      status: oneOfTexts(
        ['queued', 'duplicate', 'buffered', 'failed'],
        '`queued`: committed. `duplicate`: was there already. `buffered`: on disk, and stored when PostgreSQL is back. `failed`: not accepted, see `error` and `code`.',
      ),
      'error?': text('Of a failed item.'),
      'code?': oneOfTexts(ITEM_CODES, 'Of a failed item: a code of the error table.'),
    }),
  },
  operations: {
    'POST /api/v1/push': {
      id: 'push',
      summary: 'Store messages',
      about:
        'Answered when they are committed. What can be stored is stored: an item that breaks a rule is `failed` in its place.',
      body: {
        required: true,
        schema: object({ items: list(ref('PushItem'), undefined, { maxItems: MAX_PUSH_ITEMS }) }),
        example: {
          items: [
            { queue: 'orders', partition: 'customer-1', transactionId: 'order-1', payload: { total: 12.5 } },
          ],
        },
      },
      answers: {
        201: {
          about: 'One result for each item, in order.',
          schema: list(ref('PushResult')),
          example: [
            {
              index: 0,
              message_id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e20',
              transaction_id: 'order-1',
              queueName: 'orders',
              status: 'queued',
            },
          ],
        },
        500: {
          about: 'In push maintenance, when an item could not be written to disk: the results as with 201.',
          schema: list(ref('PushResult'), undefined, { minItems: 1 }),
          example: [
            {
              index: 0,
              message_id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e20',
              transaction_id: 'order-1',
              queueName: 'orders',
              status: 'failed',
              error: errorTable.spool_failed.meaning,
              code: 'spool_failed',
            },
          ],
        },
      },
      errors: [
        ...DATABASE,
        BAD_ITEMS,
        'json_too_deep',
        'body_too_large',
        ...REFUSED_PUSHES,
        'offset_too_large',
      ],
    },
  },
};
