import { BrokerError } from '../errors/broker-error.js';
import { JsonSyntaxError } from './json-syntax-error.js';
import { JsonCursor } from './scanner.js';

/**
 * Runs `read` over a request body and makes sure that the whole body is one JSON document.
 * Throws BrokerError `bad_body` ("bad body: …") for anything that is not JSON, `json_too_deep`, and what `read` throws.
 */
export function readJsonBody<T>(body: Buffer, read: (cursor: JsonCursor) => T): T {
  if (body.length === 0) throw badBody('the body is empty');
  try {
    const cursor = new JsonCursor(body);
    const result = read(cursor);
    cursor.expectEnd();
    return result;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badBody(`not JSON: ${error.message}`);
    throw error;
  }
}

export function badBody(what: string, extra?: Record<string, unknown>): BrokerError {
  return new BrokerError('bad_body', `bad body: ${what}`, extra);
}
