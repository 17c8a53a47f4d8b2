import { limitRule, NAMES_MAX, OFFSET, TEXT_BYTES_MAX } from '../../traces/trace.request.js';
import { BY_NAME_LIMIT, NAMES_LIMIT } from '../../traces/traces.controller.js';
import { BAD_PARAMETER, DATABASE, NO_MESSAGE_THERE } from '../errors.js';
import type { Area, Parameter } from '../operation.js';
import { clamped, partitionIdInPath, path, transactionIdInPath } from '../parameters.js';
import {
  always,
  anyJson,
  count,
  instant,
  list,
  nullable,
  object,
  ref,
  text,
  uuid,
  type Schema,
} from '../schema.js';

const short = { maxLength: TEXT_BYTES_MAX };

const members: Record<string, Schema> = {
  id: uuid(),
  event_type: text(),
  data: anyJson('As it was recorded, byte for byte.'),
  consumer_group: text(),
  worker_id: nullable(text()),
  created_at: instant(),
  trace_names: list(text()),
};

const example = {
  id: '0198c3f2-9000-7aaa-8bbb-0b6a5f1d7e40',
  event_type: 'info',
  data: { step: 'charged' },
  consumer_group: 'billing',
  worker_id: null,
  created_at: '2026-08-05T10:11:12.123Z',
  trace_names: ['order-1'],
};

function page(limit: number): Parameter[] {
  return [
    clamped('limit', 'Entries of the page.', limitRule(limit)),
    clamped('offset', 'Entries to skip.', OFFSET),
  ];
}

const pagination = object({ limit: count(), offset: count() });

export const tracesArea: Area = {
  name: 'Traces',
  about: 'What applications record about their messages.',
  schemas: {
    Trace: object(members),
    NamedTrace: object({
      ...members,
      transaction_id: text(),
      partition_id: uuid(),
      queue_name: text(),
      partition_name: text(),
      message_payload: always(null),
    }),
  },
  operations: {
    'POST /api/v1/traces': {
      id: 'recordTrace',
      summary: 'Record something about a message',
      about: 'Whether the message is there is not checked.',
      body: {
        required: true,
        schema: object({
          transactionId: text(undefined, { minLength: 1 }),
          partitionId: uuid(),
          data: anyJson('Any JSON.'),
          'consumerGroup?': nullable(text(undefined, short)),
          'eventType?': nullable(text(undefined, { ...short, default: 'info' })),
          'traceNames?': {
            anyOf: [
              list(text(undefined, short), 'Names to find it by.', { maxItems: NAMES_MAX }),
              text(undefined, short),
              { type: 'null' },
            ],
          },
        }),
        example: {
          transactionId: 'order-1',
          partitionId: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
          consumerGroup: 'billing',
          data: { step: 'charged' },
          traceNames: ['order-1'],
        },
      },
      answers: {
        201: {
          about: 'Recorded.',
          schema: object({ success: always(true), traceId: uuid() }),
          example: { success: true, traceId: example.id },
        },
      },
      errors: [...DATABASE, 'bad_body', 'json_too_deep', BAD_PARAMETER, NO_MESSAGE_THERE],
    },
    'GET /api/v1/traces/names': {
      id: 'listTraceNames',
      summary: 'Names that traces carry, the one used last first',
      parameters: page(NAMES_LIMIT),
      answers: {
        200: {
          about: 'A page.',
          schema: object({
            trace_names: list(
              object({
                trace_name: text(),
                trace_count: count(),
                message_count: count(),
                last_seen: instant(),
              }),
            ),
            total: count('Of all names.'),
            pagination,
          }),
          example: {
            trace_names: [
              {
                trace_name: 'order-1',
                trace_count: 2,
                message_count: 1,
                last_seen: '2026-08-05T10:11:12.123Z',
              },
            ],
            total: 1,
            pagination: { limit: 50, offset: 0 },
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER],
    },
    'GET /api/v1/traces/by-name/{traceName}': {
      id: 'listTracesByName',
      summary: 'Traces of a name, newest first',
      parameters: [path('traceName', 'The name.', text(), 'order-1'), ...page(BY_NAME_LIMIT)],
      answers: {
        200: {
          about: 'A page, with the address of each message.',
          schema: object({
            traces: list(ref('NamedTrace')),
            total: count('Of all with the name.'),
            pagination,
          }),
          example: {
            traces: [
              {
                ...example,
                transaction_id: 'order-1',
                partition_id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
                queue_name: 'orders',
                partition_name: 'customer-1',
                message_payload: null,
              },
            ],
            total: 1,
            pagination: { limit: 100, offset: 0 },
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER],
    },
    'GET /api/v1/traces/{partitionId}/{transactionId}': {
      id: 'listTracesOfMessage',
      summary: 'Traces of a message, oldest first',
      parameters: [partitionIdInPath, transactionIdInPath],
      answers: {
        200: {
          about: 'All of them.',
          schema: object({ traces: list(ref('Trace')) }),
          example: { traces: [example] },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER],
    },
  },
};
