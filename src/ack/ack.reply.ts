import type { AckItem } from './ack-item.js';
import type { AckResult } from './ack-result.js';
import { inTurns } from './in-turns.js';

const ITEMS_PER_TURN = 8192;

/**
 * The reply to an ack request: one object per item, in order. `leaseReleased` is true on every success, as clients of
 * the original broker know it.
 */
export async function renderAckReply(
  items: readonly AckItem[],
  results: readonly AckResult[],
): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let tail = '';
  let tailOf: AckResult | undefined;
  await inTurns(items.length, ITEMS_PER_TURN, (from, to) => {
    let text = '';
    for (let i = from; i < to; i++) {
      // Most items of a request share one result object.
      if (results[i] !== tailOf) tail = renderTail((tailOf = results[i]));
      text += `${i === 0 ? '[' : ','}{"index":${i},"transactionId":${JSON.stringify(items[i].transactionId)},${tail}`;
    }
    pieces.push(Buffer.from(text));
  });
  pieces.push(Buffer.from(items.length === 0 ? '[]' : ']'));
  return Buffer.concat(pieces);
}

function renderTail({ success, error, dlq, noop }: AckResult): string {
  return JSON.stringify({ success, error, leaseReleased: success, dlq, noop }).slice(1);
}
