import { settings } from '../../base/config/settings.js';
import { NAME_BYTES_MAX, QUEUE_MODE_GROUP } from '../../base/names/names.js';
import { BATCH_DEFAULT, BATCH_MAX, PARTITIONS_MAX, TIMEOUT_MS_MAX } from '../../pop/pop-query.dto.js';
import { LEASE_SECONDS_MAX } from '../../pop/pop.request.js';
import { BAD_PARAMETER, DATABASE } from '../errors.js';
import type { Answer, Area, ErrorUse, OperationSpec, Parameter } from '../operation.js';
import { partitionInPath, query, queueInPath } from '../parameters.js';
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
  ref,
  text,
  uuid,
} from '../schema.js';

const LEASE = 'Of the lease, for the acks; empty when the messages were acked as they were handed out.';

const schemas = {
  Message: object({
    id: uuid('Given by the broker.'),
    transactionId: text("The producer's key of the message; unique in its partition."),
    traceId: nullable(uuid()),
    data: anyJson('The payload, byte for byte as it was pushed.'),
    producerSub: nullable(text('The `sub` of the token that pushed it.')),
    'headers?': mapOf(text(), 'As they were pushed; absent when there were none.'),
    createdAt: instant('When its segment was committed; microseconds.'),
    partitionId: uuid('For the ack.'),
    partition: text(),
    queue: text(),
    leaseId: text(LEASE),
    consumerGroup: text(),
    deliveryAttempt: integer('1 for the first delivery to this group.', { minimum: 0 }),
  }),
  Delivery: object({
    success: always(true),
    queue: text('Empty for a pop by namespace or task.'),
    partition: text('The first of those that were claimed.'),
    partitionId: uuid(),
    leaseId: text(LEASE),
    consumerGroup: text(`\`${QUEUE_MODE_GROUP}\` when the request named none.`),
    messages: list(ref('Message'), 'By partition, in the order of each partition.', { minItems: 1 }),
    partitionsClaimed: count(),
  }),
};

const message = {
  id: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e20',
  transactionId: 'order-1',
  traceId: null,
  data: { total: 12.5 },
  producerSub: null,
  createdAt: '2026-08-05T10:11:12.123456Z',
  partitionId: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
  partition: 'customer-1',
  queue: 'orders',
  leaseId: '0198c3f2-7000-7aaa-8bbb-0b6a5f1d7e22',
  consumerGroup: 'billing',
  deliveryAttempt: 1,
};

const headers = {
  'Queen-Clamped': text('Parameters that were above their maximum, as `name=value in force`.'),
};

const answers: Record<number, Answer> = {
  200: {
    about: 'Messages.',
    schema: ref('Delivery'),
    example: {
      success: true,
      queue: 'orders',
      partition: 'customer-1',
      partitionId: message.partitionId,
      leaseId: message.leaseId,
      consumerGroup: 'billing',
      messages: [message],
      partitionsClaimed: 1,
    },
    headers,
  },
  204: {
    about:
      'Nothing for this group now: nothing new, everything leased, the deadline of a long-poll, pops paused or in maintenance, or a broker that is about to stop.',
    headers,
  },
};

const parameters: Parameter[] = [
  query(
    'consumerGroup',
    'Whose cursor. Each group gets every message. Without one: queue mode, one cursor for all.',
    text(undefined, { maxLength: NAME_BYTES_MAX, default: '' }),
    'billing',
  ),
  query(
    'batch',
    'Most messages of the answer, over all partitions. Below 1 counts as 1; above the maximum is clamped.',
    integer(undefined, { minimum: 1, maximum: BATCH_MAX, default: BATCH_DEFAULT }),
    10,
  ),
  query(
    'partitions',
    'Most partitions of the answer. Below 1 means no limit of its own; above the maximum is clamped.',
    integer(undefined, { minimum: 1, maximum: PARTITIONS_MAX, default: 1 }),
    1,
  ),
  query(
    'autoAck',
    'At most once: the messages count as done the moment they are handed out.',
    boolean(undefined, { default: false }),
    false,
  ),
  query(
    'wait',
    'Long-poll: when there is nothing, wait for it until the deadline.',
    boolean(undefined, { default: false }),
    true,
  ),
  query(
    'timeout',
    'Deadline of a long-poll in milliseconds; 0 does not wait. Above the maximum is clamped.',
    integer(undefined, { minimum: 0, maximum: TIMEOUT_MS_MAX, default: settings.DEFAULT_TIMEOUT.default }),
    10_000,
  ),
  query(
    'leaseSeconds',
    "Length of the lease. Absent or below 1: the queue's. Above the maximum is clamped.",
    integer(undefined, { minimum: 1, maximum: LEASE_SECONDS_MAX }),
    60,
  ),
  query(
    'subscriptionMode',
    'Where a group begins in a partition it has never seen: `all` at the first message, `new` (also `new-only`) behind the last. Any other text means `all`. Never moves a cursor that is there.',
    text(undefined, { default: 'all', examples: ['all', 'new'] }),
    'all',
  ),
  query(
    'subscriptionFrom',
    '`now`, or an ISO 8601 time: where a new group begins. What cannot be read means `now`.',
    text(undefined, { default: '' }),
    'now',
  ),
];

const filters: Parameter[] = [
  query(
    'namespace',
    'Only queues of this namespace.',
    text(undefined, { maxLength: NAME_BYTES_MAX }),
    'shop',
  ),
  query('task', 'Only queues of this task.', text(undefined, { maxLength: NAME_BYTES_MAX }), 'mail'),
];

const errors: ErrorUse[] = [...DATABASE, BAD_PARAMETER, 'bad_name', 'segment_damaged', 'offset_too_large'];

const shared: Pick<OperationSpec, 'answers'> = { answers };

export const popArea: Area = {
  name: 'Pop',
  about:
    'Take messages. They are leased to one worker of the group until they are acked or the lease runs out.',
  schemas,
  operations: {
    'GET /api/v1/pop/queue/{queue}': {
      id: 'popQueue',
      summary: 'Take messages of a queue, from any of its partitions',
      about: 'A queue that does not exist comes into being.',
      parameters: [queueInPath, ...parameters],
      ...shared,
      errors,
    },
    'GET /api/v1/pop/queue/{queue}/partition/{partition}': {
      id: 'popPartition',
      summary: 'Take messages of one partition',
      about: '`partitions` has no effect here.',
      parameters: [queueInPath, partitionInPath, ...parameters],
      ...shared,
      errors,
    },
    'GET /api/v1/pop': {
      id: 'popDiscover',
      summary: 'Take messages of every queue with a namespace or a task',
      about: 'At least one of `namespace` and `task` is needed; given both, both must fit.',
      parameters: [...filters, ...parameters],
      ...shared,
      errors: [
        ...errors,
        {
          code: 'no_filter',
          keys: { success: always(false), messages: list(anyJson(), undefined, { maxItems: 0 }) },
        },
      ],
    },
  },
};
