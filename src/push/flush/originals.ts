import { Injectable } from '@nestjs/common';
import { SampledLogger } from '../../base/log/sampled-logger.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import { decodeSegment } from '../../segment/segment.js';
import type { PartitionTarget } from '../partition-target.js';
import type { PushMessage } from '../push-message.js';
import { logOriginalsV1, type StoredSegment } from '../push.procedures.js';
import { TurnBudget } from '../turn-budget.js';

export interface Duplicate {
  readonly message: PushMessage;
  /** Where its transactionId was first stored. */
  readonly offset: number;
}

interface Lookup {
  readonly target: PartitionTarget;
  /** Ascending by offset. */
  readonly duplicates: readonly Duplicate[];
}

const NIL_ID = Buffer.alloc(16);
/** Offsets asked for in one call; one partition's are not divided. */
const OFFSETS_PER_CALL = 1_000;
/** Blobs of one call; thousands of duplicates may point into as many segments. */
const BYTES_PER_CALL = 8 * 1024 * 1024;
const KIB = 1024;

/**
 * Tells duplicates the id of the message that was stored first. The verdict itself is certain, so trouble here costs
 * them only the id: it is nil when the original is gone or cannot be read.
 *
 * One call at a time, and what comes meanwhile shares the next: a replay of thousands of messages must not take the
 * lane of the pushes. As a read it needs no permit, like the probes; one connection is all it ever has.
 */
@Injectable()
export class Originals {
  private readonly logger = new SampledLogger('Push');
  private waiting: Lookup[] = [];
  private isRunning = false;

  constructor(private readonly rawSql: RawSqlService) {}

  /** Every one of them is settled in the end, whatever happens. */
  settle(target: PartitionTarget, duplicates: readonly Duplicate[]): void {
    this.waiting.push({ target, duplicates: [...duplicates].sort((a, b) => a.offset - b.offset) });
    if (!this.isRunning) void this.run();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.waiting.length > 0) await this.settleAll(this.next());
    this.isRunning = false;
  }

  private next(): Lookup[] {
    let lookups = 0;
    for (let offsets = 0; lookups < this.waiting.length && offsets < OFFSETS_PER_CALL; lookups++) {
      offsets += this.waiting[lookups].duplicates.length;
    }
    return this.waiting.splice(0, lookups);
  }

  private async settleAll(lookups: readonly Lookup[]): Promise<void> {
    try {
      const turn = new TurnBudget();
      let open = lookups;
      while (open.length > 0) {
        const segments = await this.rawSql.call(logOriginalsV1, {
          partitions: open.map(({ target, duplicates }) => ({
            target,
            offsets: duplicates.map(({ offset }) => offset),
          })),
          bytesMax: BYTES_PER_CALL,
        });
        let index = -1;
        let at = 0;
        for (const segment of segments) {
          const { duplicates } = open[segment.index];
          if (segment.index !== index) [index, at] = [segment.index, 0];
          while (duplicates[at].offset < segment.base) at += 1; // their messages are gone
          const from = at;
          while (at < duplicates.length && duplicates[at].offset <= segment.end) at += 1;
          this.settleFrom(segment, open[segment.index].target, duplicates.slice(from, at));
          const pause = turn.spend(at - from + segment.blob.length / KIB);
          if (pause) await pause;
        }
        open = behind(open, segments.at(-1));
      }
    } catch (error) {
      this.logger.warn('originals', `originals of duplicates could not be read: ${String(error)}`);
    } finally {
      // No effect where the id was found.
      for (const { duplicates } of lookups) for (const { message } of duplicates) message.duplicateOf(NIL_ID);
    }
  }

  /** `inside`: at least one, ascending, all in the segment. A damaged segment costs the others of the call nothing. */
  private settleFrom(
    { base, end, blob }: StoredSegment,
    { queue, partition }: PartitionTarget,
    inside: readonly Duplicate[],
  ): void {
    const first = inside[0].offset;
    const last = inside[inside.length - 1].offset;
    try {
      const frames = decodeSegment(blob, end - base + 1).frames(first - base, last - first + 1);
      for (const { message, offset } of inside) {
        const frame = frames[offset - first];
        // Another id at that place: the partition was deleted and filled anew since the verdict.
        if (frame.transactionId.equals(message.transactionId))
          message.duplicateOf(Buffer.from(frame.messageId));
      }
    } catch (error) {
      this.logger.error(
        'segment',
        `queue "${queue}" partition "${partition}" offset ${base}: ${String(error)}`,
      );
    }
  }
}

/** What was asked for behind the last segment that came, which may not have been looked at; nothing without one. */
function behind(open: readonly Lookup[], last: StoredSegment | undefined): Lookup[] {
  if (!last) return [];
  const { target, duplicates } = open[last.index];
  const rest = duplicates.filter(({ offset }) => offset > last.end);
  const others = open.slice(last.index + 1);
  return rest.length > 0 ? [{ target, duplicates: rest }, ...others] : others;
}
