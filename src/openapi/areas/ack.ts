import { MAX_ACK_ITEMS } from '../../ack/ack.request.js';
import { NAME_BYTES_MAX } from '../../base/names/names.js';
import { DEFAULT_SECONDS, SECONDS_MAX } from '../../lease/lease.request.js';
import { DATABASE } from '../errors.js';
import type { Answer, Area, ErrorUse } from '../operation.js';
import { path } from '../parameters.js';
import {
  anyJson,
  boolean,
  count,
  instant,
  integer,
  list,
  nullable,
  object,
  ref,
  text,
  uuid,
  type Schema,
} from '../schema.js';

/** One acknowledgement, on every route that takes one. */
export const ackMembers: Record<string, Schema> = {
  transactionId: text('Of the message.'),
  partitionId: uuid('Of the message.'),
  'status?': nullable(
    text(
      '`completed` (also `success`, `acked`, `ok`, or absent): the cursor moves up to this message. `retry`: it comes again, free of charge. `dlq`: to the dead letters. Any other text is a failure, which is charged to the retry budget.',
      { examples: ['completed', 'failed', 'retry', 'dlq'] },
    ),
  ),
  'leaseId?': nullable(text('Given: acked under this lease only. Absent or empty: under any, or none.')),
  'error?': anyJson('Why; kept with a dead letter.'),
};

const group = nullable(text('Absent or empty: queue mode.', { maxLength: NAME_BYTES_MAX }));

const answers: Record<number, Answer> = {
  200: {
    about: 'One result for each acknowledgement, in order, whatever became of it.',
    schema: list(ref('AckResult')),
    example: [
      {
        index: 0,
        transactionId: 'order-1',
        success: true,
        error: null,
        leaseReleased: true,
        dlq: false,
        noop: false,
      },
    ],
  },
};

const errors: ErrorUse[] = ['bad_body', 'bad_name', 'json_too_deep', 'body_too_large', 'overloaded'];

const example = {
  transactionId: 'order-1',
  partitionId: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
  status: 'completed',
  leaseId: '0198c3f2-7000-7aaa-8bbb-0b6a5f1d7e22',
};

export const ackArea: Area = {
  name: 'Ack',
  about: 'Say what became of messages, and keep a lease longer.',
  schemas: {
    Ack: object(ackMembers),
    AckResult: object({
      index: count(),
      transactionId: text(),
      success: boolean(),
      error: nullable(text('Why not; null on success.')),
      leaseReleased: boolean('True on every success.'),
      dlq: boolean('The head of this batch became a dead letter.'),
      noop: boolean('It was completed before.'),
    }),
  },
  operations: {
    'POST /api/v1/ack': {
      id: 'ack',
      summary: 'Acknowledge one message',
      body: {
        required: true,
        schema: object({ ...ackMembers, 'consumerGroup?': group }),
        example: { ...example, consumerGroup: 'billing' },
      },
      answers,
      errors,
    },
    'POST /api/v1/ack/batch': {
      id: 'ackBatch',
      summary: 'Acknowledge many messages',
      about:
        'Those of one partition and lease are settled together. `completed` completes what is before it as well.',
      body: {
        required: true,
        schema: object({
          'acknowledgments?': nullable(list(ref('Ack'), undefined, { maxItems: MAX_ACK_ITEMS })),
          'consumerGroup?': group,
        }),
        example: { consumerGroup: 'billing', acknowledgments: [example] },
      },
      answers,
      errors,
    },
    'POST /api/v1/lease/{leaseId}/extend': {
      id: 'extendLease',
      summary: 'Keep a lease longer',
      about:
        'Every live lease of this id, in all partitions of its pop; never shortened. That nothing is left to renew is no error: `success` is false then. A body that cannot be read counts as none.',
      parameters: [
        path('leaseId', 'From the answer of a pop.', text(), '0198c3f2-7000-7aaa-8bbb-0b6a5f1d7e22'),
      ],
      body: {
        required: false,
        schema: object({
          'seconds?': integer('From now.', { minimum: 1, maximum: SECONDS_MAX, default: DEFAULT_SECONDS }),
        }),
        example: { seconds: 60 },
      },
      answers: {
        200: {
          about:
            'Until when, of the lease that ends first; null when none was renewed. The three times are the same.',
          schema: object({
            leaseId: text(),
            success: boolean(),
            renewed: count(),
            newExpiresAt: nullable(instant()),
            expiresAt: nullable(instant()),
            lease_expires_at: nullable(instant()),
          }),
          example: {
            leaseId: '0198c3f2-7000-7aaa-8bbb-0b6a5f1d7e22',
            success: true,
            renewed: 1,
            newExpiresAt: '2026-08-05T10:12:12.123456Z',
            expiresAt: '2026-08-05T10:12:12.123456Z',
            lease_expires_at: '2026-08-05T10:12:12.123456Z',
          },
        },
      },
      errors: DATABASE,
    },
  },
};
