import type { Access } from '../auth/access.js';
import { errorTable, type ErrorCode } from '../base/errors/error-table.js';
import type { ErrorUse, Method } from './operation.js';
import { always, count, integer, list, nullable, object, text, uuid, type Schema } from './schema.js';

/** Every route that asks PostgreSQL something. */
export const DATABASE: readonly ErrorCode[] = [
  'pool',
  'sql_failed',
  'statement_timeout',
  'database_unavailable',
  'overloaded',
];

/** A request that is not well-formed HTTP, or comes too slowly, before a route is even looked for. */
const EVERYWHERE: readonly ErrorUse[] = [
  'request_timeout',
  'headers_too_large',
  { code: 'internal', keys: { 'requestId?': text('Stands in the log beside the cause.') } },
];
/** The router's refusals of a path with parameters: a broken escape, a parameter of more than a thousand characters. */
const OF_PATH_PARAMETERS: readonly ErrorCode[] = ['bad_path', 'bad_name'];
/** A body is read, and inflated, before a handler sees the request. */
const OF_BODIES: readonly ErrorCode[] = ['bad_body', 'body_too_large', 'unsupported_encoding'];
const OF_TENANTS: readonly ErrorCode[] = ['bad_tenant'];
/** With JWT_ENABLED, of routes that are not public. */
const OF_TOKENS: readonly ErrorCode[] = [
  'authentication_required',
  'invalid_token',
  'token_expired',
  'insufficient_permissions',
  'keys_unavailable',
];

/** What any route of this kind can answer. While a broker starts, probes have answers of their own. */
export function commonErrors(method: Method, path: string, access: Access): ErrorUse[] {
  return [
    ...EVERYWHERE,
    ...(path.includes('{') ? OF_PATH_PARAMETERS : []),
    ...(method === 'POST' || method === 'DELETE' ? OF_BODIES : []),
    ...(path.startsWith('/api/') ? OF_TENANTS : []),
    ...(access === 'public' ? [] : OF_TOKENS),
    ...(path.startsWith('/health') ? [] : (['starting'] as const)),
  ];
}

/** `parameters` names what was wrong with a query. */
export const BAD_PARAMETER: ErrorUse = {
  code: 'bad_parameter',
  keys: { 'parameters?': list(text(), 'The parameters at fault.') },
};

/** `items` lists what was wrong with the shape of each item of a push. */
export const BAD_ITEMS: ErrorUse = {
  code: 'bad_body',
  keys: { 'items?': list(object({ index: integer(), error: text() })) },
};

export const NO_MESSAGE_THERE: ErrorUse = {
  code: 'message_not_found',
  keys: {
    'success?': always(false),
    'partitionId?': uuid(),
    'transactionId?': text(),
    'message?': text(),
  },
};

/** A queue that takes no pushes now; nothing of the request was stored. */
export const REFUSED_PUSHES: readonly ErrorUse[] = [
  { code: 'queue_paused', keys: { 'queue?': text() } },
  { code: 'too_many_messages', keys: { 'queue?': text(), 'messages?': count(), 'maxSize?': count() } },
];

/** Why a replay did not take place; the dead letter is still there. */
export const REPLAY_REFUSALS: readonly ErrorUse[] = (['replay_duplicate', 'dead_letter_empty'] as const).map(
  (code) => ({
    code,
    keys: {
      success: always(false),
      dlqRowRemoved: always(false),
      pushResult: nullable(object({ status: text() })),
    },
  }),
);

/** The body of all failures of one status: one code of a few, and the keys that come with them. */
export function errorSchema(uses: readonly ErrorUse[]): Schema {
  const codes = [...new Set(uses.map(codeOf))].sort();
  const keys = Object.assign({}, ...uses.map(keysOf)) as Record<string, Schema>;
  return object({
    error: text('What happened, for people.'),
    code: { type: 'string', enum: codes },
    ...withQuestionMarks(keys),
  });
}

/** Every code with its meaning, as a list. */
export function errorText(uses: readonly ErrorUse[]): string {
  return [...new Set(uses.map(codeOf))]
    .sort()
    .map((code) => `- \`${code}\`: ${errorTable[code].meaning}`)
    .join('\n');
}

export function codeOf(use: ErrorUse): ErrorCode {
  return typeof use === 'string' ? use : use.code;
}

function keysOf(use: ErrorUse): Readonly<Record<string, Schema>> {
  return typeof use === 'string' ? {} : use.keys;
}

/** Which of the codes it is decides which of the keys are there. */
function withQuestionMarks(keys: Readonly<Record<string, Schema>>): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(keys).map(([name, schema]) => [name.endsWith('?') ? name : `${name}?`, schema]),
  );
}
