import { BrokerError } from '../base/errors/broker-error.js';
import { badBody, readJsonBody } from '../base/json/read-json-body.js';
import type { JsonCursor } from '../base/json/scanner.js';
import { textFlaw } from '../base/json/text-flaw.js';
import { QUEUE_MODE_GROUP } from '../base/names/names.js';
import { uuidParameter } from '../http/message-address.js';
import { ListQuery, type IntegerRule } from '../http/list-query.js';

export interface TraceRequest {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly group: string;
  readonly eventType: string;
  /** Raw JSON text. */
  readonly data: string;
  readonly names: readonly string[];
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** Of an event type, a group and a trace name, in UTF-8. */
export const TEXT_BYTES_MAX = 255;
export const NAMES_MAX = 100;
export const OFFSET = { default: 0, min: 0, max: 1_000_000 };

const REQUIRED = 'transactionId and partitionId are required';
const TEXT_KEYS = ['transactionId', 'partitionId', 'consumerGroup', 'eventType'] as const;
type TextKey = (typeof TEXT_KEYS)[number];

/**
 * `POST /api/v1/traces`. `data` is kept as it is spelled; null stands for "absent" wherever a text is optional, and one
 * name may come without its list. Throws BrokerError `bad_body`, `bad_parameter` for a partitionId that is no uuid.
 */
export function parseTraceBody(body: Buffer): TraceRequest {
  const { texts, data, names } = readJsonBody(body, readMembers);
  const transactionId = texts.get('transactionId');
  const partitionId = texts.get('partitionId');
  if (!transactionId || !partitionId) throw new BrokerError('bad_body', REQUIRED);
  if (data === null) throw new BrokerError('bad_body', 'data is required');
  for (const key of ['consumerGroup', 'eventType'] as const) requireShort(key, texts.get(key) ?? '');
  for (const name of names) requireShort('traceNames', name);
  return {
    transactionId,
    partitionId: uuidParameter('partitionId', partitionId),
    group: texts.get('consumerGroup') || QUEUE_MODE_GROUP,
    eventType: texts.get('eventType') || 'info',
    data,
    names: [...new Set(names)],
  };
}

export function limitRule(limitDefault: number): IntegerRule {
  return { default: limitDefault, min: 1, max: 1000 };
}

export function parsePage(url: string, limitDefault: number): Page {
  const query = new ListQuery(url);
  return {
    limit: query.integer('limit', limitRule(limitDefault)),
    offset: query.integer('offset', OFFSET),
  };
}

interface Members {
  texts: Map<TextKey, string>;
  data: string | null;
  names: string[];
}

function readMembers(cursor: JsonCursor): Members {
  if (cursor.type() !== 'object') throw badBody('expected an object');
  const texts = new Map<TextKey, string>();
  let data: string | null = null;
  let names: string[] = [];
  for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
    const key = cursor.text();
    if (isTextKey(key)) {
      const text = readText(cursor, key);
      if (text === null) texts.delete(key);
      else texts.set(key, text);
    } else if (key === 'data') {
      data = cursor.slice().toString();
    } else if (key === 'traceNames') {
      names = readNames(cursor);
    } else {
      cursor.skipValue();
    }
  }
  return { texts, data, names };
}

function isTextKey(key: string): key is TextKey {
  return (TEXT_KEYS as readonly string[]).includes(key);
}

function readNames(cursor: JsonCursor): string[] {
  const names: string[] = [];
  const add = () => {
    const name = readText(cursor, 'traceNames');
    if (name !== null && name !== '') names.push(name);
    if (names.length > NAMES_MAX) throw badBody(`traceNames must not hold more than ${NAMES_MAX} names`);
  };
  if (cursor.type() !== 'array') add();
  else for (let more = cursor.enterArray(); more; more = cursor.nextElement()) add();
  return names;
}

function readText(cursor: JsonCursor, name: string): string | null {
  const type = cursor.type();
  if (type === 'string') {
    cursor.readString();
    const text = cursor.text();
    const flaw = textFlaw(text);
    if (flaw) throw badBody(`${name} must not contain ${flaw}`);
    return text;
  }
  cursor.skipValue();
  if (type === 'null') return null;
  throw badBody(`${name} must be a string${name === 'traceNames' ? ', a list of strings' : ''} or null`);
}

function requireShort(name: string, text: string): void {
  if (Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    throw badBody(`${name} must not be longer than ${TEXT_BYTES_MAX} bytes`);
  }
}
