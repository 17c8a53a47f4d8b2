import { createRequire } from 'node:module';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadBlockCodec } from './codec.js';
import type { FrameInput } from './frame.js';
import { SegmentDamagedError } from './segment-damaged.error.js';
import { decodeSegment, encodeSegment, SEGMENT_HEAD_BYTES } from './segment.js';

const load = createRequire(import.meta.url);
const codecs = [
  loadBlockCodec(),
  loadBlockCodec((name) => {
    if (name === 'lz4') throw new Error('no compiler');
    return load(name) as unknown;
  }),
];
const anyCodec = fc.constantFrom(...codecs);

const id = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes));
const text = (maxLength: number) =>
  fc.string({ unit: 'grapheme', maxLength }).map((value) => Buffer.from(value));
const frame: fc.Arbitrary<FrameInput> = fc.record({
  messageId: id,
  transactionId: text(60),
  traceId: fc.option(id),
  producerSub: fc.option(text(20)),
  headers: fc.option(fc.json().map((json) => Buffer.from(json))),
  payload: fc.oneof(
    fc.json().map((json) => Buffer.from(json)),
    fc.constant(Buffer.alloc(0)),
    fc.integer({ min: 1, max: 3000 }).map((length) => Buffer.alloc(length, '{"a":1},')),
  ),
  encrypted: fc.boolean(),
});
const frames = fc.array(frame, { minLength: 1, maxLength: 25 });

/** What a segment says, as plain values; frames of another shape differ in it. */
function contentOf(blob: Buffer, count: number, codec = codecs[0]): FrameInput[] {
  return decodeSegment(blob, count, {}, codec)
    .frames()
    .map((view) => ({
      messageId: view.messageId,
      transactionId: view.transactionId,
      traceId: view.traceId,
      producerSub: view.producerSub,
      headers: view.headers,
      payload: view.payload,
      encrypted: view.encrypted,
    }));
}

/** Damage is found, or there was none. Every other outcome (another error, other messages) fails. */
function expectDamagedOrIdentical(changed: Buffer, input: FrameInput[]): void {
  for (const codec of codecs) {
    let content: FrameInput[];
    try {
      content = contentOf(changed, input.length, codec);
    } catch (error) {
      expect(error).toBeInstanceOf(SegmentDamagedError);
      continue;
    }
    expect(content).toEqual(input);
  }
}

describe('a segment', () => {
  it('comes back byte for byte, whichever package wrote it and whichever reads it', () => {
    fc.assert(
      fc.property(frames, anyCodec, anyCodec, (input, writer, reader) => {
        expect(contentOf(encodeSegment(input, writer), input.length, reader)).toEqual(input);
      }),
    );
  });

  it('is sliced anywhere into what was put there', () => {
    fc.assert(
      fc.property(frames, fc.nat(), fc.nat(), (input, a, b) => {
        const startIdx = a % (input.length + 1);
        const take = b % (input.length - startIdx + 1);
        const cut = decodeSegment(encodeSegment(input), input.length).frames(startIdx, take);
        expect(cut.map(({ payload }) => payload)).toEqual(
          input.slice(startIdx, startIdx + take).map(({ payload }) => payload),
        );
      }),
    );
  });

  it('with any byte flipped is refused', () => {
    fc.assert(
      fc.property(frames, fc.nat(), fc.integer({ min: 1, max: 255 }), (input, position, change) => {
        const blob = encodeSegment(input);
        blob[position % blob.length] ^= change;
        expectDamagedOrIdentical(blob, input);
      }),
      { numRuns: 500 },
    );
  });

  it('cut anywhere is refused', () => {
    fc.assert(
      fc.property(frames, fc.nat(), (input, length) => {
        const blob = encodeSegment(input);
        const cut = blob.subarray(0, length % blob.length);
        expect(() => contentOf(cut, input.length)).toThrow(SegmentDamagedError);
      }),
    );
  });

  it('followed by anything is refused', () => {
    fc.assert(
      fc.property(frames, fc.uint8Array({ minLength: 1, maxLength: 40 }), (input, tail) => {
        expectDamagedOrIdentical(Buffer.concat([encodeSegment(input), tail]), input);
      }),
    );
  });

  it('is never taken for another count', () => {
    fc.assert(
      fc.property(frames, fc.nat(60), (input, count) => {
        fc.pre(count !== input.length);
        expect(() => decodeSegment(encodeSegment(input), count)).toThrow(SegmentDamagedError);
      }),
    );
  });
});

describe('arbitrary bytes under a right checksum', () => {
  it('are refused or walked to their exact end', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.integer({ min: 1, max: 4 }),
        fc.nat(200),
        (bytes, count, size) => {
          // A plausible first length makes the walk go on instead of ending at once.
          const raw = Buffer.from(bytes);
          if (raw.length >= 4) raw.writeUInt32LE(size, 0);
          const head = Buffer.alloc(SEGMENT_HEAD_BYTES);
          head.writeUInt8(1, 0);
          head.writeUInt32LE(count, 2);
          head.writeUInt32LE(raw.length, 6);
          head.writeUInt32LE(crc32(raw, crc32(head.subarray(0, 10))), 10);
          let content: FrameInput[];
          try {
            content = contentOf(Buffer.concat([head, raw]), count);
          } catch (error) {
            expect(error).toBeInstanceOf(SegmentDamagedError);
            return;
          }
          expect(encodeSegment(content).readUInt32LE(6)).toBe(raw.length);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
