import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { encodeLargeSegment } from './encode-large-segment.js';
import type { FrameInput } from './frame.js';
import { decodeSegment, encodeSegment, SEGMENT_HEAD_BYTES } from './segment.js';
import { mintUuid } from './uuid-v7.js';

function frame(payload: Buffer, traits: Partial<FrameInput> = {}): FrameInput {
  return { messageId: mintUuid(1), transactionId: Buffer.from('t'), payload, encrypted: false, ...traits };
}

const compressible = Buffer.from(
  JSON.stringify(Array.from({ length: 3000 }, (_, i) => ({ id: i, name: 'n' }))),
);
const random = Buffer.from(JSON.stringify(randomBytes(60_000).toString('latin1')));

describe('a large segment', () => {
  it.each([
    ['one that compresses', [frame(compressible)]],
    ['one that does not', [frame(randomBytes(50_000))]],
    [
      'several, with everything a frame can have',
      [
        frame(random, { headers: Buffer.from('{"a":"b"}'), traceId: mintUuid(2), encrypted: true }),
        frame(Buffer.alloc(0)),
        frame(compressible, { producerSub: Buffer.from('sub') }),
      ],
    ],
  ])('reads like one that was made at once: %s', async (_, frames) => {
    for (const bytesPerTurn of [997, 1_000_000]) {
      const blob = await encodeLargeSegment(frames, bytesPerTurn);
      const atOnce = encodeSegment(frames);
      // The two LZ4 packages may cut their blocks differently; head, checksum and content are the same.
      expect(blob.subarray(0, SEGMENT_HEAD_BYTES)).toEqual(atOnce.subarray(0, SEGMENT_HEAD_BYTES));
      const read = decodeSegment(blob, frames.length).frames();
      read.forEach((one, k) => {
        expect(one.payload.equals(frames[k].payload)).toBe(true);
        expect(one.transactionId).toEqual(frames[k].transactionId);
        expect(one.headers).toEqual(frames[k].headers ?? null);
        expect(one.encrypted).toBe(frames[k].encrypted);
      });
    }
  });

  it('gives everybody else a turn after each piece', async () => {
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await encodeLargeSegment([frame(randomBytes(100_000))], 10_000);
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(30); // copied, checksummed, copied: ten pieces each
  });

  it('needs a message, as any segment', async () => {
    await expect(encodeLargeSegment([])).rejects.toThrow(RangeError);
  });
});
