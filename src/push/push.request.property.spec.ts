import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrokerError } from '../base/errors/broker-error.js';
import { parsePushBody } from './push.request.js';

const LONE_SURROGATE = /\p{Surrogate}/u;

/** The rules once more, over what JSON.parse makes of the body. Returns the verdict of each item. */
function expectedOf(text: string): { bad: number[] } | { items: object[] } {
  const { items } = JSON.parse(text) as { items: unknown[] };
  const bad: number[] = [];
  const good: object[] = [];
  items.forEach((item, index) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return bad.push(index);
    const { queue, partition = null, transactionId = null, headers = null } = item as Record<string, unknown>;
    const isText = (value: unknown) => value === null || typeof value === 'string';
    const hasPayload = Object.hasOwn(item, 'payload');
    if (typeof queue !== 'string' || !isText(partition) || !isText(transactionId) || !hasPayload)
      return bad.push(index);
    const unstorable = (value: unknown, maxBytes: number) =>
      typeof value === 'string' &&
      (value.includes('\0') || LONE_SURROGATE.test(value) || Buffer.byteLength(value) > maxBytes);
    const badHeaders =
      headers !== null &&
      (typeof headers !== 'object' ||
        Array.isArray(headers) ||
        Object.values(headers).some((value) => typeof value !== 'string'));
    return good.push({
      queue,
      partition: partition ?? 'Default',
      transactionId,
      payload: (item as Record<string, unknown>).payload,
      hasProblem:
        queue === '' ||
        [queue, partition].some((name) => unstorable(name, 255) || name === '.' || name === '..') ||
        unstorable(transactionId, 65_535) ||
        badHeaders,
    });
  });
  return bad.length > 0 ? { bad } : { items: good };
}

function actualOf(text: string): { bad: number[] } | { items: object[] } {
  try {
    return {
      items: parsePushBody(Buffer.from(text)).items.map((item) => ({
        queue: item.queue,
        partition: item.partition,
        transactionId: item.transactionId,
        payload: JSON.parse(item.payload.toString()) as unknown,
        hasProblem: item.problem !== null,
      })),
    };
  } catch (error) {
    if (!(error instanceof BrokerError) || error.code !== 'bad_body') throw error;
    return { bad: (error.extra?.items as { index: number }[]).map(({ index }) => index) };
  }
}

const text = fc.oneof(
  fc.constantFrom(
    '',
    'orders',
    'Default',
    'a\0b',
    '\ud83d',
    '😀',
    'x'.repeat(255),
    'x'.repeat(256),
    'é'.repeat(128),
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 4 })
    .map((units) => String.fromCharCode(...units)),
);
const anything = fc.jsonValue({ maxDepth: 2 });
const optional = (value: fc.Arbitrary<unknown>) => fc.option(value, { nil: undefined });

const goodItem = fc.record({
  queue: text,
  partition: optional(fc.option(text)),
  transactionId: optional(fc.option(text)),
  headers: optional(fc.oneof(fc.constant(null), fc.dictionary(text, text), anything)),
  payload: anything,
  other: anything,
});
const anyItem = fc.oneof(
  { weight: 6, arbitrary: goodItem },
  { weight: 1, arbitrary: anything },
  {
    weight: 1,
    arbitrary: fc.record({
      queue: optional(anything),
      partition: anything,
      transactionId: anything,
      payload: optional(anything),
    }),
  },
);

/** Some letters of a JSON text's strings as \u escapes: the same values, spelled otherwise. */
function escaped(json: string): string {
  return json.replace(
    /(?<!\\)(?<!\\u[0-9a-f]{0,3})[euoai](?=[a-zA-Z]*":)/g,
    (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`,
  );
}

describe('parsePushBody', () => {
  it('judges every item as the rules do over JSON.parse', () => {
    fc.assert(
      fc.property(
        fc.array(anyItem, { maxLength: 6 }),
        fc.constantFrom(undefined, ' ', '\r\n\t'),
        (items, indent) => {
          const body = JSON.stringify({ before: 1, items, after: [] }, null, indent);
          expect(actualOf(body)).toEqual(expectedOf(body));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('does so for bodies of good items, whose keys may be escaped', () => {
    fc.assert(
      fc.property(fc.array(goodItem, { minLength: 1, maxLength: 4 }), (items) => {
        const body = escaped(JSON.stringify({ items }));
        expect(actualOf(body)).toEqual(expectedOf(body));
      }),
      { numRuns: 300 },
    );
  });
});
