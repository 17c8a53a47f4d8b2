import { errorTable } from '../../base/errors/error-table.js';
import { NAME_BYTES_MAX } from '../../base/names/names.js';
import { LIMIT, OFFSET } from '../../dead-letters/dead-letters.controller.js';
import { BULK_LIMIT_DEFAULT, BULK_LIMIT_MAX } from '../../dead-letters/replay.request.js';
import { BAD_PARAMETER, DATABASE, REFUSED_PUSHES, REPLAY_REFUSALS } from '../errors.js';
import type { Area, ErrorUse } from '../operation.js';
import { clamped, filter, flag, path, time } from '../parameters.js';
import {
  always,
  anyJson,
  boolean,
  count,
  instant,
  integer,
  list,
  mapOf,
  nullable,
  object,
  oneOfTexts,
  ref,
  text,
  uuid,
} from '../schema.js';

const filters = [
  filter('queue', 'Only of this queue.', 'orders'),
  filter('partition', 'Only of this partition.', 'customer-1'),
  filter('consumerGroup', 'Only of this group.', 'billing'),
  time('from', 'Failed at or after it.'),
  time('to', 'Failed before it.'),
];

const name = nullable(text(undefined, { maxLength: NAME_BYTES_MAX }));

const target = {
  'queue?': nullable(text('Absent: where it came from.', { minLength: 1, maxLength: NAME_BYTES_MAX })),
  'partition?': name,
};

export const replayed = object({
  success: always(true),
  id: uuid('Of the dead letter.'),
  queue: text(),
  partition: text(),
  replayedAs: object({
    index: always(0),
    message_id: uuid(),
    transaction_id: text('`dlq:` and the id of the dead letter.'),
    queueName: text(),
    status: always('queued'),
  }),
  dlqRowRemoved: always(true),
});

const id = '0198c3f2-8000-7aaa-8bbb-0b6a5f1d7e30';

export const replayedExample = {
  success: true,
  id,
  queue: 'orders',
  partition: 'customer-1',
  replayedAs: {
    index: 0,
    message_id: '0198c3f2-8000-7aaa-8bbb-0b6a5f1d7e31',
    transaction_id: `dlq:${id}`,
    queueName: 'orders',
    status: 'queued',
  },
  dlqRowRemoved: true,
};

const pushRefusals: ErrorUse[] = [
  ...REFUSED_PUSHES,
  { code: 'push_maintenance', keys: { success: always(false) } },
  'offset_too_large',
];

export const deadLettersArea: Area = {
  name: 'Dead letters',
  about: 'Messages that a group gave up: list, delete, replay.',
  schemas: {
    DeadLetter: object({
      id: uuid(),
      transactionId: text(),
      partitionId: uuid(),
      queue: text(),
      partition: text(),
      consumerGroup: text(),
      errorMessage: nullable(text()),
      retryCount: count(),
      data: anyJson('The payload, byte for byte as it was pushed.'),
      producerSub: nullable(text()),
      createdAt: instant('As failedAt.'),
      failedAt: instant(),
      messageId: nullable(uuid()),
      offset: count(),
      traceId: nullable(uuid()),
      'headers?': mapOf(text()),
      'isEncrypted?': always(true),
      'payloadAvailable?': always(false, 'The message could not be read when it was put aside.'),
    }),
  },
  operations: {
    'GET /api/v1/dlq': {
      id: 'listDeadLetters',
      summary: 'Dead letters, newest failure first',
      about: 'Streamed, so large payloads do no harm.',
      parameters: [
        ...filters,
        clamped('limit', 'Letters of the page.', LIMIT),
        clamped('offset', 'Letters to skip.', OFFSET),
      ],
      answers: {
        200: {
          about: 'A page.',
          schema: object({
            messages: list(ref('DeadLetter')),
            pagination: object({ limit: count(), offset: count() }),
            total: count('Length of the page.'),
          }),
          example: {
            messages: [
              {
                id,
                transactionId: 'order-1',
                partitionId: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
                queue: 'orders',
                partition: 'customer-1',
                consumerGroup: 'billing',
                errorMessage: 'no such customer',
                retryCount: 3,
                data: { total: 12.5 },
                producerSub: null,
                createdAt: '2026-08-05T10:11:12.123Z',
                failedAt: '2026-08-05T10:11:12.123Z',
                messageId: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e20',
                offset: 0,
                traceId: null,
              },
            ],
            pagination: { limit: 100, offset: 0 },
            total: 1,
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'offset_too_large'],
    },
    'DELETE /api/v1/dlq': {
      id: 'purgeDeadLetters',
      summary: 'Delete the dead letters that pass a filter',
      about: 'Without a filter it wants `all=true`. A parameter that is none of these is refused.',
      parameters: [
        ...filters,
        flag('all', 'Meant for every dead letter.', false),
        flag('dryRun', 'Only count.', false),
      ],
      answers: {
        200: {
          about: 'How many.',
          schema: object({
            success: always(true),
            dryRun: boolean(),
            'matched?': count('Of a dry run.'),
            deleted: count(),
          }),
          example: { success: true, dryRun: false, deleted: 12 },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'filter_required'],
    },
    'POST /api/v1/dlq/{id}/replay': {
      id: 'replayDeadLetter',
      summary: 'Put one dead letter back',
      about: 'A move: pushed as `dlq:<id>` and deleted in one transaction.',
      parameters: [path('id', 'From the list.', uuid(), id)],
      body: { required: false, schema: object(target), example: { queue: 'orders-repair' } },
      answers: { 200: { about: 'Moved.', schema: replayed, example: replayedExample } },
      errors: [
        ...DATABASE,
        BAD_PARAMETER,
        'bad_body',
        'json_too_deep',
        'bad_name',
        { code: 'dead_letter_not_found', keys: { 'success?': always(false) } },
        ...REPLAY_REFUSALS,
        ...pushRefusals,
      ],
    },
    'POST /api/v1/dlq/replay': {
      id: 'replayDeadLetters',
      summary: 'Put back the dead letters that pass a filter, a bounded number a call',
      about:
        'Oldest failure first; repeat the call with `next` until `done`. Without a filter it wants `all:true`. A key that is none of these is refused.',
      body: {
        required: true,
        schema: object({
          'queue?': name,
          'partition?': name,
          'consumerGroup?': name,
          'from?': nullable(text('ISO 8601.', { format: 'date-time' })),
          'to?': nullable(text('ISO 8601.', { format: 'date-time' })),
          'all?': nullable(boolean()),
          'dryRun?': nullable(boolean('Only count.')),
          'limit?': nullable(
            integer('Letters of this call. Above the maximum is clamped.', {
              minimum: 1,
              maximum: BULK_LIMIT_MAX,
              default: BULK_LIMIT_DEFAULT,
            }),
          ),
          'next?': nullable(text('From the call before.')),
          'target?': nullable(object(target)),
        }),
        example: { queue: 'orders', consumerGroup: 'billing' },
      },
      answers: {
        200: {
          about: 'Counted, or moved so far.',
          schema: {
            oneOf: [
              object({
                success: always(true),
                dryRun: always(true),
                matched: count(),
                replayable: count('Those with a payload.'),
                oldestFailedAt: nullable(instant()),
                newestFailedAt: nullable(instant()),
              }),
              object({
                success: boolean('False when the call broke off; `stopped` says why.'),
                dryRun: always(false),
                processed: count('Sum of the next four.'),
                moved: count(),
                gone: count('Replayed or deleted by somebody else.'),
                duplicate: count('Kept.'),
                empty: count('Kept: without a payload.'),
                remaining: nullable(count()),
                next: nullable(text('For the next call.')),
                done: boolean(),
                'stopped?': object({ error: text(), code: oneOfTexts(Object.keys(errorTable)) }),
              }),
            ],
          },
          example: {
            success: true,
            dryRun: false,
            processed: 12,
            moved: 12,
            gone: 0,
            duplicate: 0,
            empty: 0,
            remaining: 0,
            next: null,
            done: true,
          },
        },
      },
      errors: [
        ...DATABASE,
        BAD_PARAMETER,
        'bad_body',
        'json_too_deep',
        'bad_name',
        'filter_required',
        ...pushRefusals,
      ],
    },
  },
};
