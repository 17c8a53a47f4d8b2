import { LIMIT, MIN_LAG_SECONDS, OFFSET } from '../../groups/groups.controller.js';
import { BAD_PARAMETER, DATABASE } from '../errors.js';
import type { Answer, Area, Body, ErrorUse } from '../operation.js';
import { clamped, flag, groupInPath, partitionInPath, queueInPath } from '../parameters.js';
import {
  always,
  boolean,
  count,
  instant,
  integer,
  list,
  mapOf,
  nullable,
  number,
  object,
  oneOfTexts,
  ref,
  text,
  uuid,
  type Schema,
} from '../schema.js';

const deleteMetadata = flag('deleteMetadata', 'Also forget where the group subscribed.', true);

const deletedMembers: Record<string, Schema> = {
  success: always(true),
  consumerGroup: text(),
  deletedPartitions: count('Cursors that were removed.'),
  metadataDeleted: boolean(),
};

const deletedExample = {
  success: true,
  consumerGroup: 'billing',
  deletedPartitions: 3,
  metadataDeleted: true,
};

const dryRun = flag('dryRun', 'Only count; as `dryRun` in the body.', false);

function seekBody(required: boolean): Body {
  return {
    required,
    schema: object({
      'toEnd?': nullable(boolean('Behind the last message.')),
      'timestamp?': nullable(
        text('Just before the first message stored at or after it. ISO 8601.', { format: 'date-time' }),
      ),
      'dryRun?': nullable(boolean('Only count what would be skipped or replayed.')),
    }),
    example: { timestamp: '2026-08-05T10:00:00Z', dryRun: true },
  };
}

function seekAnswer(
  where: Record<string, Schema>,
  moved: Record<string, Schema>,
  names: object,
  done: object,
): Answer {
  return {
    about: 'Moved, or counted.',
    schema: object({
      success: always(true),
      consumerGroup: text(),
      queueName: text(),
      ...where,
      seekToEnd: boolean(),
      targetTimestamp: nullable(instant()),
      ...moved,
      'dryRun?': always(true),
      'partitions?': count('Of a dry run, as are the next two.'),
      'messagesSkipped?': count(),
      'messagesReplayed?': count(),
    }),
    example: {
      success: true,
      consumerGroup: 'billing',
      queueName: 'orders',
      ...names,
      seekToEnd: false,
      targetTimestamp: '2026-08-05T10:00:00.000Z',
      ...done,
      dryRun: true,
      partitions: 1,
      messagesSkipped: 0,
      messagesReplayed: 12,
    },
  };
}

function seekErrors(keys: Record<string, Schema>): ErrorUse[] {
  return [
    ...DATABASE,
    BAD_PARAMETER,
    'bad_name',
    'bad_body',
    'json_too_deep',
    'bad_timestamp',
    {
      code: 'not_found',
      keys: { 'success?': always(false), 'consumerGroup?': text(), 'queueName?': text(), ...keys },
    },
  ];
}

export const groupsArea: Area = {
  name: 'Consumer groups',
  about: 'Look at groups, forget them, move their cursors.',
  schemas: {
    Group: object({
      name: text(),
      topics: list(text()),
      queueName: text(),
      members: count('Cursors, not processes.'),
      partitionCursors: count(),
      partitionsWithLag: count(),
      totalLag: count('Messages.'),
      maxTimeLag: integer('Seconds.'),
      state: oneOfTexts(['Stable', 'Lagging', 'Dead']),
      storage: always('segments'),
      subscriptionMode: always(null),
      subscriptionTimestamp: always(null),
      subscriptionCreatedAt: always(null),
    }),
    LaggingPartition: object({
      consumer_group: text(),
      queue_name: text(),
      partition_name: text(),
      partition_id: uuid(),
      worker_id: nullable(text()),
      offset_lag: count('Messages.'),
      time_lag_seconds: count(),
      lag_hours: number(),
      oldest_unconsumed_at: nullable(instant()),
      last_consumed_at: always(null),
    }),
    GroupInQueue: object({
      partitions: list(
        object({
          partition: text(),
          workerId: nullable(text()),
          lastConsumedAt: always(null),
          totalConsumed: count(),
          offsetLag: count(),
          timeLagSeconds: nullable(integer()),
          leaseActive: boolean(),
        }),
      ),
      partitionsTotal: count(),
    }),
  },
  operations: {
    'GET /api/v1/consumer-groups': {
      id: 'listGroups',
      summary: 'Every group with every queue it reads',
      answers: {
        200: {
          about: 'By group, then by queue.',
          schema: list(ref('Group')),
          example: [
            {
              name: 'billing',
              topics: ['orders'],
              queueName: 'orders',
              members: 3,
              partitionCursors: 3,
              partitionsWithLag: 1,
              totalLag: 12,
              maxTimeLag: 4,
              state: 'Stable',
              storage: 'segments',
              subscriptionMode: null,
              subscriptionTimestamp: null,
              subscriptionCreatedAt: null,
            },
          ],
        },
      },
      errors: DATABASE,
    },
    'GET /api/v1/consumer-groups/lagging': {
      id: 'listLagging',
      summary: 'Partitions whose oldest unread message is older than a limit',
      parameters: [
        clamped('minLagSeconds', 'Older than so many seconds.', MIN_LAG_SECONDS),
        clamped('limit', 'Partitions of the page.', LIMIT),
        clamped('offset', 'Partitions to skip.', OFFSET),
      ],
      answers: {
        200: {
          about: 'The worst first.',
          schema: list(ref('LaggingPartition')),
          example: [
            {
              consumer_group: 'billing',
              queue_name: 'orders',
              partition_name: 'customer-1',
              partition_id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
              worker_id: null,
              offset_lag: 12,
              time_lag_seconds: 7200,
              lag_hours: 2,
              oldest_unconsumed_at: '2026-08-05T08:11:12.123Z',
              last_consumed_at: null,
            },
          ],
        },
      },
      errors: [...DATABASE, BAD_PARAMETER],
    },
    'GET /api/v1/consumer-groups/{group}': {
      id: 'getGroup',
      summary: 'One group, by queue',
      about: 'Of a group that does not exist: an empty object. A group called `lagging` cannot be looked at.',
      parameters: [
        groupInPath,
        clamped('limit', 'Partitions of each queue.', LIMIT),
        clamped('offset', 'Partitions to skip.', OFFSET),
      ],
      answers: {
        200: {
          about: 'Its queues, by name.',
          schema: mapOf(ref('GroupInQueue')),
          example: {
            orders: {
              partitions: [
                {
                  partition: 'customer-1',
                  workerId: null,
                  lastConsumedAt: null,
                  totalConsumed: 108,
                  offsetLag: 12,
                  timeLagSeconds: 4,
                  leaseActive: false,
                },
              ],
              partitionsTotal: 1,
            },
          },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'bad_name'],
    },
    'DELETE /api/v1/consumer-groups/{group}': {
      id: 'deleteGroup',
      summary: 'Forget a group',
      about: 'It starts over at its next pop. Deleting one that is not there is no error.',
      parameters: [groupInPath, deleteMetadata],
      answers: {
        200: { about: 'What was removed.', schema: object(deletedMembers), example: deletedExample },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'bad_name'],
    },
    'DELETE /api/v1/consumer-groups/{group}/queues/{queue}': {
      id: 'deleteGroupInQueue',
      summary: 'Forget a group in one queue',
      parameters: [groupInPath, queueInPath, deleteMetadata],
      answers: {
        200: {
          about: 'What was removed.',
          schema: object({ ...deletedMembers, queueName: text() }),
          example: { ...deletedExample, queueName: 'orders' },
        },
      },
      errors: [...DATABASE, BAD_PARAMETER, 'bad_name'],
    },
    'POST /api/v1/consumer-groups/{group}/subscription': {
      id: 'setSubscription',
      summary: 'Where a group begins in partitions it has not seen',
      about: 'Cursors that are there stay where they are.',
      parameters: [groupInPath],
      body: {
        required: true,
        schema: object({ subscriptionTimestamp: text('ISO 8601.', { format: 'date-time' }) }),
        example: { subscriptionTimestamp: '2026-08-05T10:00:00Z' },
      },
      answers: {
        200: {
          about: 'How many subscriptions were changed.',
          schema: object({
            success: always(true),
            consumerGroup: text(),
            newTimestamp: text('As it was sent.'),
            rowsUpdated: count(),
          }),
          example: {
            success: true,
            consumerGroup: 'billing',
            newTimestamp: '2026-08-05T10:00:00Z',
            rowsUpdated: 1,
          },
        },
      },
      errors: [...DATABASE, 'bad_name', 'bad_body', 'json_too_deep', 'bad_timestamp'],
    },
    'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek': {
      id: 'seekQueue',
      summary: "Move a group's cursors in a queue",
      about: 'Either `toEnd` or `timestamp`. Leases end, and delivery goes on from there at once.',
      parameters: [groupInPath, queueInPath, dryRun],
      body: seekBody(true),
      answers: { 200: seekAnswer({}, { partitionsUpdated: count() }, {}, { partitionsUpdated: 0 }) },
      errors: seekErrors({ 'partitionsUpdated?': count() }),
    },
    'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek': {
      id: 'seekPartition',
      summary: "Move a group's cursor in one partition",
      about: 'Neither `toEnd` nor `timestamp`, or no body: to the end.',
      parameters: [groupInPath, queueInPath, partitionInPath, dryRun],
      body: seekBody(false),
      answers: {
        200: seekAnswer(
          { partitionName: text() },
          { updated: boolean() },
          { partitionName: 'customer-1' },
          { updated: false },
        ),
      },
      errors: seekErrors({ 'partitionName?': text(), 'updated?': always(false) }),
    },
  },
};
