import { LIMIT, OFFSET, POINTS_MAX } from '../../status/status.request.js';
import { BAD_PARAMETER, DATABASE } from '../errors.js';
import type { Area } from '../operation.js';
import { choice, clamped, queueFilters, queueInPath, time } from '../parameters.js';
import {
  always,
  boolean,
  count,
  instant,
  integer,
  list,
  nullable,
  number,
  object,
  oneOfTexts,
  ref,
  text,
  uuid,
} from '../schema.js';
import { partitionPage } from './resources.js';

const INTERVALS = ['minute', 'hour', 'day'];

const statsAge = integer('Seconds since the oldest count in the answer; -1 when nothing was counted yet.', {
  minimum: -1,
});

const counts = {
  total: 120,
  pending: 12,
  processing: 2,
  completed: 107,
  failed: null,
  deadLetter: 1,
  expired: 0,
};

const queue = { id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e2f', name: 'orders', namespace: 'orders', task: '' };

export const statusArea: Area = {
  name: 'Status',
  about: 'What the queues and the brokers did.',
  operations: {
    'GET /api/v1/status': {
      id: 'getStatus',
      summary: 'Queues and brokers over a range of time',
      about: 'Requests, workers and errors are those of all brokers and all queues.',
      parameters: [
        ...queueFilters,
        time('from', 'An hour before the end when absent.'),
        time('to', 'Now when absent.'),
      ],
      answers: {
        200: {
          about: 'Counts are as last counted.',
          schema: object({
            timeRange: object({ from: instant(), to: instant() }),
            bucketMinutes: count(),
            pointCount: count(),
            throughput: list(
              object({
                timestamp: instant(),
                ingested: count(),
                processed: count(),
                ingestedPerSecond: number(),
                processedPerSecond: number(),
              }),
            ),
            queues: list(
              object({
                id: uuid(),
                name: text(),
                namespace: text(),
                task: text(),
                partitions: count(),
                totalConsumed: count(),
              }),
            ),
            messages: object({
              total: count(),
              pending: count(),
              processing: count(),
              completed: count(),
              failed: count(),
              deadLetter: count(),
              expired: count(),
              requests: object({ push: count(), pop: count(), ack: count() }),
              batchEfficiency: object(
                { push: number(), pop: number(), ack: number() },
                'Messages a request.',
              ),
            }),
            leases: object({
              active: count(),
              partitionsWithLeases: count(),
              totalBatchSize: count(),
              totalAcked: always(0),
            }),
            deadLetterQueue: object({
              totalMessages: count(),
              currentMessages: count(),
              affectedPartitions: count(),
              topErrors: list(object({ error: text(), count: count() })),
            }),
            workers: list(
              object({
                broker: text(),
                lastSeen: instant(),
                pushMessages: count(),
                popMessages: count(),
                ackMessages: count(),
              }),
            ),
            errors: object({ dbErrors: count(), ackFailed: count(), dlqMessages: count() }),
            statsAge,
          }),
          example: {
            timeRange: { from: '2026-08-05T09:11:12.123Z', to: '2026-08-05T10:11:12.123Z' },
            bucketMinutes: 1,
            pointCount: 1,
            throughput: [
              {
                timestamp: '2026-08-05T10:11:00.000Z',
                ingested: 120,
                processed: 107,
                ingestedPerSecond: 2,
                processedPerSecond: 1.78,
              },
            ],
            queues: [{ ...queue, partitions: 3, totalConsumed: 107 }],
            messages: {
              ...counts,
              failed: 0,
              requests: { push: 40, pop: 60, ack: 50 },
              batchEfficiency: { push: 3, pop: 1.8, ack: 2.1 },
            },
            leases: { active: 1, partitionsWithLeases: 1, totalBatchSize: 2, totalAcked: 0 },
            deadLetterQueue: {
              totalMessages: 1,
              currentMessages: 1,
              affectedPartitions: 1,
              topErrors: [{ error: 'no such customer', count: 1 }],
            },
            workers: [
              {
                broker: 'broker-1',
                lastSeen: '2026-08-05T10:11:00.000Z',
                pushMessages: 120,
                popMessages: 109,
                ackMessages: 107,
              },
            ],
            errors: { dbErrors: 0, ackFailed: 0, dlqMessages: 1 },
            statsAge: 3,
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER],
    },
    'GET /api/v1/status/analytics': {
      id: 'getAnalytics',
      summary: 'Messages pushed over time',
      about: `A range may be ${POINTS_MAX} intervals long.`,
      parameters: [
        ...queueFilters,
        choice('interval', 'Length of a step; an hour when absent.', INTERVALS, 'hour'),
        time('from', 'A day before the end when absent.'),
        time('to', 'Now when absent.'),
      ],
      answers: {
        200: {
          about: 'Oldest first, without points at which nothing was counted.',
          schema: object({
            dataPoints: list(object({ timestamp: instant(), messages: count() })),
            interval: oneOfTexts(INTERVALS),
            from: instant(),
            to: instant(),
          }),
          example: {
            dataPoints: [{ timestamp: '2026-08-05T10:00:00.000Z', messages: 120 }],
            interval: 'hour',
            from: '2026-08-04T10:11:12.123Z',
            to: '2026-08-05T10:11:12.123Z',
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER],
    },
    'GET /api/v1/status/buffers': {
      id: 'getBuffers',
      summary: 'What waits on disk',
      answers: {
        200: {
          about: 'Of this broker.',
          schema: object({ pending: count(), failed: count(), dbHealthy: boolean(), worker: always(0) }),
          example: { pending: 0, failed: 0, dbHealthy: true, worker: 0 },
        },
      },
    },
    'GET /api/v1/status/queues': {
      id: 'listStatusQueues',
      summary: 'A page of queues with their counts',
      parameters: [
        ...queueFilters,
        clamped('limit', 'Queues of the page.', LIMIT),
        clamped('offset', 'Queues to skip.', OFFSET),
      ],
      answers: {
        200: {
          about: 'By name.',
          schema: object({
            queues: list(
              object({
                id: uuid(),
                name: text(),
                namespace: text(),
                task: text(),
                createdAt: instant(),
                partitions: count(),
                messages: object({
                  total: count(),
                  pending: count(),
                  processing: count(),
                  completed: count(),
                  deadLetter: count(),
                }),
              }),
            ),
            pagination: object({ limit: count(), offset: count() }),
          }),
          example: {
            queues: [
              {
                ...queue,
                createdAt: '2026-08-05T10:00:00.000Z',
                partitions: 3,
                messages: { total: 120, pending: 12, processing: 2, completed: 107, deadLetter: 1 },
              },
            ],
            pagination: { limit: 100, offset: 0 },
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER],
    },
    'GET /api/v1/status/queues/{queue}': {
      id: 'getStatusQueue',
      summary: 'One queue with its settings and partitions',
      parameters: [queueInPath, ...partitionPage],
      answers: {
        200: {
          about: 'The queue and a page of its partitions, by name.',
          schema: object({
            queue: object({
              id: uuid(),
              name: text(),
              namespace: text(),
              task: text(),
              priority: integer(),
              createdAt: instant(),
              paused: ref('Paused'),
              config: object({
                leaseTime: count(),
                retryLimit: count(),
                retryDelay: count(),
                ttl: count(),
                maxQueueSize: count(),
                maxDeliveries: count(),
                deadLetterQueue: boolean(),
              }),
            }),
            partitions: list(
              object({
                id: uuid(),
                name: text(),
                createdAt: instant(),
                messages: ref('Counts'),
                stats: ref('Counts'),
                cursor: object({ totalConsumed: count(), batchesConsumed: always(0) }),
                lastActivity: nullable(instant()),
                oldestMessage: nullable(instant()),
                newestMessage: nullable(instant()),
              }),
            ),
            totals: object({ messages: ref('Counts') }),
            live: boolean('Whether the totals were counted now.'),
            pagination: ref('PartitionPage'),
          }),
          example: {
            queue: {
              ...queue,
              priority: 0,
              createdAt: '2026-08-05T10:00:00.000Z',
              paused: { pops: false, pushes: false },
              config: {
                leaseTime: 300,
                retryLimit: 3,
                retryDelay: 0,
                ttl: 0,
                maxQueueSize: 0,
                maxDeliveries: 0,
                deadLetterQueue: true,
              },
            },
            partitions: [
              {
                id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
                name: 'customer-1',
                createdAt: '2026-08-05T10:00:00.000Z',
                messages: counts,
                stats: counts,
                cursor: { totalConsumed: 107, batchesConsumed: 0 },
                lastActivity: '2026-08-05T10:11:12.123Z',
                oldestMessage: '2026-08-05T10:00:00.000Z',
                newestMessage: '2026-08-05T10:11:12.123Z',
              },
            ],
            totals: { messages: counts },
            live: true,
            pagination: { limit: 1000, offset: 0, after: null, next: null },
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'bad_name', 'not_found'],
    },
    'POST /api/v1/stats/refresh': {
      id: 'refreshStats',
      summary: 'Count now',
      about: 'As far as a budget goes. Whatever its body says.',
      answers: {
        200: {
          about: 'What is counted.',
          schema: object({
            engine: always('segments'),
            queuesUpdated: count(),
            segPartitions: count(),
            namespaces: object({ count: count() }),
            tasks: object({ count: count() }),
            system: object({
              queues: count(),
              partitions: count(),
              messages: count(),
              pending: count(),
              processing: count(),
              deadLetters: count(),
              segments: count(),
              retainedBytes: count(),
            }),
            refreshedAt: instant(),
          }),
          example: {
            engine: 'segments',
            queuesUpdated: 1,
            segPartitions: 3,
            namespaces: { count: 1 },
            tasks: { count: 0 },
            system: {
              queues: 1,
              partitions: 3,
              messages: 120,
              pending: 12,
              processing: 2,
              deadLetters: 1,
              segments: 40,
              retainedBytes: 20_480,
            },
            refreshedAt: '2026-08-05T10:11:12.123Z',
          },
        },
      },
      errors: DATABASE,
    },
  },
};
