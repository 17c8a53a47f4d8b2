import { NAME_BYTES_MAX } from '../../base/names/names.js';
import { BAD_PARAMETER, DATABASE } from '../errors.js';
import type { Answer, Area, Body, ErrorUse } from '../operation.js';
import { queueInPath } from '../parameters.js';
import {
  always,
  boolean,
  integer,
  nullable,
  object,
  oneOfTexts,
  ref,
  text,
  uuid,
  type Schema,
} from '../schema.js';

const INT32_MIN = -2_147_483_648;
const INT32_MAX = 2_147_483_647;

function whole(about: string, byDefault: number, minimum = 0, maximum = INT32_MAX): Schema {
  return integer(about, { minimum, maximum, default: byDefault });
}

/** What a queue can be told, as configure_queue_v1 reads it; `default` is that of a new queue. */
const settings: Record<string, Schema> = {
  priority: whole('Among the queues of a discovery pop; higher first.', 0, INT32_MIN),
  leaseTime: whole('Seconds that messages are leased for.', 300, 1),
  retryLimit: whole('Failures after which a message becomes a dead letter.', 3),
  retryDelay: whole('Milliseconds that a refused batch rests; doubled with each failure.', 0),
  maxSize: whole('Most messages waiting; beyond, pushes are answered 429. 0: no limit.', 0),
  ttl: whole('Seconds after which a message is not delivered any more. 0: always.', 0),
  deadLetterQueue: boolean('Keep what is given up.', { default: true }),
  dlqAfterMaxRetries: boolean('As `deadLetterQueue`; either is enough.', { default: true }),
  delayedProcessing: whole('Seconds that messages stay hidden.', 0),
  windowBuffer: whole('Seconds that a partition must be quiet before it is delivered.', 0),
  retentionEnabled: boolean('Whether the three rules below act.', { default: false }),
  retentionSeconds: whole('Age at which messages are deleted, read or not. 0: never.', 0),
  completedRetentionSeconds: whole(
    'Age at which messages are deleted that every group has finished. 0: never.',
    0,
  ),
  maxWaitTimeSeconds: whole('Age at which messages are deleted that wait. 0: never.', 0),
  encryptionEnabled: boolean('Store payloads encrypted; needs QUEEN_ENCRYPTION_KEY.', { default: false }),
  minPopWaitTime: whole(
    'Milliseconds that a long-poll may hold an under-full batch. Outside, clamped.',
    0,
    0,
    60_000,
  ),
  dedupWindowSeconds: whole('How long a transactionId is remembered. 0: not at all.', 3600),
  maxDeliveries: whole('Lost leases after which a message is put aside. 0: no limit.', 0),
};

const optional = Object.fromEntries(
  Object.entries(settings).map(([name, schema]) => [`${name}?`, nullable(schema)]),
);

const name = nullable(text(undefined, { maxLength: NAME_BYTES_MAX }));

const deleted: Answer = {
  about: 'Also for a queue that was not there.',
  schema: object({ deleted: boolean(), queue: text(), existed: boolean(), 'message?': text() }),
  example: { deleted: true, queue: 'orders', existed: true },
};

const sides: Body = {
  required: false,
  schema: object({
    'pops?': nullable(boolean('A side that is left out is not meant; neither, or no body, means both.')),
    'pushes?': nullable(boolean()),
  }),
  example: { pops: true },
};

const paused: Answer = {
  about: 'As the queue now is.',
  schema: object({ queue: text(), paused: ref('Paused') }),
  example: { queue: 'orders', paused: { pops: true, pushes: false } },
};

const pauseErrors: ErrorUse[] = [
  ...DATABASE,
  'bad_name',
  'bad_body',
  'json_too_deep',
  BAD_PARAMETER,
  'not_found',
];

export const queuesArea: Area = {
  name: 'Queues',
  about: 'Create, change, pause and delete queues.',
  schemas: {
    QueueSettings: object(settings, 'All of them, as they are in force.'),
    QueueOptions: object(
      {
        ...optional,
        'mode?': nullable(
          oneOfTexts(['merge', 'replace'], '`replace` sets what is left out back to its default.'),
        ),
        'namespace?': name,
        'task?': name,
      },
      'What is left out, or null, keeps its value. Anything else than these is refused by name.',
    ),
    Paused: object({ pops: boolean(), pushes: boolean() }),
  },
  operations: {
    'POST /api/v1/configure': {
      id: 'configure',
      summary: 'Create a queue or change its options',
      about:
        'Without `options`, what stands beside `queue` are the options. A namespace that is never set is the text before the first dot of the name.',
      body: {
        required: true,
        schema: object({
          queue: text(undefined, { minLength: 1, maxLength: NAME_BYTES_MAX }),
          'namespace?': name,
          'task?': name,
          'options?': nullable(ref('QueueOptions')),
        }),
        example: { queue: 'orders', options: { leaseTime: 60, retryLimit: 5 } },
      },
      answers: {
        200: {
          about: 'What the queue now is.',
          schema: object({
            configured: always(true),
            queueId: uuid(),
            partitionId: always(null),
            queue: text(),
            namespace: text(),
            task: text(),
            storage: always('segments'),
            options: ref('QueueSettings'),
          }),
          example: {
            configured: true,
            queueId: '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e2f',
            partitionId: null,
            queue: 'orders',
            namespace: '',
            task: '',
            storage: 'segments',
            options: {
              ...Object.fromEntries(
                Object.entries(settings).map(([option, schema]) => [option, schema.default]),
              ),
              leaseTime: 60,
              retryLimit: 5,
            },
          },
        },
      },
      errors: [...DATABASE, 'queue_required', 'bad_name', 'bad_option', 'bad_body', 'json_too_deep'],
    },
    'DELETE /api/v1/resources/queues/{queue}': {
      id: 'deleteQueue',
      summary: 'Delete a queue and everything in it',
      about: 'Messages, cursors, dead letters and subscriptions; traces stay.',
      parameters: [queueInPath],
      answers: { 200: deleted },
      errors: [...DATABASE, 'bad_name'],
    },
    'POST /api/v1/resources/queues/{queue}/pause': {
      id: 'pauseQueue',
      summary: 'Stop the pops of a queue, its pushes, or both',
      about: 'On every broker, across restarts. Paused pops are empty or stay parked, paused pushes are 429.',
      parameters: [queueInPath],
      body: sides,
      answers: { 200: paused },
      errors: pauseErrors,
    },
    'POST /api/v1/resources/queues/{queue}/resume': {
      id: 'resumeQueue',
      summary: 'Let them go on',
      parameters: [queueInPath],
      body: sides,
      answers: { 200: { ...paused, example: { queue: 'orders', paused: { pops: false, pushes: false } } } },
      errors: pauseErrors,
    },
  },
};
