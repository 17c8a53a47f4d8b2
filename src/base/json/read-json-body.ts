import { BrokerError } from '../errors/broker-error.js';
import { BodySlices } from './body-slices.js';
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
    throw asBadBody(error);
  }
}

/**
 * The same for a reader that yields where the event loop may have a turn. A body of one slice is read in one go, without
 * a promise: to be awaited only when it is one.
 * @param sliceBytes for specs
 */
export function readJsonBodyInSlices<T>(
  body: Buffer,
  read: (slices: BodySlices) => Generator<void, T>,
  sliceBytes?: number,
): T | Promise<T> {
  if (body.length === 0) throw badBody('the body is empty');
  try {
    const reading = wholeDocument(new BodySlices(body, sliceBytes), read);
    const first = reading.next();
    return first.done ? first.value : inTurns(reading);
  } catch (error) {
    throw asBadBody(error);
  }
}

/** The same in one go, whatever the size. */
export function readJsonBodyAtOnce<T>(body: Buffer, read: (slices: BodySlices) => Generator<void, T>): T {
  return readJsonBodyInSlices(body, read, Infinity) as T;
}

function* wholeDocument<T>(
  slices: BodySlices,
  read: (slices: BodySlices) => Generator<void, T>,
): Generator<void, T> {
  const result = yield* read(slices);
  slices.cursor.expectEnd();
  return result;
}

async function inTurns<T>(reading: Generator<void, T>): Promise<T> {
  try {
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const next = reading.next();
      if (next.done) return next.value;
    }
  } catch (error) {
    throw asBadBody(error);
  }
}

function asBadBody(error: unknown): unknown {
  return error instanceof JsonSyntaxError ? badBody(`not JSON: ${error.message}`) : error;
}

export function badBody(what: string, extra?: Record<string, unknown>): BrokerError {
  return new BrokerError('bad_body', `bad body: ${what}`, extra);
}
