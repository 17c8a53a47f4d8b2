import { createRequire } from 'node:module';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fuzz, FUZZ_TIMEOUT_MS } from '../../test/support/fuzz.js';
import { loadBlockCodec, MAX_EXPANSION, type BlockCodec } from './codec.js';
import { frameSize, writeFrame, type FrameInput } from './frame.js';
import { SegmentDamagedError } from './segment-damaged.error.js';
import {
  CHECKSUM_AT,
  decodeSegment,
  LZ4_BLOCK,
  SEGMENT_HEAD_BYTES,
  STORED,
  writeSegmentHead,
} from './segment.js';

const load = createRequire(import.meta.url);
const codecs = [
  loadBlockCodec(),
  loadBlockCodec((name) => {
    if (name === 'lz4') throw new Error('no compiler');
    return load(name) as unknown;
  }),
];

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((some) => Buffer.from(some));
const id = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((some) => Buffer.from(some));
const frame: fc.Arbitrary<FrameInput> = fc.record({
  messageId: id,
  transactionId: bytes(20),
  traceId: fc.option(id),
  producerSub: fc.option(bytes(10)),
  headers: fc.option(bytes(20)),
  payload: fc.oneof(
    bytes(40),
    fc.integer({ min: 500, max: 3000 }).map((length) => Buffer.alloc(length, '{"a":1},')),
  ),
  encrypted: fc.boolean(),
});

function rawOf(frames: readonly FrameInput[]): Buffer {
  const raw = Buffer.alloc(frames.reduce((sum, one) => sum + frameSize(one), 0));
  frames.reduce((at, one) => writeFrame(raw, at, one), 0);
  return raw;
}

/** A blob with a right checksum around frames that may be anything: what a faulty writer would leave behind. */
function blobOf(raw: Buffer, count: number, codec: BlockCodec | null): Buffer {
  const target = Buffer.alloc(raw.length * 2 + 64);
  const body = codec ? target.subarray(0, codec.encode(raw, target)) : raw;
  const blob = Buffer.concat([Buffer.alloc(SEGMENT_HEAD_BYTES), body]);
  writeSegmentHead(blob, codec ? LZ4_BLOCK : STORED, count, raw.length);
  blob.writeUInt32LE(crc32(raw, crc32(blob.subarray(0, CHECKSUM_AT))), CHECKSUM_AT);
  return blob;
}

/** The bytes of all frames, or null when the segment is refused. Any error but SegmentDamagedError fails the test. */
function bytesIn(blob: Buffer, count: number, codec: BlockCodec): number | null {
  try {
    return decodeSegment(blob, count, {}, codec)
      .frames()
      .reduce((sum, view) => sum + frameSize(view), 0);
  } catch (error) {
    expect(error).toBeInstanceOf(SegmentDamagedError);
    return null;
  }
}

type Change = [kind: number, at: number, value: number];
const change: fc.Arbitrary<Change> = fc.tuple(
  fc.nat(4),
  fc.nat(),
  fc.oneof(
    fc.nat(255),
    fc.constantFrom(0, 1, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff),
  ),
);

function changed(source: Buffer, changes: readonly Change[]): Buffer {
  let result = Buffer.from(source);
  for (const [kind, place, value] of changes) {
    const at = place % (result.length + 1);
    if (kind === 0 && at < result.length) result[at] = value & 0xff;
    else if (kind === 1) result = result.subarray(0, at);
    else if (kind === 2)
      result = Buffer.concat([result.subarray(0, at), Buffer.from([value & 0xff]), result.subarray(at)]);
    else if (kind === 3 && at + 4 <= result.length) result.writeUInt32LE(value, at);
    else if (kind === 4 && at + 2 <= result.length) result.writeUInt16LE(value & 0xffff, at);
  }
  return result;
}

describe('frames that were damaged before their checksum was made', () => {
  it(
    'are refused, or walked to their exact end',
    () => {
      let refused = 0;
      fc.assert(
        fc.property(
          fc.array(frame, { minLength: 1, maxLength: 6 }),
          fc.array(change, { minLength: 1, maxLength: 3 }),
          fc.constantFrom(null, ...codecs),
          fc.constantFrom(...codecs),
          (frames, changes, writer, reader) => {
            const raw = changed(rawOf(frames), changes);
            const found = bytesIn(blobOf(raw, frames.length, writer), frames.length, reader);
            if (found === null) refused++;
            else expect(found).toBe(raw.length);
          },
        ),
        fuzz(2000),
      );
      expect(refused).toBeGreaterThan(100);
    },
    FUZZ_TIMEOUT_MS,
  );
});

describe('a blob whose bytes were changed', () => {
  it(
    'never makes the broker set more memory aside than its size allows',
    () => {
      fc.assert(
        fc.property(
          fc.array(frame, { minLength: 1, maxLength: 6 }),
          fc.array(change, { minLength: 1, maxLength: 3 }),
          fc.constantFrom(null, codecs[0]),
          (frames, changes, writer) => {
            // Most changes go where the lengths are.
            const nearHead = changes.map(([kind, at, value], i): Change => [
              kind,
              i === 0 ? at % 14 : at,
              value,
            ]);
            const blob = changed(blobOf(rawOf(frames), frames.length, writer), nearHead);
            const targets: number[] = [];
            const watching: BlockCodec = {
              ...codecs[0],
              decode(block, target) {
                targets.push(target.length);
                return codecs[0].decode(block, target);
              },
            };
            bytesIn(blob, frames.length, watching);
            for (const target of targets) expect(target).toBeLessThanOrEqual(MAX_EXPANSION * blob.length);
          },
        ),
        fuzz(2000),
      );
    },
    FUZZ_TIMEOUT_MS,
  );
});
