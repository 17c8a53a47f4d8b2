import { Injectable, Logger } from '@nestjs/common';
import { LimiterService } from '../../limiter/limiter.service.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import { decodeSegment } from '../../segment/segment.js';
import type { PartitionTarget } from '../partition-target.js';
import type { PushMessage } from '../push-message.js';
import { logOriginalsV1, type StoredSegment } from '../push.procedures.js';

export interface Duplicate {
  readonly message: PushMessage;
  /** Where its transactionId was first stored. */
  readonly offset: number;
}

const NIL_ID = Buffer.alloc(16);
/** Blobs looked at in one go; thousands of duplicates may point into as many segments. */
const BYTES_PER_CALL = 8 * 1024 * 1024;

/**
 * Tells duplicates the id of the message that was stored first. The verdict itself is certain, so trouble here costs
 * them only the id: it is nil when the original is gone or cannot be read.
 */
@Injectable()
export class Originals {
  private readonly logger = new Logger('Push');

  constructor(
    private readonly limiter: LimiterService,
    private readonly rawSql: RawSqlService,
  ) {}

  /** Settles every one of them, whatever happens; never rejects. */
  async settle(target: PartitionTarget, duplicates: readonly Duplicate[]): Promise<void> {
    try {
      let open = [...duplicates].sort((a, b) => a.offset - b.offset);
      while (open.length > 0) {
        const segments = await this.fetch(target, open);
        if (segments.length === 0) break;
        for (const segment of segments) this.settleFrom(segment, open);
        const { end } = segments[segments.length - 1];
        open = open.filter(({ offset }) => offset > end);
      }
    } catch (error) {
      this.logger.warn(
        `the originals of ${duplicates.length} duplicates could not be read: ${String(error)}`,
      );
    } finally {
      for (const { message } of duplicates) message.duplicateOf(NIL_ID); // no effect where the id was found
    }
  }

  private fetch(target: PartitionTarget, open: readonly Duplicate[]): Promise<StoredSegment[]> {
    const offsets = open.map(({ offset }) => offset);
    return this.limiter.withPermit('push', null, () =>
      this.rawSql.call(logOriginalsV1, { target, offsets, bytesMax: BYTES_PER_CALL }),
    );
  }

  private settleFrom({ base, end, blob }: StoredSegment, open: readonly Duplicate[]): void {
    const inside = open.filter(({ offset }) => offset >= base && offset <= end);
    const first = inside[0].offset;
    const last = inside[inside.length - 1].offset;
    const frames = decodeSegment(blob, end - base + 1).frames(first - base, last - first + 1);
    for (const { message, offset } of inside) {
      const frame = frames[offset - first];
      // Another id at that place: the partition was deleted and filled anew since the verdict.
      if (frame.transactionId.equals(message.transactionId))
        message.duplicateOf(Buffer.from(frame.messageId));
    }
  }
}
