import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseAckBatchBody, parseAckBatchBodyInSlices } from '../../ack/ack.request.js';
import { parsePushBody, parsePushBodyInSlices } from '../../push/push.request.js';
import { BodySlices } from './body-slices.js';

/** A whole result, or the message of its error. */
async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return await parse();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constant('\\u0000"\\'));
const item = fc.record(
  {
    queue: fc.oneof(text, fc.constant('q')),
    payload: fc.jsonValue(),
    partition: text,
    transactionId: text,
    headers: fc.dictionary(text, text),
    other: fc.jsonValue(),
  },
  { requiredKeys: ['queue'] },
);
const ack = fc.record({
  transactionId: text,
  partitionId: fc.oneof(text, fc.uuid()),
  status: text,
  error: fc.jsonValue(),
});
const envelope = fc.oneof(
  fc.record({ items: fc.array(fc.oneof(item, fc.jsonValue())), before: fc.jsonValue() }),
  fc.record({ consumerGroup: text, acknowledgments: fc.array(ack) }),
  fc.jsonValue(),
);

/** JSON with whitespace, and now and then a byte that does not belong there or a piece that is missing. */
const body = fc
  .tuple(envelope, fc.nat(3), fc.option(fc.tuple(fc.double({ min: 0, max: 1 }), fc.nat(255), fc.nat(3))))
  .map(([value, indent, fault]) => {
    const bytes = Buffer.from(JSON.stringify(value, null, indent) ?? '');
    if (!fault || bytes.length === 0) return bytes;
    const at = Math.min(bytes.length - 1, Math.floor(fault[0] * bytes.length));
    return Buffer.concat([bytes.subarray(0, at), Buffer.from([fault[1]]), bytes.subarray(at + fault[2])]);
  });

describe('a body that is read in slices', () => {
  it.each([
    ['push', parsePushBody, parsePushBodyInSlices],
    ['ack', parseAckBatchBody, parseAckBatchBodyInSlices],
  ] as const)('gives what it gives at once, or the same error: %s', async (_, atOnce, inSlices) => {
    await fc.assert(
      fc.asyncProperty(body, fc.integer({ min: 1, max: 80 }), async (bytes, sliceBytes) => {
        expect(await outcome(() => inSlices(bytes, sliceBytes))).toEqual(await outcome(() => atOnce(bytes)));
      }),
      { numRuns: 500 },
    );
  });

  it('of no more than a slice is read without a turn', () => {
    expect(parsePushBodyInSlices(Buffer.from('{"items":[{"queue":"q","payload":1}]}'))).not.toBeInstanceOf(
      Promise,
    );
    expect(parseAckBatchBodyInSlices(Buffer.from('{"acknowledgments":[]}'))).not.toBeInstanceOf(Promise);
  });

  /** The bytes that each turn looked at: from where it began to the end of what it was shown. */
  function bytesPerTurn(bytes: Buffer, sliceBytes: number): number[] {
    const slices = new BodySlices(bytes, sliceBytes);
    const values: Buffer[] = [];
    const reading = slices.elements(
      () => slices.cursor.slice(),
      (value) => values.push(value),
    );
    const turns: number[] = [];
    for (let done = false; !done;) {
      const from = slices.cursor.at;
      done = reading.next().done === true;
      turns.push(slices.shownBytes - from);
    }
    expect(`[${values.map((value) => value.toString()).join(',')}]`).toBe(bytes.toString());
    return turns;
  }

  it('gives the others a turn after each, and never looks much more than three slices ahead', () => {
    const items = Array.from({ length: 5000 }, (_, i) => `{"queue":"q","payload":{"n":${i}}}`);
    const bytes = Buffer.from(`[${items.join(',')}]`);
    const turns = bytesPerTurn(bytes, 1000);
    expect(turns.length).toBeGreaterThanOrEqual(Math.floor(bytes.length / 1000 / 2));
    expect(Math.max(...turns)).toBeLessThanOrEqual(3500);
  });

  it('goes through a value that is longer than a slice in as many turns, whatever it is made of', () => {
    const values = [
      JSON.stringify('x'.repeat(50_000)),
      JSON.stringify('\u0001"'.repeat(5000)),
      `[${'1,'.repeat(20_000)}1]`,
      JSON.stringify({ a: { b: Array.from({ length: 800 }, (_, i) => ({ i, text: 'y'.repeat(40) })) } }),
    ];
    for (const value of values) {
      const bytes = Buffer.from(`[0,${value},[${value}]]`);
      const turns = bytesPerTurn(bytes, 1000);
      expect(turns.length).toBeGreaterThanOrEqual(Math.floor(bytes.length / 1000 / 2));
    }
  });
});
