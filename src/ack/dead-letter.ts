import { Injectable, Logger } from '@nestjs/common';
import { SegmentDamagedError } from '../segment/segment-damaged.error.js';
import { decodeSegment } from '../segment/segment.js';
import { uuidText } from '../segment/uuid-v7.js';
import type { AckGroup } from './ack-group.js';
import type { AckConnection } from './ack-lane.js';
import type { AckItem } from './ack-item.js';
import { logDlqHeadV2, logSegmentAtV1 } from './ack.procedures.js';

interface PoisonMessage {
  messageId: string;
  transactionId: string;
  payload: string;
  headers: string | null;
  traceId: string | null;
  producerSub: string | null;
  encrypted: boolean;
}

/** Recorded when nobody said why. */
const DEFAULT_REASON = 'Retries exhausted';

/**
 * Puts aside the message that stops a group: copied out of its segment into the dead letters, cursor past it, lease
 * released, in one step (storage 5.14). If the broker dies before, the lease runs out and the batch comes again from
 * this message on, with its retry count as it was.
 */
@Injectable()
export class DeadLetter {
  private readonly logger = new Logger(DeadLetter.name);

  /** False when the lease was lost meanwhile: somebody else decides over the message now. */
  async file(connection: AckConnection, group: AckGroup, offset: number): Promise<boolean> {
    const { partitionId, worker } = group;
    const refusals = group.items.filter(({ status }) => status !== 'completed');
    const message = await this.read(connection, partitionId, offset);
    const { ok } = await connection.callOne(logDlqHeadV2, {
      partitionId,
      group: group.group,
      worker,
      offset,
      messageId: message?.messageId ?? null,
      transactionId: message?.transactionId ?? (refusals.length === 1 ? refusals[0].transactionId : null),
      payload: message?.payload ?? null,
      reason: reasonOf(refusals, message?.transactionId),
      headers: message?.headers ?? null,
      traceId: message?.traceId ?? null,
      producerSub: message?.producerSub ?? null,
      encrypted: message?.encrypted ?? false,
    });
    return ok;
  }

  /**
   * Null when retention took the segment or it is damaged. The letter is filed all the same: the group asked to be rid
   * of the message, and a cursor that waits for it would wait for ever.
   */
  private async read(
    connection: AckConnection,
    partitionId: string,
    offset: number,
  ): Promise<PoisonMessage | null> {
    const [segment] = await connection.call(logSegmentAtV1, { partitionId, offset });
    if (!segment) return null;
    try {
      const count = segment.end - segment.base + 1;
      const [frame] = decodeSegment(segment.blob, count).frames(offset - segment.base, 1);
      return {
        messageId: uuidText(frame.messageId),
        transactionId: frame.transactionId.toString(),
        payload: frame.payload.length > 0 ? frame.payload.toString() : 'null',
        headers: frame.headers?.toString() ?? null,
        traceId: frame.traceId ? uuidText(frame.traceId) : null,
        producerSub: frame.producerSub?.toString() ?? null,
        encrypted: frame.encrypted,
      };
    } catch (error) {
      if (!(error instanceof SegmentDamagedError)) throw error;
      this.logger.error(
        `dead letter without payload, partition ${partitionId} offset ${offset}: ${error.message}`,
      );
      return null;
    }
  }
}

/** What was said of this message, else the first thing that was said at all. */
function reasonOf(refusals: readonly AckItem[], transactionId: string | undefined): string {
  const reasons = refusals.filter(({ error }) => error !== null && error !== '');
  const own = reasons.find((refusal) => refusal.transactionId === transactionId);
  return (own ?? reasons[0])?.error ?? DEFAULT_REASON;
}
