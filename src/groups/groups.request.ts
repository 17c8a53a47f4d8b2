import { BrokerError } from '../base/errors/broker-error.js';
import { badBody, readJsonBody } from '../base/json/read-json-body.js';
import { isoMicros } from '../base/time/iso-micros.js';
import { parseInstant } from '../base/time/parse-instant.js';

/** Where a seek goes: to the end, or just before the first message stored at or after a time. */
export interface SeekRequest {
  readonly toEnd: boolean;
  /** ISO 8601 with microseconds, UTC; null with toEnd. */
  readonly timestamp: string | null;
  /** Only count what would be skipped or replayed. */
  readonly dryRun: boolean;
}

/**
 * `{"toEnd":true}` or `{"timestamp":iso}`, with `"dryRun":true` if nothing shall be moved. `ofPartition`: a body that says
 * nothing about where means the end, as clients send it.
 * Throws BrokerError `bad_body`, `bad_timestamp`, `json_too_deep`.
 */
export function parseSeekBody(body: Buffer, ofPartition: boolean): SeekRequest {
  const fields = body.length === 0 ? {} : readObject(body);
  const toEnd = booleanOf(fields, 'toEnd');
  const timestamp = textOf(fields, 'timestamp');
  const dryRun = booleanOf(fields, 'dryRun') ?? false;
  if (toEnd === true && timestamp !== null)
    throw badBody('specify either toEnd=true or a timestamp, not both');
  if (timestamp !== null) return { toEnd: false, timestamp: instantOf('timestamp', timestamp), dryRun };
  if (toEnd === true || (toEnd === null && ofPartition)) return { toEnd: true, timestamp: null, dryRun };
  throw new BrokerError('bad_body', 'Must specify toEnd=true or a timestamp');
}

export interface SubscriptionRequest {
  /** ISO 8601 with microseconds, UTC. */
  readonly timestamp: string;
  readonly asSent: string;
}

/** `{"subscriptionTimestamp":iso}`. Throws as parseSeekBody() does. */
export function parseSubscriptionBody(body: Buffer): SubscriptionRequest {
  const asSent = body.length === 0 ? null : textOf(readObject(body), 'subscriptionTimestamp');
  if (asSent === null) throw new BrokerError('bad_body', 'subscriptionTimestamp is required');
  return { timestamp: instantOf('subscriptionTimestamp', asSent), asSent };
}

function readObject(body: Buffer): Record<string, unknown> {
  // The scanner first: it knows the nesting limit, and says where a body stops being JSON.
  readJsonBody(body, (cursor) => {
    if (cursor.type() !== 'object') throw badBody('expected an object');
    cursor.skipValue();
  });
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

function booleanOf(fields: Record<string, unknown>, name: string): boolean | null {
  const value = fields[name] ?? null;
  if (value === null || typeof value === 'boolean') return value;
  throw badBody(`${name} must be true or false`);
}

/** The empty text counts as absent. */
function textOf(fields: Record<string, unknown>, name: string): string | null {
  const value = fields[name] ?? null;
  if (value === null || value === '') return null;
  if (typeof value === 'string') return value;
  throw badBody(`${name} must be a string`);
}

/** The years that four digits can write: isoMicros() and PostgreSQL agree on those. */
const EARLIEST_MICROS = Date.parse('0001-01-01T00:00:00Z') * 1000;
const LATEST_MICROS = Date.parse('9999-12-31T23:59:59.999Z') * 1000;

function instantOf(name: string, text: string): string {
  const micros = parseInstant(text);
  if (micros !== null && micros >= EARLIEST_MICROS && micros <= LATEST_MICROS) return isoMicros(micros);
  const shown = JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
  throw new BrokerError('bad_timestamp', `${name} is not an ISO 8601 time: ${shown}`);
}
