import { SegmentDamagedError } from './segment-damaged.error.js';

/**
 * One message on its way into a segment. Byte buffers throughout: what the client sent is what is stored.
 * Lengths that the layout cannot hold are a RangeError of the caller, who has checked them at the HTTP border.
 */
export interface FrameInput {
  /** 16 bytes, a UUIDv7 minted by the broker. */
  messageId: Buffer;
  /** UTF-8, at most 65,535 bytes: the client's, else the message id as text. May be empty. */
  transactionId: Buffer;
  /** 16 bytes. */
  traceId?: Buffer | null;
  /** The authenticated producer's `sub`, UTF-8, at most 65,535 bytes. */
  producerSub?: Buffer | null;
  /** Raw text of a JSON object, at most 65,535 bytes. */
  headers?: Buffer | null;
  /** Raw JSON text; empty stands for null. */
  payload: Buffer;
  /** The payload is an envelope {encrypted, iv, authTag}, not what the producer sent. */
  encrypted: boolean;
}

/*
 * Layout, little-endian. A frame has neither offset nor time: frame k of a segment based at B is offset B + k, and all
 * messages of a segment share the row's created_at.
 *
 *   u32 body length · u8 flags · 16 message id · [16 trace id] · u16 n, n transactionId · [u16 n, n producer sub]
 *   · [u16 n, n headers] · payload: the rest
 */
const LENGTH_BYTES = 4;
const ID_BYTES = 16;
const TEXT_LENGTH_BYTES = 2;
const MIN_BODY_BYTES = 1 + ID_BYTES + TEXT_LENGTH_BYTES;
export const MIN_FRAME_BYTES = LENGTH_BYTES + MIN_BODY_BYTES;

const HAS_TRACE_ID = 1;
const HAS_PRODUCER_SUB = 2;
const IS_ENCRYPTED = 4;
const HAS_HEADERS = 8;
const KNOWN_FLAGS = HAS_TRACE_ID | HAS_PRODUCER_SUB | IS_ENCRYPTED | HAS_HEADERS;

const MAX_TEXT_BYTES = 0xffff;

/** What `frame` takes in a segment before compression, in bytes. */
export function frameSize(frame: FrameInput): number {
  let size = MIN_FRAME_BYTES + frame.transactionId.length + frame.payload.length;
  if (frame.traceId) size += ID_BYTES;
  if (frame.producerSub) size += TEXT_LENGTH_BYTES + frame.producerSub.length;
  if (frame.headers) size += TEXT_LENGTH_BYTES + frame.headers.length;
  return size;
}

/** Writes `frame` at `at`; returns where it ends. `target` must have frameSize(frame) bytes left. */
export function writeFrame(target: Buffer, at: number, frame: FrameInput): number {
  const payloadStart = writeFrameHead(target, at, frame);
  return payloadStart + frame.payload.copy(target, payloadStart);
}

/** All of `frame` but its payload; returns where that belongs. */
export function writeFrameHead(target: Buffer, at: number, frame: FrameInput): number {
  let end = at + LENGTH_BYTES;
  target[end++] = flagsOf(frame);
  end = writeId(target, end, frame.messageId, 'messageId');
  if (frame.traceId) end = writeId(target, end, frame.traceId, 'traceId');
  end = writeText(target, end, frame.transactionId, 'transactionId');
  if (frame.producerSub) end = writeText(target, end, frame.producerSub, 'producerSub');
  if (frame.headers) end = writeText(target, end, frame.headers, 'headers');
  target.writeUInt32LE(end + frame.payload.length - at - LENGTH_BYTES, at);
  return end;
}

/** The end of the frame that starts at `at`, checked against the bytes there are. */
export function frameEnd(raw: Buffer, at: number): number {
  if (at + MIN_FRAME_BYTES > raw.length) throw new SegmentDamagedError('a frame is cut short');
  const bodyLength = raw.readUInt32LE(at);
  if (bodyLength < MIN_BODY_BYTES) throw new SegmentDamagedError('a frame is shorter than its fixed part');
  const end = at + LENGTH_BYTES + bodyLength;
  if (end > raw.length) throw new SegmentDamagedError('a frame is longer than the segment');
  return end;
}

/**
 * One stored message. Holds positions; each property is a view of `buffer`, made when asked for and never a copy. A hot
 * path that only moves bytes (a pop reply) reads the positions instead and makes no view at all.
 */
export class Frame implements FrameInput {
  readonly encrypted: boolean;
  readonly messageIdStart: number;
  readonly transactionIdStart: number;
  readonly transactionIdEnd: number;
  /** The payload is `buffer` from here … */
  readonly payloadStart: number;

  private readonly traceIdStart: number;
  private readonly subStart: number;
  private readonly headersStart: number;

  /** Reads the frame at `at`, whose end is frameEnd(buffer, at). Throws SegmentDamagedError. */
  constructor(
    readonly buffer: Buffer,
    at: number,
    /** … to here; empty stands for null. */
    readonly payloadEnd: number,
  ) {
    const flags = buffer[at + LENGTH_BYTES];
    if ((flags & ~KNOWN_FLAGS) !== 0) throw new SegmentDamagedError('a frame has unknown flags');
    this.encrypted = (flags & IS_ENCRYPTED) !== 0;
    this.messageIdStart = at + LENGTH_BYTES + 1;

    let next = this.messageIdStart + ID_BYTES;
    this.traceIdStart = (flags & HAS_TRACE_ID) === 0 ? -1 : next;
    if (this.traceIdStart > 0) next += ID_BYTES;

    this.transactionIdStart = next + TEXT_LENGTH_BYTES;
    this.transactionIdEnd = next = textEnd(buffer, next, payloadEnd);

    this.subStart = (flags & HAS_PRODUCER_SUB) === 0 ? -1 : next + TEXT_LENGTH_BYTES;
    if (this.subStart > 0) next = textEnd(buffer, next, payloadEnd);

    this.headersStart = (flags & HAS_HEADERS) === 0 ? -1 : next + TEXT_LENGTH_BYTES;
    if (this.headersStart > 0) next = textEnd(buffer, next, payloadEnd);

    this.payloadStart = next;
  }

  get messageId(): Buffer {
    return this.buffer.subarray(this.messageIdStart, this.messageIdStart + ID_BYTES);
  }

  get traceId(): Buffer | null {
    return this.traceIdStart < 0
      ? null
      : this.buffer.subarray(this.traceIdStart, this.traceIdStart + ID_BYTES);
  }

  get transactionId(): Buffer {
    return this.buffer.subarray(this.transactionIdStart, this.transactionIdEnd);
  }

  get producerSub(): Buffer | null {
    return this.text(this.subStart);
  }

  get headers(): Buffer | null {
    return this.text(this.headersStart);
  }

  get payload(): Buffer {
    return this.buffer.subarray(this.payloadStart, this.payloadEnd);
  }

  private text(start: number): Buffer | null {
    if (start < 0) return null;
    return this.buffer.subarray(start, start + this.buffer.readUInt16LE(start - TEXT_LENGTH_BYTES));
  }
}

function flagsOf(frame: FrameInput): number {
  return (
    (frame.traceId ? HAS_TRACE_ID : 0) |
    (frame.producerSub ? HAS_PRODUCER_SUB : 0) |
    (frame.encrypted ? IS_ENCRYPTED : 0) |
    (frame.headers ? HAS_HEADERS : 0)
  );
}

function writeId(target: Buffer, at: number, id: Buffer, name: string): number {
  if (id.length !== ID_BYTES) throw new RangeError(`${name} has ${id.length} bytes, not ${ID_BYTES}`);
  for (let i = 0; i < ID_BYTES; i++) target[at + i] = id[i];
  return at + ID_BYTES;
}

function writeText(target: Buffer, at: number, text: Buffer, name: string): number {
  if (text.length > MAX_TEXT_BYTES)
    throw new RangeError(`${name} has ${text.length} bytes, more than ${MAX_TEXT_BYTES}`);
  target.writeUInt16LE(text.length, at);
  return at + TEXT_LENGTH_BYTES + text.copy(target, at + TEXT_LENGTH_BYTES);
}

/** The end of a length-prefixed text at `at` inside a frame that ends at `limit`. */
function textEnd(buffer: Buffer, at: number, limit: number): number {
  const start = at + TEXT_LENGTH_BYTES;
  const end = start > limit ? start : start + buffer.readUInt16LE(at);
  if (end > limit) throw new SegmentDamagedError('a field is longer than its frame');
  return end;
}
