import { NAME_BYTES_MAX } from '../base/names/names.js';
import type { IntegerRule } from '../http/list-query.js';
import type { Parameter } from './operation.js';
import { boolean, integer, oneOfTexts, text, uuid, type Schema } from './schema.js';

const NAME_RULE = `At most ${NAME_BYTES_MAX} bytes of UTF-8; not "." or "..", without U+0000. Percent-encode it as encodeURIComponent does.`;

export const nameSchema: Schema = text(NAME_RULE, { minLength: 1, maxLength: NAME_BYTES_MAX });
/** The empty partition is a partition like any other. */
export const partitionSchema: Schema = text(NAME_RULE, { maxLength: NAME_BYTES_MAX });

export const queueInPath = path('queue', 'The queue.', nameSchema, 'orders');
export const partitionInPath = path('partition', 'The partition.', partitionSchema, 'customer-1');
export const groupInPath = path('group', 'The consumer group.', nameSchema, 'billing');
export const partitionIdInPath = path(
  'partitionId',
  'Id of the partition, from a pop.',
  uuid(),
  '0198c3f2-6a41-7c11-9d2e-0b6a5f1d7e21',
);
export const transactionIdInPath = path(
  'transactionId',
  'The transactionId of the message.',
  text(),
  'order-1',
);

export function path(name: string, about: string, schema: Schema, example: string): Parameter {
  return { name, in: 'path', about, schema, example };
}

export function query(
  name: string,
  about: string,
  schema: Schema,
  example: string | number | boolean,
): Parameter {
  return { name, in: 'query', about, schema, example };
}

/** A number of an administrative route: outside its range it is clamped, and the answer shows what was used. */
export function clamped(name: string, about: string, rule: IntegerRule): Parameter {
  const schema = integer(undefined, { minimum: rule.min, maximum: rule.max, default: rule.default });
  return query(name, `${about} Outside its range it is clamped.`, schema, rule.default);
}

export function flag(name: string, about: string, whenAbsent: boolean): Parameter {
  return query(
    name,
    `${about} \`1\`, \`yes\`, \`0\` and \`no\` are read as well.`,
    boolean(undefined, { default: whenAbsent }),
    whenAbsent,
  );
}

export function choice(name: string, about: string, values: readonly string[], example: string): Parameter {
  return query(name, about, oneOfTexts(values), example);
}

/** A filter: absent or empty means any. */
export function filter(name: string, about: string, example: string): Parameter {
  return query(name, about, text(), example);
}

export function time(name: string, about: string): Parameter {
  return query(
    name,
    `${about} ISO 8601; without a zone it is UTC.`,
    text(undefined, { format: 'date-time' }),
    '2026-08-01T00:00:00Z',
  );
}

/** Filters by queue, namespace and task, as several routes have them. */
export const queueFilters: readonly Parameter[] = [
  filter('queue', 'Only this queue.', 'orders'),
  filter('namespace', 'Only queues of this namespace.', 'shop'),
  filter('task', 'Only queues of this task.', 'mail'),
];
