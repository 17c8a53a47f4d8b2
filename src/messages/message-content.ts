import { SegmentDamagedError } from '../segment/segment-damaged.error.js';
import { decodeSegment } from '../segment/segment.js';
import { uuidText } from '../segment/uuid-v7.js';
import type { LetterCopy, StoredSegment } from './messages.procedures.js';

/** What only the broker can read of a message. */
export interface MessageContent {
  readonly id: string | null;
  readonly transactionId: string;
  readonly traceId: string | null;
  readonly producerSub: string | null;
  /** Raw text of an object of strings. */
  readonly headers: string | null;
  /** Raw JSON text. */
  readonly payload: string;
  /** It is stored as an envelope, which the payload still is when nobody could open it. */
  readonly encrypted: boolean;
}

/** Messages `offsets`, all in the segment, in their order. @throws SegmentDamagedError */
export function contentsIn(segment: StoredSegment, offsets: readonly number[]): MessageContent[] {
  const { base, end, blob } = segment;
  const decoded = decodeSegment(blob, end - base + 1);
  return offsets.map((offset) => {
    const [frame] = decoded.frames(offset - base, 1);
    return {
      id: uuidText(frame.messageId),
      transactionId: frame.transactionId.toString(),
      traceId: frame.traceId ? uuidText(frame.traceId) : null,
      producerSub: frame.producerSub?.toString() ?? null,
      headers: frame.headers?.toString() ?? null,
      payload: frame.payload.length > 0 ? frame.payload.toString() : 'null',
      encrypted: frame.encrypted,
    };
  });
}

/** As contentsIn, or null for a segment that cannot be read: a list goes on without the content. */
export function readableContentsIn(
  segment: StoredSegment,
  offsets: readonly number[],
): MessageContent[] | null {
  try {
    return contentsIn(segment, offsets);
  } catch (error) {
    if (error instanceof SegmentDamagedError) return null;
    throw error;
  }
}

/** From a dead letter, when the log no longer has the message; null when the letter has no payload either. */
export function contentOfLetter(transactionId: string, letter: LetterCopy): MessageContent | null {
  const { messageId, traceId, producerSub, headers, payload, encrypted } = letter;
  if (payload === null) return null;
  return { id: messageId, transactionId, traceId, producerSub, headers, payload, encrypted };
}
