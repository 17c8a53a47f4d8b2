import { LIMIT as PARTITIONS_LIMIT, OFFSET as PARTITIONS_OFFSET } from '../../http/partition-page.js';
import { LIMIT as DEPTH_LIMIT } from '../../resources/resources.controller.js';
import { BAD_PARAMETER, DATABASE } from '../errors.js';
import type { Area, Parameter } from '../operation.js';
import { clamped, filter, query, queueInPath } from '../parameters.js';
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
  ref,
  text,
  uuid,
} from '../schema.js';

/** A queue's partitions, page by page. */
export const partitionPage: readonly Parameter[] = [
  clamped('limit', 'Partitions of the page.', PARTITIONS_LIMIT),
  clamped('offset', 'Partitions to skip.', PARTITIONS_OFFSET),
  query(
    'after',
    'The page begins behind this name: `pagination.next` of the page before.',
    text(),
    'customer-1',
  ),
];

const someCounts = { total: count(), pending: count() };
const spread = object({ avg: number(), median: number(), min: number(), max: number() });
const segments = object({ segments: count(), messages: count() });

const counts = {
  total: 120,
  pending: 12,
  processing: 2,
  completed: 107,
  failed: null,
  deadLetter: 1,
  expired: 0,
};

const queue = {
  id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e2f',
  name: 'orders',
  namespace: 'orders',
  task: '',
  createdAt: '2026-08-05T10:00:00.000Z',
};

export const resourcesArea: Area = {
  name: 'Resources',
  about: 'What there is. Counts of large queues are as last counted.',
  schemas: {
    Counts: object(
      {
        total: count('Retained.'),
        pending: count('Not finished by the slowest group.'),
        processing: count('Leased.'),
        completed: count('Retained, and neither pending nor put aside.'),
        failed: always(null),
        deadLetter: count(),
        expired: count('Stepped over for their age; all groups together.'),
      },
      'Messages.',
    ),
    TotalCounts: object({
      total: count(),
      pending: count(),
      processing: count(),
      completed: count(),
      failed: count(),
      deadLetter: count(),
      expired: count(),
    }),
    PartitionPage: object({
      limit: count(),
      offset: count(),
      after: nullable(text()),
      next: nullable(text('What to give as `after` for the next page; null on the last.')),
    }),
    ListedPartition: object({
      id: uuid(),
      name: text(),
      createdAt: instant(),
      stats: ref('Counts'),
      oldestMessage: nullable(instant()),
      newestMessage: nullable(instant()),
    }),
    ListedQueue: object({
      id: uuid(),
      name: text(),
      namespace: text(),
      task: text(),
      createdAt: instant(),
      partitions: count(),
      retainedBytes: count('As last weighed.'),
      messages: object({ ...someCounts, processing: count() }),
      'segments?': segments,
      paused: ref('Paused'),
    }),
  },
  operations: {
    'GET /api/v1/resources/queues': {
      id: 'listQueues',
      summary: 'All queues, newest first',
      answers: {
        200: {
          about: 'Queues. `pending` leaves out what is being processed.',
          schema: object({ queues: list(ref('ListedQueue')) }),
          example: {
            queues: [
              {
                ...queue,
                partitions: 3,
                retainedBytes: 20_480,
                messages: { total: 120, pending: 10, processing: 2 },
                segments: { segments: 40, messages: 120 },
                paused: { pops: false, pushes: false },
              },
            ],
          },
        },
      },
      errors: DATABASE,
    },
    'GET /api/v1/resources/queues/{queue}': {
      id: 'getQueue',
      summary: 'One queue with its partitions',
      parameters: [queueInPath, ...partitionPage],
      answers: {
        200: {
          about: 'The queue and a page of its partitions, by name.',
          schema: object({
            id: uuid(),
            name: text(),
            namespace: text(),
            task: text(),
            createdAt: instant(),
            paused: ref('Paused'),
            partitions: list(ref('ListedPartition')),
            totals: ref('Counts'),
            live: boolean('Whether the totals were counted now.'),
            retainedBytes: count(),
            segments,
            pagination: ref('PartitionPage'),
          }),
          example: {
            ...queue,
            paused: { pops: false, pushes: false },
            partitions: [
              {
                id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
                name: 'customer-1',
                createdAt: '2026-08-05T10:00:00.000Z',
                stats: counts,
                oldestMessage: '2026-08-05T10:00:00.000Z',
                newestMessage: '2026-08-05T10:11:12.123Z',
              },
            ],
            totals: counts,
            live: true,
            retainedBytes: 20_480,
            segments: { segments: 40, messages: 120 },
            pagination: { limit: 1000, offset: 0, after: null, next: null },
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'bad_name', 'not_found'],
    },
    'GET /api/v1/resources/queues/{queue}/depth': {
      id: 'getQueueDepth',
      summary: 'What a group still has before it',
      about: 'Looks at each partition of the queue.',
      parameters: [
        queueInPath,
        filter('group', 'Absent: of each partition the slowest group counts.', 'billing'),
        clamped('limit', 'Partitions of the answer, the fullest first.', DEPTH_LIMIT),
      ],
      answers: {
        200: {
          about: 'Sums over all partitions; those with something pending.',
          schema: object({
            queue: text(),
            group: nullable(text()),
            pending: count(),
            partitionsPending: count(),
            partitions: list(object({ partition: text(), pending: count() })),
          }),
          example: {
            queue: 'orders',
            group: 'billing',
            pending: 12,
            partitionsPending: 1,
            partitions: [{ partition: 'customer-1', pending: 12 }],
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'bad_name', 'not_found'],
    },
    'GET /api/v1/resources/overview': {
      id: 'getOverview',
      summary: 'Everything at a glance',
      answers: {
        200: {
          about:
            'Lag over the queues with something pending: seconds, and messages. Throughput of the last five minutes.',
          schema: object({
            queues: count(),
            partitions: count(),
            namespaces: count(),
            tasks: count(),
            messages: ref('TotalCounts'),
            lag: object({ time: spread, offset: spread }),
            throughput: object({ ingestedPerSecond: number(), processedPerSecond: number() }),
            timestamp: instant(),
            statsAge: integer(
              'Seconds since the oldest count in the answer; -1 when nothing was counted yet.',
              {
                minimum: -1,
              },
            ),
          }),
          example: {
            queues: 1,
            partitions: 3,
            namespaces: 1,
            tasks: 0,
            messages: { ...counts, failed: 0 },
            lag: {
              time: { avg: 1.5, median: 1.5, min: 1.5, max: 1.5 },
              offset: { avg: 12, median: 12, min: 12, max: 12 },
            },
            throughput: { ingestedPerSecond: 10.5, processedPerSecond: 10.2 },
            timestamp: '2026-08-05T10:11:12.123Z',
            statsAge: 3,
          },
        },
      },
      errors: DATABASE,
    },
    'GET /api/v1/resources/namespaces': {
      id: 'listNamespaces',
      summary: 'Namespaces, by name',
      answers: {
        200: {
          about: 'Queues without one are left out.',
          schema: object({
            namespaces: list(
              object({
                namespace: text(),
                queues: count(),
                partitions: count(),
                messages: object(someCounts),
              }),
            ),
          }),
          example: {
            namespaces: [
              { namespace: 'orders', queues: 1, partitions: 3, messages: { total: 120, pending: 12 } },
            ],
          },
        },
      },
      errors: DATABASE,
    },
    'GET /api/v1/resources/tasks': {
      id: 'listTasks',
      summary: 'Tasks, by name',
      answers: {
        200: {
          about: 'Queues without one are left out.',
          schema: object({
            tasks: list(
              object({ task: text(), queues: count(), partitions: count(), messages: object(someCounts) }),
            ),
          }),
          example: {
            tasks: [{ task: 'mail', queues: 1, partitions: 3, messages: { total: 120, pending: 12 } }],
          },
        },
      },
      errors: DATABASE,
    },
  },
};
