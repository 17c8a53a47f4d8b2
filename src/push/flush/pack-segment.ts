import { HASH_BYTES, hashTransactionIds } from '../../segment/transaction-hash.js';
import { encodeLargeSegment } from '../../segment/encode-large-segment.js';
import { encodeSegment } from '../../segment/segment.js';
import type { PushMessage } from '../push-message.js';
import type { SegmentArgs } from '../push.procedures.js';
import type { PlannedSegment } from './flush-plan.js';

/** A segment ready to be sent, but for what is known about its ids; frame k is `messages[k]`. */
export interface PackedSegment extends SegmentArgs {
  readonly messages: readonly PushMessage[];
}

/**
 * Messages of one partition as one segment. Those that repeat the transactionId of an earlier one are left out and
 * follow it (http-api 3.1, dedup rule 2), so that of two concurrent pushes exactly one is queued.
 * Throws RangeError when they do not fit one segment.
 */
export function packSegment(planned: PlannedSegment<PushMessage>): PackedSegment {
  const segment = chosen(planned);
  return { ...segment, blob: encodeSegment(segment.messages) };
}

/** The same for a segment of LARGE_SEGMENT_BYTES and more, without holding up the event loop. */
export async function packLargeSegment(planned: PlannedSegment<PushMessage>): Promise<PackedSegment> {
  const segment = chosen(planned);
  return { ...segment, blob: await encodeLargeSegment(segment.messages) };
}

function chosen({ target, items }: PlannedSegment<PushMessage>): Omit<PackedSegment, 'blob'> {
  const all = hashTransactionIds(items.map(({ transactionId }) => transactionId));
  const { messages, hashes } = comeFromOneRequest(items)
    ? { messages: items, hashes: all }
    : withoutRepeats(items, all);
  return { target, messages, count: messages.length, hashes };
}

/** Repetitions inside one request have been found by text already. */
function comeFromOneRequest(items: readonly PushMessage[]): boolean {
  const { request } = items[0];
  return items.every((item) => item.request === request);
}

function withoutRepeats(
  items: readonly PushMessage[],
  all: Buffer,
): { messages: PushMessage[]; hashes: Buffer } {
  const leaders = new Map<string, PushMessage>();
  const messages: PushMessage[] = [];
  const hashes = Buffer.allocUnsafe(all.length);
  let end = 0;
  for (let k = 0, at = 0; k < items.length; k++, at += HASH_BYTES) {
    const item = items[k];
    if (!item.isMinted) {
      const hash = all.toString('latin1', at, at + HASH_BYTES);
      const leader = leaders.get(hash);
      if (leader) {
        leader.lead(item);
        continue;
      }
      leaders.set(hash, item);
    }
    messages.push(item);
    end += all.copy(hashes, end, at, at + HASH_BYTES);
  }
  return { messages, hashes: hashes.subarray(0, end) };
}
