import { LIMIT, MESSAGE_STATUSES, OFFSET } from '../../messages/messages.request.js';
import { BAD_PARAMETER, DATABASE, NO_MESSAGE_THERE, REFUSED_PUSHES, REPLAY_REFUSALS } from '../errors.js';
import type { Area } from '../operation.js';
import {
  choice,
  clamped,
  filter,
  partitionIdInPath,
  queueFilters,
  time,
  transactionIdInPath,
} from '../parameters.js';
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
import { replayed, replayedExample } from './dead-letters.js';

const status = oneOfTexts(MESSAGE_STATUSES);
const headers = mapOf(text());
const address = [partitionIdInPath, transactionIdInPath];

const place = {
  partitionId: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
  queuePath: 'orders/customer-1',
  queue: 'orders',
  partition: 'customer-1',
  namespace: 'orders',
  task: '',
};

const content = {
  id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e20',
  transactionId: 'order-1',
  traceId: null,
  producerSub: null,
  createdAt: '2026-08-05T10:11:12.123Z',
  data: { total: 12.5 },
  payload: { total: 12.5 },
  payloadAvailable: true,
};

export const messagesArea: Area = {
  name: 'Messages',
  about: 'Look at messages; what was given up can be deleted or replayed.',
  schemas: {
    ListedMessage: object({
      id: nullable(uuid('Null when the payload cannot be read, as is the transactionId.')),
      transactionId: nullable(text()),
      txnHash: text('Of the transactionId.', { pattern: '^[0-9a-f]{32}$' }),
      partitionId: uuid(),
      queuePath: text(),
      queue: text(),
      partition: text(),
      namespace: nullable(text()),
      task: nullable(text()),
      status,
      queueStatus: status,
      busStatus: object({ consumedBy: count(), totalGroups: count() }),
      traceId: nullable(uuid()),
      producerSub: nullable(text()),
      queuePriority: integer(),
      payloadAvailable: boolean(),
      segment: object({ seq: count(), frameIdx: count() }),
      createdAt: instant(),
      leaseExpiresAt: nullable(instant()),
      'data?': anyJson('The payload.'),
      'payload?': anyJson('The same.'),
      'headers?': headers,
      'isEncrypted?': always(true),
    }),
    MessageDetail: object({
      id: nullable(uuid()),
      transactionId: text(),
      data: anyJson('The payload.'),
      payload: anyJson('The same.'),
      payloadAvailable: boolean(),
      traceId: nullable(uuid()),
      producerSub: nullable(text()),
      'headers?': headers,
      createdAt: nullable(instant()),
      partitionId: uuid(),
      partition: text(),
      isEncrypted: boolean(),
      queue: text(),
      queuePath: text(),
      namespace: nullable(text()),
      task: nullable(text()),
      status,
      errorMessage: nullable(text('Of its dead letter.')),
      retryCount: count(),
      leaseExpiresAt: nullable(instant()),
      queueConfig: object({
        leaseTime: integer(),
        retryLimit: integer(),
        retryDelay: integer(),
        ttl: integer(),
        priority: integer(),
      }),
      mode: object({
        hasQueueMode: boolean(),
        busGroupsCount: count(),
        type: oneOfTexts(['bus', 'queue']),
      }),
      consumerGroups: list(
        object({
          name: text(),
          group: text(),
          consumed: boolean(),
          leaseExpiresAt: nullable(instant()),
        }),
      ),
    }),
  },
  operations: {
    'GET /api/v1/messages': {
      id: 'listMessages',
      summary: 'Messages, newest first',
      about: 'Streamed, so large payloads do no harm. `status` is that of queue mode.',
      parameters: [
        ...queueFilters,
        filter('ns', 'Another name of `namespace`.', 'shop'),
        filter('partition', 'Only this partition.', 'customer-1'),
        choice('status', 'Only these.', MESSAGE_STATUSES, 'pending'),
        time('from', 'Stored at or after it; an hour ago when absent.'),
        time('to', 'Stored in or before its minute; now when absent.'),
        clamped('limit', 'Messages of the page.', LIMIT),
        clamped('offset', 'Messages to skip.', OFFSET),
      ],
      answers: {
        200: {
          about: 'A page.',
          schema: object({
            messages: list(ref('ListedMessage')),
            mode: object({
              hasQueueMode: boolean(),
              busGroupsCount: count(),
              type: oneOfTexts(['bus', 'queue', 'hybrid', 'none']),
            }),
            total: count('Length of the page.'),
          }),
          example: {
            messages: [
              {
                ...content,
                ...place,
                txnHash: '0123456789abcdef0123456789abcdef',
                status: 'pending',
                queueStatus: 'pending',
                busStatus: { consumedBy: 0, totalGroups: 1 },
                queuePriority: 0,
                segment: { seq: 0, frameIdx: 0 },
                leaseExpiresAt: null,
              },
            ],
            mode: { hasQueueMode: false, busGroupsCount: 1, type: 'bus' },
            total: 1,
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'offset_too_large'],
    },
    'GET /api/v1/messages/{partitionId}/{transactionId}': {
      id: 'getMessage',
      summary: 'One message',
      parameters: address,
      answers: {
        200: {
          about: 'From the log, or from its dead letter.',
          schema: ref('MessageDetail'),
          example: {
            ...content,
            ...place,
            isEncrypted: false,
            status: 'pending',
            errorMessage: null,
            retryCount: 0,
            leaseExpiresAt: null,
            queueConfig: { leaseTime: 300, retryLimit: 3, retryDelay: 0, ttl: 0, priority: 0 },
            mode: { hasQueueMode: false, busGroupsCount: 1, type: 'bus' },
            consumerGroups: [{ name: 'billing', group: 'billing', consumed: false, leaseExpiresAt: null }],
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, NO_MESSAGE_THERE, 'segment_damaged', 'offset_too_large'],
    },
    'DELETE /api/v1/messages/{partitionId}/{transactionId}': {
      id: 'deleteMessage',
      summary: 'Delete the dead letters of a message',
      about: 'Of all groups. Messages in the log cannot be deleted.',
      parameters: address,
      answers: {
        200: {
          about: 'Deleted.',
          schema: object({
            success: always(true),
            partitionId: uuid(),
            transactionId: text(),
            message: text(),
          }),
          example: {
            success: true,
            partitionId: place.partitionId,
            transactionId: 'order-1',
            message: 'Message deleted successfully',
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, NO_MESSAGE_THERE],
    },
    'POST /api/v1/messages/{partitionId}/{transactionId}/retry': {
      id: 'retryMessage',
      summary: 'Replay the newest dead letter of a message',
      about: 'To where it came from. Whatever its body says.',
      parameters: address,
      answers: { 200: { about: 'Moved.', schema: replayed, example: replayedExample } },
      errors: [
        ...DATABASE,
        BAD_PARAMETER,
        NO_MESSAGE_THERE,
        ...REPLAY_REFUSALS,
        ...REFUSED_PUSHES,
        { code: 'push_maintenance', keys: { success: always(false) } },
        'offset_too_large',
      ],
    },
  },
};
