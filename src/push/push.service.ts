import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { ENVELOPE_BYTES } from '../encryption/envelope.js';
import { QueueEncryption } from '../encryption/queue-encryption.js';
import { PushAdmission } from '../queue-controls/push-admission.js';
import { mintUuids } from '../segment/uuid-v7.js';
import { ByteBudget } from './byte-budget.js';
import { Countdown } from './countdown.js';
import { Flusher, type FlusherStats } from './flush/flusher.js';
import { ItemGroups } from './group-items.js';
import { PUSH_OPTIONS, type PushOptions } from './push.options.js';
import type { PushItem } from './push-item.js';
import type { PushResult } from './push-message.js';
import type { PushRequest } from './push.request.js';
import { TurnBudget } from './turn-budget.js';

export interface PushOrigin {
  tenant: string;
  /** Size of the body, which the payloads are slices of and keep in memory. */
  bodyBytes: number;
  /** The authenticated producer's `sub`, UTF-8. */
  producerSub: Buffer | null;
}

export interface PushStats extends FlusherStats {
  requests: number;
  /** Items of all requests, by what became of them. */
  messages: number;
  duplicates: number;
  /** On disk: the database was away, or push maintenance is on. */
  spooled: number;
  failed: number;
  /** Bytes of requests without an answer. */
  bufferedBytes: number;
}

/** What one item costs beside its bytes in the body: parsed item, message, ids, views of the body. */
const ITEM_BYTES = 512;
const SLICE_ITEMS = 1_000;
/** Each may hold a large payload to encrypt. */
const SEALING_SLICE_ITEMS = 20;

/** Items in, verdicts out: minted ids, groups by partition, and a wait for the flushes that carry them. */
@Injectable()
export class PushService {
  private readonly budget: ByteBudget;
  private readonly counters = { requests: 0, messages: 0, duplicates: 0, spooled: 0, failed: 0 };

  constructor(
    private readonly flusher: Flusher,
    private readonly admission: PushAdmission,
    private readonly encryption: QueueEncryption,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(PUSH_OPTIONS) options: PushOptions,
  ) {
    this.budget = new ByteBudget(options.bufferBytesMax);
  }

  /**
   * Stores the items; one result per item, in order, when all are committed and their partitions offered to pops.
   * Items of one partition keep their order and are stored behind those of requests that were pushed before.
   *
   * Where only some could be stored the others are `failed` in their place. When the database failed and nothing was
   * stored it throws instead: the BrokerError of the first failure, or `overloaded` when too much waits already. So it
   * does with `queue_paused` and `too_many_messages` when one of the queues takes nothing now.
   */
  async push({ items }: PushRequest, { tenant, bodyBytes, producerSub }: PushOrigin): Promise<PushResult[]> {
    if (items.length === 0) return [];
    const isSealing =
      !this.encryption.isIdle && items.some(({ queue }) => this.encryption.seals(tenant, queue));
    const envelopeBytes = isSealing ? (bodyBytes * 4) / 3 + items.length * ENVELOPE_BYTES : 0;
    using _held = this.budget.take(bodyBytes + items.length * ITEM_BYTES + envelopeBytes);
    using _room = this.admission.isOpen ? null : await this.admission.admit(tenant, countByQueue(items));

    const request = new Countdown();
    const groups = new ItemGroups(tenant, request, this.encryption, producerSub);
    const results: PushResult[] = [];
    const turn = new TurnBudget();
    const sliceItems = isSealing ? SEALING_SLICE_ITEMS : SLICE_ITEMS;
    for (let start = 0; start < items.length; start += sliceItems) {
      const end = Math.min(items.length, start + sliceItems);
      const ids = mintUuids(end - start, this.clock.wallMs());
      for (let i = start; i < end; i++) results.push(groups.add(items[i], ids[i - start]));
      const pause = turn.spend(end - start + groups.takeSealUnits());
      if (pause) await pause;
    }
    for (const { target, messages } of groups.groups) {
      this.flusher.add(target, messages);
      const pause = turn.spend(messages.length);
      if (pause) await pause;
    }
    request.takeOff();
    await request.done;

    this.count(results);
    throwIfNothingIsStored(results);
    return results;
  }

  stats(): PushStats {
    return { ...this.counters, bufferedBytes: this.budget.takenBytes, ...this.flusher.stats() };
  }

  /** Round trip of the last push statements in milliseconds; `q` from 0 to 1. */
  rttQuantileMs(q: number): number {
    return this.flusher.rttQuantileMs(q);
  }

  private count(results: readonly PushResult[]): void {
    const { counters } = this;
    counters.requests += 1;
    counters.messages += results.length;
    for (const { status } of results) {
      if (status === 'duplicate') counters.duplicates += 1;
      else if (status === 'buffered') counters.spooled += 1;
      else if (status === 'failed') counters.failed += 1;
    }
  }
}

function countByQueue(items: readonly PushItem[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { queue } of items) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  return counts;
}

/**
 * Refused items alone do not fail a request: its client would send the same ones again. Nor do items that the spool
 * could not take: there the results themselves are the answer (http-api 3.1).
 */
function throwIfNothingIsStored(results: readonly PushResult[]): void {
  let first: BrokerError | null = null;
  for (const { status, failure } of results) {
    if (status !== 'failed') return;
    if (failure instanceof BrokerError) first ??= failure;
  }
  if (first && first.code !== 'spool_failed') throw first;
}
