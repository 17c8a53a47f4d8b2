import { RepeatedText } from '../base/json/repeated-text.js';
import type { JsonCursor } from '../base/json/scanner.js';
import { textFlaw } from '../base/json/text-flaw.js';
import type { ErrorCode } from '../base/errors/error-table.js';
import { nameProblem } from '../base/names/names.js';
import { parseUuid } from '../segment/uuid-v7.js';

/** One message as it came in the body of a push. */
export interface PushItem {
  queue: string;
  partition: string;
  /** Null: the broker uses the message id. The empty string is a key like any other. */
  transactionId: string | null;
  /** 16 bytes. */
  traceId: Buffer | null;
  /** Raw text of an object of strings, a slice of the body. */
  headers: Buffer | null;
  /** Raw JSON text, a slice of the body. */
  payload: Buffer;
  /** Why this item cannot be stored; it gets a `failed` result while the others are stored. */
  problem: ItemProblem | null;
}

export interface ItemProblem {
  code: ErrorCode;
  /** Names the field and the rule. */
  error: string;
}

export const DEFAULT_PARTITION = 'Default';
/** What the length field of a frame can say. */
export const MAX_TRANSACTION_ID_BYTES = 65_535;
export const MAX_HEADERS_BYTES = 16 * 1024;

const QUEUE = Buffer.from('queue');
const PARTITION = Buffer.from('partition');
const PAYLOAD = Buffer.from('payload');
const DATA = Buffer.from('data');
const TRANSACTION_ID = Buffer.from('transactionId');
const TRACE_ID = Buffer.from('traceId');
const HEADERS = Buffer.from('headers');

const EMPTY_OBJECT = Buffer.from('{}');

/** What one occurrence of a string field says: its text, null for JSON null, undefined for another type. */
type Field = { text: string | null | undefined; problem: ItemProblem | null };

const ABSENT: Field = { text: null, problem: null };
const WRONG_TYPE: Field = { text: undefined, problem: null };

/**
 * Reads the items of one body, one after the other. Two kinds of fault are kept apart: an item of the wrong *shape*
 * (reported as text, refuses the request) and one that is well-formed but cannot be *stored* (`problem`, fails alone).
 *
 * Keys are recognised however they are escaped, and a repeated key replaces what came before with all its faults, as
 * with JSON.parse. No object is built from the client's keys, so `__proto__` is just another ignored one.
 */
export class PushItemReader {
  private readonly queues = new NameReader('queue');
  private readonly partitions = new NameReader('partition');

  /** @param payloadIsOptional `data` stands in for a missing payload, and `{}` for both (http-api 3.5) */
  constructor(
    private readonly cursor: JsonCursor,
    private readonly payloadIsOptional = false,
  ) {}

  /** The item at the cursor, or what is wrong with its shape. */
  read(): PushItem | string {
    const { cursor } = this;
    if (cursor.type() !== 'object') {
      cursor.skipValue();
      return 'must be an object';
    }

    let queue: Field | null = null;
    let partition = ABSENT;
    let transactionId = ABSENT;
    let headers: Headers = NO_HEADERS;
    let traceId: Buffer | null = null;
    let payload: Buffer | null = null;
    let data: Buffer | null = null;

    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      if (cursor.tokenIs(PAYLOAD)) payload = cursor.slice();
      else if (cursor.tokenIs(QUEUE)) queue = this.queues.read(cursor);
      else if (cursor.tokenIs(PARTITION)) partition = this.partitions.read(cursor);
      else if (cursor.tokenIs(TRANSACTION_ID)) transactionId = readTransactionId(cursor);
      else if (cursor.tokenIs(TRACE_ID)) traceId = readTraceId(cursor);
      else if (cursor.tokenIs(HEADERS)) headers = readHeaders(cursor);
      else if (this.payloadIsOptional && cursor.tokenIs(DATA)) data = cursor.slice();
      else cursor.skipValue();
    }
    if (this.payloadIsOptional) payload ??= data ?? EMPTY_OBJECT;

    // One comparison each on the common path; the sentence is put together only for a bad item.
    if (
      typeof queue?.text !== 'string' ||
      partition.text === undefined ||
      transactionId.text === undefined ||
      !payload
    ) {
      return shapeFaults(queue, partition, transactionId, payload);
    }
    return {
      queue: queue.text,
      partition: partition.text ?? DEFAULT_PARTITION,
      transactionId: transactionId.text,
      traceId,
      headers: headers.raw,
      payload,
      problem: queue.problem ?? partition.problem ?? transactionId.problem ?? headers.problem,
    };
  }
}

/** Judges a name once for all the items in a row that carry it. */
class NameReader {
  private readonly texts = new RepeatedText();
  private last: Field = ABSENT;

  constructor(private readonly kind: 'queue' | 'partition') {}

  read(cursor: JsonCursor): Field {
    if (cursor.type() !== 'string') return readNullOrOther(cursor);
    cursor.readString();
    const text = this.texts.of(cursor);
    if (text !== this.last.text) {
      const error = nameProblem(this.kind, text);
      this.last = { text, problem: error === null ? null : { code: 'bad_name', error } };
    }
    return this.last;
  }
}

function readTransactionId(cursor: JsonCursor): Field {
  if (cursor.type() !== 'string') return readNullOrOther(cursor);
  cursor.readString();
  const text = cursor.text();
  return { text, problem: transactionIdProblem(text, cursor) };
}

/** `text` is the cursor's token. Without an escape its bytes are counted already, and it has no flaw. */
function transactionIdProblem(text: string, token: JsonCursor): ItemProblem | null {
  const isLong = token.tokenEnd - token.tokenStart > MAX_TRANSACTION_ID_BYTES;
  if (isLong && Buffer.byteLength(text) > MAX_TRANSACTION_ID_BYTES) {
    return badField('transactionId', `must not be longer than ${MAX_TRANSACTION_ID_BYTES} bytes`);
  }
  const flaw = token.tokenEscaped ? textFlaw(text) : null;
  return flaw ? badField('transactionId', `must not contain ${flaw}`) : null;
}

function readNullOrOther(cursor: JsonCursor): Field {
  const field = cursor.type() === 'null' ? ABSENT : WRONG_TYPE;
  cursor.skipValue();
  return field;
}

/** A trace id is a convenience: what is not a uuid is ignored like an unknown key. */
function readTraceId(cursor: JsonCursor): Buffer | null {
  if (cursor.type() !== 'string') {
    cursor.skipValue();
    return null;
  }
  cursor.readString();
  return parseUuid(cursor.text());
}

type Headers = { raw: Buffer | null; problem: ItemProblem | null };

const NO_HEADERS: Headers = { raw: null, problem: null };

function readHeaders(cursor: JsonCursor): Headers {
  const type = cursor.type();
  const start = cursor.at;
  const raw = cursor.slice();
  if (type === 'null') return NO_HEADERS;
  if (type !== 'object') return badHeaders('must be an object of strings');
  if (raw.length > MAX_HEADERS_BYTES) return badHeaders(`must not be longer than ${MAX_HEADERS_BYTES} bytes`);

  // A second look at these few bytes, now that they are known to be JSON.
  const next = cursor.at;
  cursor.at = start;
  let isFlat = true;
  for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
    if (cursor.type() !== 'string') isFlat = false;
    cursor.skipValue();
  }
  cursor.at = next;
  return isFlat ? { raw, problem: null } : badHeaders('must be an object of strings');
}

function badHeaders(rule: string): Headers {
  return { raw: null, problem: badField('headers', rule) };
}

function shapeFaults(
  queue: Field | null,
  partition: Field,
  transactionId: Field,
  payload: Buffer | null,
): string {
  const faults: string[] = [];
  if (!queue) faults.push('queue is required');
  else if (typeof queue.text !== 'string') faults.push('queue must be a string');
  if (!payload) faults.push('payload is required');
  if (partition.text === undefined) faults.push('partition must be a string or null');
  if (transactionId.text === undefined) faults.push('transactionId must be a string or null');
  return faults.join('; ');
}

function badField(name: string, rule: string): ItemProblem {
  return { code: 'bad_body', error: `${name} ${rule}` };
}
