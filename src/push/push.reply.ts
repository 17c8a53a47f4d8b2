import { writeUuidText } from '../segment/uuid-v7.js';
import type { PushResult } from './push-message.js';
import { TurnBudget } from './turn-budget.js';

const SLICE_RESULTS = 1_000;

const EMPTY_LIST = Buffer.from('[]');
const INDEX = Buffer.from('{"index":');
const MESSAGE_ID = Buffer.from(',"message_id":"');
const TRANSACTION_ID = Buffer.from('","transaction_id":"');
const QUEUE_NAME = Buffer.from('","queueName":');
const QUEUED = Buffer.from(',"status":"queued"}');
const DUPLICATE = Buffer.from(',"status":"duplicate"}');
const BUFFERED = Buffer.from(',"status":"buffered"}');

const INDEX_DIGITS_MAX = 10;
const UUID_TEXT_BYTES = 36;
/** All of a result but its texts, and a bracket or comma on either side. */
const FIXED_BYTES =
  INDEX.length +
  INDEX_DIGITS_MAX +
  MESSAGE_ID.length +
  UUID_TEXT_BYTES +
  TRANSACTION_ID.length +
  QUEUE_NAME.length +
  2;

const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/**
 * The reply as bytes (http-api 3.1): `[{index, message_id, transaction_id, queueName, status}, …]`, with `error` and
 * `code` on failed items. In slices, since a reply may have a quarter of a million results; and as bytes, since
 * strings put together and encoded cost several times as much and every push pays for it.
 */
export async function renderPushResults(results: readonly PushResult[]): Promise<Buffer> {
  if (results.length === 0) return EMPTY_LIST;
  const slices: Buffer[] = [];
  const turn = new TurnBudget();
  for (let start = 0; start < results.length; start += SLICE_RESULTS) {
    const end = Math.min(results.length, start + SLICE_RESULTS);
    slices.push(renderSlice(results, start, end));
    const pause = turn.spend(end - start);
    if (pause) await pause;
  }
  return slices.length === 1 ? slices[0] : Buffer.concat(slices);
}

/** Results [start, end); the first and the last slice bring the brackets. */
function renderSlice(results: readonly PushResult[], start: number, end: number): Buffer {
  const transactionIds: Buffer[] = [];
  const queueNames: Buffer[] = [];
  const tails: Buffer[] = [];
  let name: string | null = null;
  let queueName = EMPTY_LIST;
  let bytes = 0;
  for (let i = start; i < end; i++) {
    const result = results[i];
    if (result.queue !== name) queueName = Buffer.from(JSON.stringify((name = result.queue)));
    const transactionId = insideQuotes(result.transactionId);
    const tail = tailOf(result);
    transactionIds.push(transactionId);
    queueNames.push(queueName);
    tails.push(tail);
    bytes += FIXED_BYTES + transactionId.length + queueName.length + tail.length;
  }

  const out = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (let i = start, k = 0; i < end; i++, k++) {
    out[at++] = i === 0 ? OPENING_BRACKET : COMMA;
    at += INDEX.copy(out, at);
    at += out.write(String(i), at, 'latin1');
    at += MESSAGE_ID.copy(out, at);
    at = writeUuidText(out, at, results[i].resultId);
    at += TRANSACTION_ID.copy(out, at);
    at += transactionIds[k].copy(out, at);
    at += QUEUE_NAME.copy(out, at);
    at += queueNames[k].copy(out, at);
    at += tails[k].copy(out, at);
  }
  if (end === results.length) out[at++] = CLOSING_BRACKET;
  return out.subarray(0, at);
}

/** The text as it stands between the quotes of a JSON string. Most ids need no escape and are passed on as they are. */
function insideQuotes(text: Buffer | string): Buffer {
  if (typeof text !== 'string') {
    if (isPlain(text)) return text;
    text = text.toString('utf8');
  }
  return Buffer.from(JSON.stringify(text).slice(1, -1));
}

function isPlain(text: Buffer): boolean {
  for (const byte of text) if (byte < SPACE || byte === QUOTE || byte === BACKSLASH) return false;
  return true;
}

function tailOf({ status, failure }: PushResult): Buffer {
  if (status === 'queued') return QUEUED;
  if (status === 'duplicate') return DUPLICATE;
  if (status === 'buffered') return BUFFERED;
  const { message, code } = failure ?? { message: 'no verdict', code: 'internal' };
  return Buffer.from(`,"status":"failed","error":${JSON.stringify(message)},"code":${JSON.stringify(code)}}`);
}
