import { maxHeaderSize } from 'node:http';
import { MAX_ACK_ITEMS } from '../ack/ack.request.js';
import { settings } from '../base/config/settings.js';
import { MAX_JSON_DEPTH } from '../base/json/scanner.js';
import { NAME_BYTES_MAX } from '../base/names/names.js';
import { BODY_BYTES_MAX as EXTEND_BODY_BYTES_MAX, SECONDS_MAX } from '../lease/lease.request.js';
import { BATCH_MAX, PARTITIONS_MAX, TIMEOUT_MS_MAX } from '../pop/pop-query.dto.js';
import { MAX_HEADERS_BYTES, MAX_TRANSACTION_ID_BYTES } from '../push/push-item.js';
import { MAX_PUSH_ITEMS } from '../push/push.request.js';
import { MAX_OPERATIONS } from '../transaction/transaction.request.js';

type Row = [what: string, limit: string, beyond: string];

const count = (value: number) => value.toLocaleString('en');
const bytes = (value: number) => `${count(value)} bytes`;

/** A limit that an operator sets: its name, and what it is without that. */
function setting(name: keyof typeof settings): string {
  const { default: usual, unit } = settings[name];
  return `\`${name}\`: ${count(usual as number)}${unit === '' ? '' : ` ${unit}`}`;
}

const REQUESTS: Row[] = [
  [
    'request line and headers together',
    bytes(maxHeaderSize),
    '431 `headers_too_large`, the connection is closed',
  ],
  ['path and query', 'with the headers', '431 `headers_too_large`'],
  [
    'body, as sent and as inflated',
    setting('QUEEN_MAX_BODY_BYTES'),
    '413 `body_too_large`, the connection is closed',
  ],
  ['content encodings', 'identity, gzip (once)', '415 `unsupported_encoding`'],
  [
    'body of a lease extension',
    bytes(EXTEND_BODY_BYTES_MAX),
    'taken as none: the lease is extended by the default',
  ],
  ['JSON nesting', `${count(MAX_JSON_DEPTH)} levels`, '400 `json_too_deep`'],
  ['items of a push', count(MAX_PUSH_ITEMS), '413 `body_too_large`'],
  ['acknowledgments of a batch', count(MAX_ACK_ITEMS), '413 `body_too_large`'],
  ['operations of a transaction', count(MAX_OPERATIONS), '413 `body_too_large`'],
];

const NAMES: Row[] = [
  [
    'queue, partition, group, namespace, task',
    bytes(NAME_BYTES_MAX),
    '400 `bad_name`; of one pushed item: `failed` in its place',
  ],
  ['transactionId', bytes(MAX_TRANSACTION_ID_BYTES), 'the item is `failed` in its place'],
  ['headers of a message', bytes(MAX_HEADERS_BYTES), 'the item is `failed` in its place'],
  [
    'offset of a message',
    count(Number.MAX_SAFE_INTEGER),
    '500 `offset_too_large`: go on in another partition',
  ],
];

const POPS: Row[] = [
  ['`batch`', count(BATCH_MAX), 'lowered; the answer says so in `Queen-Clamped`'],
  ['`partitions`', count(PARTITIONS_MAX), 'lowered likewise'],
  ['`timeout`', `${count(TIMEOUT_MS_MAX)} ms`, 'lowered likewise'],
  [
    '`leaseSeconds`, and the `seconds` of an extension',
    `${count(SECONDS_MAX)} s`,
    'lowered; an extension says until when it holds',
  ],
];

const CONNECTIONS: Row[] = [
  [
    'headers that do not end',
    setting('QUEEN_HEADERS_TIMEOUT_MS'),
    '408 `request_timeout`, the connection is closed',
  ],
  [
    'a request that does not end',
    setting('QUEEN_REQUEST_TIMEOUT_MS'),
    '408 `request_timeout`, the connection is closed',
  ],
  ['a connection between two requests', setting('QUEEN_KEEP_ALIVE_TIMEOUT_MS'), 'the connection is closed'],
  [
    'connections, and with them parked pops',
    'the file limit of the process (`ulimit -n`), less `DB_POOL_SIZE` and 64',
    'new ones are closed at once; those that are there go on, and the log has a line',
  ],
  ['memory of pushes without an answer', setting('QUEEN_PUSH_BUFFER_BYTES'), '503 `overloaded`'],
  ['requests that wait for a database connection', setting('DB_POOL_WAITERS_MAX'), '503 `overloaded`'],
];

/** docs/limits.md, from the constants and settings that hold the limits. */
export function limitsPage(): string {
  return [
    '# Limits',
    '',
    'What one request, one name and one connection may take, and what happens beyond. A name in capitals is a setting with its',
    'default; [configuration](configuration.md) has the bounds. [errors](errors.md) says what each code means.',
    '',
    ...section('Requests', REQUESTS),
    'Framing that two readers could take for two things is refused (400 `bad_body`) and ends the connection: a length beside',
    'chunks, two lengths, a line feed alone, a space before a colon, a header that is continued on the next line, no `Host`.',
    '',
    ...section('Names and messages', NAMES),
    ...section('Pops', POPS),
    ...section('Connections', CONNECTIONS),
    'A pop that waits has sent its whole request, so neither time counts for it. Each parked pop costs one file descriptor, some',
    '20 KiB, and no database connection. A client that closes its half of the connection is taken to have left: a pop that',
    'waits is given up, a push is stored and not answered. To start, Node itself needs some 500 files at once.',
    '',
    'This page is written by `npm run docs` from `src/docs/limits-page.ts`.',
    '',
  ].join('\n');
}

function section(title: string, rows: readonly Row[]): string[] {
  const lines = rows.map((row) => `| ${row.join(' | ')} |`);
  return [`## ${title}`, '', '| What | At most | Beyond |', '| --- | --- | --- |', ...lines, ''];
}
