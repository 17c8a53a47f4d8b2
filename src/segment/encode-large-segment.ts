import { crc32 } from 'node:zlib';
import { compressApart } from './codec.js';
import { writeFrameHead, type FrameInput } from './frame.js';
import {
  CHECKSUM_AT,
  LZ4_BLOCK,
  rawLengthOf,
  SEGMENT_HEAD_BYTES,
  STORED,
  writeSegmentHead,
} from './segment.js';

/** From here on a segment is a single large message: pushes are merged up to less than this. */
export const LARGE_SEGMENT_BYTES = 8 * 1024 * 1024;

/** Copied or checksummed in one turn of the event loop. */
const BYTES_PER_TURN = 2 * 1024 * 1024;

/**
 * What encodeSegment() makes, without holding up the event loop: copies and checksum take turns, and the compression runs
 * on a thread of its own. That costs a thread's round trip and memory that is not kept, so it is for large ones only.
 * Throws RangeError as encodeSegment() does.
 * @param bytesPerTurn for specs
 */
export async function encodeLargeSegment(
  frames: readonly FrameInput[],
  bytesPerTurn = BYTES_PER_TURN,
): Promise<Buffer> {
  const raw = Buffer.allocUnsafeSlow(rawLengthOf(frames));
  let at = 0;
  for (const frame of frames) {
    at = writeFrameHead(raw, at, frame);
    await copyInTurns(frame.payload, raw, at, bytesPerTurn);
    at += frame.payload.length;
  }
  const block = await compressApart(raw);
  const body = block ?? raw;
  const blob = Buffer.allocUnsafeSlow(SEGMENT_HEAD_BYTES + body.length);
  writeSegmentHead(blob, block ? LZ4_BLOCK : STORED, frames.length, raw.length);
  let checksum = crc32(blob.subarray(0, CHECKSUM_AT));
  await inPieces(
    raw.length,
    bytesPerTurn,
    (from, to) => (checksum = crc32(raw.subarray(from, to), checksum)),
  );
  blob.writeUInt32LE(checksum, CHECKSUM_AT);
  await copyInTurns(body, blob, SEGMENT_HEAD_BYTES, bytesPerTurn);
  return blob;
}

function copyInTurns(source: Buffer, target: Buffer, at: number, bytesPerTurn: number): Promise<void> {
  return inPieces(source.length, bytesPerTurn, (from, to) => void source.copy(target, at + from, from, to));
}

async function inPieces(
  bytes: number,
  bytesPerTurn: number,
  step: (from: number, to: number) => void,
): Promise<void> {
  for (let from = 0; from < bytes; from += bytesPerTurn) {
    step(from, Math.min(bytes, from + bytesPerTurn));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
