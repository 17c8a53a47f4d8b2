import { crc32 } from 'node:zlib';
import { loadBlockCodec, MAX_EXPANSION, type BlockCodec } from './codec.js';
import { Frame, frameEnd, frameSize, MIN_FRAME_BYTES, writeFrame, type FrameInput } from './frame.js';
import { Scratch } from './scratch.js';
import { SegmentDamagedError } from './segment-damaged.error.js';

/*
 * A segment is the blob of one row: all messages of one push to one partition, compressed together.
 *
 *   u8 version · u8 codec · u32 frame count · u32 raw length · u32 crc32 · frames, stored or as one LZ4 block
 *
 * Little-endian. The checksum covers the head before it and the frames before compression, so it also catches a codec
 * that gives back something else than it was given.
 */
const VERSION = 1;
export const STORED = 0;
export const LZ4_BLOCK = 1;

const COUNT_AT = 2;
const RAW_LENGTH_AT = 6;
export const CHECKSUM_AT = 10;
export const SEGMENT_HEAD_BYTES = 14;

/**
 * The most that the frames of one segment may take before compression: the largest body a push may have (64 MiB), encrypted
 * (base64 makes four bytes of three), and the frame around it. Whoever merges pushes splits long before that.
 */
export const MAX_RAW_BYTES = 96 * 1024 * 1024;

/** Below this compression saves next to nothing: one message of 100 bytes shrinks by 5 %. */
const MIN_COMPRESSED_BYTES = 512;

/** Room for the segments that concurrent pushes make (4 MiB): fresh memory costs more than filling it. */
const KEPT_SCRATCH_BYTES = 5 * 1024 * 1024;
const rawScratch = new Scratch(KEPT_SCRATCH_BYTES);
const blockScratch = new Scratch(KEPT_SCRATCH_BYTES);
const defaultCodec = loadBlockCodec();

/** The LZ4 package this process uses, for the log line at boot. */
export const blockCodecName = defaultCodec.name;

/**
 * The blob for `frames`, in a buffer of exactly its size. Frame k becomes offset base + k; nothing is left out, equal
 * transactionIds included (storage section 3, rules 2 and 5).
 * Throws RangeError when there are no frames, or more than MAX_RAW_BYTES of them, or a field does not fit its frame.
 */
export function encodeSegment(frames: readonly FrameInput[], codec: BlockCodec = defaultCodec): Buffer {
  const rawLength = rawLengthOf(frames);
  const raw = rawScratch.take(rawLength).subarray(0, rawLength);
  let at = 0;
  for (const frame of frames) at = writeFrame(raw, at, frame);

  const block = compressed(raw, codec);
  const body = block ?? raw;
  const blob = Buffer.allocUnsafe(SEGMENT_HEAD_BYTES + body.length);
  writeSegmentHead(blob, block ? LZ4_BLOCK : STORED, frames.length, rawLength);
  blob.writeUInt32LE(checksum(blob, raw), CHECKSUM_AT);
  body.copy(blob, SEGMENT_HEAD_BYTES);
  return blob;
}

/** Throws RangeError when there are no frames, or more than MAX_RAW_BYTES of them. */
export function rawLengthOf(frames: readonly FrameInput[]): number {
  if (frames.length === 0) throw new RangeError('a segment holds at least one message');
  let rawLength = 0;
  for (const frame of frames) rawLength += frameSize(frame);
  if (rawLength > MAX_RAW_BYTES) throw new RangeError(`${rawLength} bytes do not fit one segment`);
  return rawLength;
}

/** All of a blob's head but the checksum, which is over it. */
export function writeSegmentHead(blob: Buffer, codec: number, count: number, rawLength: number): void {
  blob[0] = VERSION;
  blob[1] = codec;
  blob.writeUInt32LE(count, COUNT_AT);
  blob.writeUInt32LE(rawLength, RAW_LENGTH_AT);
}

export interface DecodeLimits {
  /** Refuse a segment whose frames claim more than this before compression. At most MAX_RAW_BYTES. */
  maxRawBytes?: number;
}

/**
 * Opens a stored segment. `expectedCount` is the number of messages its row says it holds. Everything that can be known
 * without cutting frames is checked here: a segment that opens has the right number of frames, each inside the others'
 * bounds, with the checksum it was written with.
 *
 * Throws SegmentDamagedError for anything else, before allocating more than MAX_EXPANSION times the blob.
 * The frames are views of `blob` (stored) or of a buffer of their own (compressed); a later decode never touches them.
 */
export function decodeSegment(
  blob: Buffer,
  expectedCount: number,
  limits: DecodeLimits = {},
  codec: BlockCodec = defaultCodec,
): DecodedSegment {
  if (blob.length < SEGMENT_HEAD_BYTES) throw new SegmentDamagedError('shorter than its head');
  if (blob[0] !== VERSION) throw new SegmentDamagedError(`unknown version ${blob[0]}`);
  const count = blob.readUInt32LE(COUNT_AT);
  if (count !== expectedCount)
    throw new SegmentDamagedError(`holds ${count} messages, its row says ${expectedCount}`);
  const rawLength = blob.readUInt32LE(RAW_LENGTH_AT);
  const maxRawBytes = Math.min(limits.maxRawBytes ?? MAX_RAW_BYTES, MAX_RAW_BYTES);
  if (rawLength > maxRawBytes)
    throw new SegmentDamagedError(`claims ${rawLength} bytes, more than ${maxRawBytes}`);
  if (rawLength < count * MIN_FRAME_BYTES) throw new SegmentDamagedError('too short for its messages');

  const raw = decompressed(blob, rawLength, codec);
  if (checksum(blob, raw) !== blob.readUInt32LE(CHECKSUM_AT))
    throw new SegmentDamagedError('the checksum differs');

  let at = 0;
  for (let i = 0; i < count; i++) at = frameEnd(raw, at);
  if (at !== raw.length) throw new SegmentDamagedError('bytes follow the last message');
  return new DecodedSegment(raw, count);
}

/** A checked segment; frames are cut only where they are asked for. */
export class DecodedSegment {
  constructor(
    private readonly raw: Buffer,
    readonly count: number,
  ) {}

  /**
   * Frames [startIdx, startIdx + take), in offset order. Throws SegmentDamagedError for a frame whose fields do not fit
   * it, RangeError for a slice that is not inside the segment (the row's own bounds, invariant I21).
   */
  frames(startIdx = 0, take = this.count - startIdx): Frame[] {
    if (!(startIdx >= 0 && take >= 0 && startIdx + take <= this.count)) {
      throw new RangeError(`no frames [${startIdx}, ${startIdx} + ${take}) in a segment of ${this.count}`);
    }
    let at = 0;
    for (let i = 0; i < startIdx; i++) at = frameEnd(this.raw, at);
    const frames: Frame[] = [];
    for (let i = 0; i < take; i++) {
      const end = frameEnd(this.raw, at);
      frames.push(new Frame(this.raw, at, end));
      at = end;
    }
    return frames;
  }
}

/** The block in scratch memory, or null when it is not worth it. The target is too small for a block that gains nothing. */
function compressed(raw: Buffer, codec: BlockCodec): Buffer | null {
  if (raw.length < MIN_COMPRESSED_BYTES) return null;
  const target = blockScratch.take(raw.length).subarray(0, raw.length - 1);
  const length = codec.encode(raw, target);
  return length > 0 ? target.subarray(0, length) : null;
}

function decompressed(blob: Buffer, rawLength: number, codec: BlockCodec): Buffer {
  const body = blob.subarray(SEGMENT_HEAD_BYTES);
  if (blob[1] === STORED) {
    if (body.length !== rawLength) throw new SegmentDamagedError('cut short or lengthened');
    return body;
  }
  if (blob[1] !== LZ4_BLOCK) throw new SegmentDamagedError(`unknown codec ${blob[1]}`);
  if (rawLength > body.length * MAX_EXPANSION)
    throw new SegmentDamagedError('claims more than its block can hold');
  // Straight into a buffer of its own: cheaper than scratch and a copy, and frames may outlive the next decode.
  const raw = Buffer.allocUnsafe(rawLength);
  if (codec.decode(body, raw) !== rawLength) throw new SegmentDamagedError('the block does not decompress');
  return raw;
}

function checksum(blob: Buffer, raw: Buffer): number {
  return crc32(raw, crc32(blob.subarray(0, CHECKSUM_AT)));
}
