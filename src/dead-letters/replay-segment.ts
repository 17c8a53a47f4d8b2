import { encodeSegment } from '../segment/segment.js';
import { hashTransactionId } from '../segment/transaction-hash.js';
import { parseUuid } from '../segment/uuid-v7.js';
import type { DeadLetterContent } from './dead-letters.procedures.js';

/** What the replay of a dead letter is pushed under: known before, so that a second replay could never be a second message. */
export function replayTransactionId(letterId: string): string {
  return `dlq:${letterId}`;
}

/**
 * The message of a dead letter as a segment of one. Payload and headers are the bytes that were put aside; an
 * encrypted payload goes back encrypted.
 */
export function replaySegment(
  transactionId: string,
  messageId: Buffer,
  letter: DeadLetterContent & { readonly payload: string },
): { hash: Buffer; blob: Buffer } {
  const blob = encodeSegment([
    {
      messageId,
      transactionId: Buffer.from(transactionId),
      traceId: letter.traceId === null ? null : parseUuid(letter.traceId),
      producerSub: letter.producerSub === null ? null : Buffer.from(letter.producerSub),
      headers: letter.headers === null ? null : Buffer.from(letter.headers),
      payload: Buffer.from(letter.payload),
      encrypted: letter.encrypted,
    },
  ]);
  return { hash: hashTransactionId(transactionId), blob };
}
