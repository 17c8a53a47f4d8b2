import { Inject, Injectable, Logger } from '@nestjs/common';
import { BrokerError } from '../../base/errors/broker-error.js';
import { queueKey } from '../../base/queue-key.js';
import { HotlistService } from '../../hotlist/hotlist.service.js';
import { LimiterService } from '../../limiter/limiter.service.js';
import type { Permit } from '../../limiter/permit.js';
import { LARGE_SEGMENT_BYTES } from '../../segment/encode-large-segment.js';
import { DedupIndexes, type DedupStats } from '../dedup/dedup-indexes.js';
import type { DedupPromise } from '../dedup/dedup-promise.js';
import type { PartitionTarget } from '../partition-target.js';
import type { PushMessage } from '../push-message.js';
import { PUSH_OPTIONS, type PushOptions } from '../push.options.js';
import { TurnBudget } from '../turn-budget.js';
import { BundleSender, type SegmentOutcome } from './bundle-sender.js';
import { Divert } from './divert.js';
import { FlushPlan, type PlannedSegment } from './flush-plan.js';
import { Originals, type Duplicate } from './originals.js';
import { packLargeSegment, packSegment, type PackedSegment } from './pack-segment.js';

const SEGMENT_FRAMES_MAX = 5_000;
const SEGMENT_BYTES_MAX = 4 * 1024 * 1024;
const FLUSH_BYTES_MAX = 16 * 1024 * 1024;
const KIB = 1024;
/** Hashes that an index takes in in about a microsecond. */
const HASHES_PER_UNIT = 8;

type ReadySegment = PackedSegment & { readonly promise: DedupPromise };

export interface FlusherStats {
  /** Transactions, including those whose partitions had to be sent again alone. */
  flushes: number;
  /** Segments and messages handed to them. */
  flushedPartitions: number;
  flushedMessages: number;
  rttMs: number;
  inFlight: number;
  /** Partitions with messages waiting or in flight. */
  partitions: number;
  dedup: DedupStats;
}

/**
 * Sends messages to PostgreSQL, many at a time. There is no timer: a flush starts as soon as one may, and what
 * arrives while as many as allowed are in flight goes into the next one together. So a quiet broker adds no latency,
 * and the batches of a busy one grow with its load.
 *
 * Order of what it takes (G2, G3): permit, then messages, then connection; the connection only for the statement.
 */
@Injectable()
export class Flusher {
  private readonly logger = new Logger('Push');
  private readonly plan: FlushPlan<PushMessage>;
  private readonly counters = { flushes: 0, flushedPartitions: 0, flushedMessages: 0 };
  private inFlight = 0;
  private isScheduled = false;
  private waitsForPermit = false;

  constructor(
    private readonly limiter: LimiterService,
    private readonly sender: BundleSender,
    private readonly originals: Originals,
    private readonly dedup: DedupIndexes,
    private readonly hotlist: HotlistService,
    @Inject(PUSH_OPTIONS) private readonly options: PushOptions,
    private readonly divert: Divert = new Divert(),
  ) {
    this.plan = new FlushPlan({
      partitionsMax: options.bundlePartitionsMax,
      segmentFramesMax: SEGMENT_FRAMES_MAX,
      segmentBytesMax: SEGMENT_BYTES_MAX,
      flushBytesMax: FLUSH_BYTES_MAX,
    });
  }

  /** Every message gets its verdict in the end; those of one partition are stored in the order of these calls. */
  add(target: PartitionTarget, messages: readonly PushMessage[]): void {
    this.plan.add(target, messages);
    if (this.isScheduled) return;
    // At the end of this turn of the event loop: requests that arrived together leave together.
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.dispatch();
    });
  }

  stats(): FlusherStats {
    return {
      ...this.counters,
      rttMs: this.sender.rttMs,
      inFlight: this.inFlight,
      partitions: this.plan.partitions,
      dedup: this.dedup.stats(),
    };
  }

  /** Round trip of the last push statements in milliseconds; `q` from 0 to 1. */
  rttQuantileMs(q: number): number {
    return this.sender.rttQuantileMs(q);
  }

  private dispatch(): void {
    while (this.inFlight < this.options.flushesInFlightMax && this.plan.hasReady) {
      const permit = this.limiter.tryAcquire('push');
      if (!permit) return this.waitForPermit();
      void this.run(permit);
    }
  }

  /** Messages go on gathering while the lane is busy. One waiter is enough: with its permit all starts anew. */
  private waitForPermit(): void {
    if (this.waitsForPermit) return;
    this.waitsForPermit = true;
    this.limiter
      .withPermit('push', null, (permit) => {
        this.waitsForPermit = false;
        return this.run(permit);
      })
      .catch((error: unknown) => {
        this.waitsForPermit = false;
        for (const message of this.plan.dropReady()) message.failed(asBrokerError(error));
      });
  }

  /** One flush. Never rejects. */
  private async run(permit: Permit): Promise<void> {
    this.inFlight += 1;
    try {
      const planned = this.plan.take();
      if (planned.length > 0) await this.flush(planned, permit);
    } finally {
      permit.release(); // before dispatch, which would otherwise wait for it
      this.inFlight -= 1;
      this.dispatch();
    }
  }

  private async flush(planned: readonly PlannedSegment<PushMessage>[], permit: Permit): Promise<void> {
    const survivors = new Map<string, PushMessage[]>();
    try {
      const packed = await this.pack(this.divert.before(planned));
      if (packed.length === 0) return;
      this.counters.flushes += 1;
      this.counters.flushedPartitions += packed.length;
      for (const { count } of packed) this.counters.flushedMessages += count;
      const outcomes = await this.sender.send(packed, permit);
      this.mark(packed, outcomes);
      if (outcomes.some(({ status }) => status !== 'failed')) this.divert.stored();
      packed.forEach((segment, k) => this.conclude(segment, outcomes[k], survivors));
      await this.learn(packed, outcomes);
    } catch (error) {
      // Nothing above is expected to throw. If it does, an answer is owed all the same.
      this.logger.error(`push flush failed: ${String(error)}`, (error as Error).stack);
      survivors.clear();
      for (const { items } of planned) for (const message of items) message.failed(asBrokerError(error));
    } finally {
      for (const { target } of planned) this.plan.finish(target, survivors.get(target.key));
    }
  }

  /** A segment that cannot be packed fails alone. */
  private async pack(planned: readonly PlannedSegment<PushMessage>[]): Promise<ReadySegment[]> {
    const turn = new TurnBudget();
    const packed: ReadySegment[] = [];
    for (const segment of planned) {
      try {
        const isLarge = segment.bytes >= LARGE_SEGMENT_BYTES;
        const one = isLarge ? await packLargeSegment(segment) : packSegment(segment);
        packed.push({ ...one, promise: this.dedup.vouch(one) });
      } catch (error) {
        for (const message of segment.items) message.failed(asBrokerError(error));
      }
      // Each message is packed, and its id is looked for.
      const pause = turn.spend(2 * segment.items.length + segment.bytes / KIB);
      if (pause) await pause;
    }
    return packed;
  }

  /** Before any client hears of its push: whoever was answered finds the message with its next pop (http-api 3.1). */
  private mark(packed: readonly PackedSegment[], outcomes: readonly SegmentOutcome[]): void {
    packed.forEach(({ target, count }, k) => {
      if (outcomes[k].status !== 'queued') return;
      this.hotlist.offer(queueKey(target.tenant, target.queue), target.partition, count, { broadcast: true });
    });
  }

  /** When all have their answers, and before the next segments of these partitions leave. */
  private async learn(packed: readonly ReadySegment[], outcomes: readonly SegmentOutcome[]): Promise<void> {
    const turn = new TurnBudget();
    for (const [k, segment] of packed.entries()) {
      const outcome = outcomes[k];
      if (outcome.status === 'failed') continue;
      this.dedup.learn(segment, segment.promise, outcome);
      const pause = turn.spend(segment.count / HASHES_PER_UNIT);
      if (pause) await pause;
    }
  }

  private conclude(
    { target, messages }: PackedSegment,
    outcome: SegmentOutcome,
    survivors: Map<string, PushMessage[]>,
  ): void {
    if (outcome.status === 'queued') {
      for (const message of messages) message.queued();
    } else if (outcome.status === 'failed') {
      this.divert.after(messages, outcome.error);
    } else {
      // Nothing of the segment was written. Each round takes at least one message out, so the rounds end.
      const offsets = new Map(outcome.dups.map(({ i, off }) => [i, off]));
      const duplicates: Duplicate[] = [];
      const others: PushMessage[] = [];
      messages.forEach((message, i) => {
        const offset = offsets.get(i);
        if (offset === undefined) others.push(message);
        else duplicates.push({ message, offset });
      });
      survivors.set(target.key, others);
      this.originals.settle(target, duplicates); // a read, and the partition's next segment need not wait for it
    }
  }
}

function asBrokerError(error: unknown): BrokerError {
  return error instanceof BrokerError
    ? error
    : new BrokerError('internal', undefined, undefined, { cause: error });
}
