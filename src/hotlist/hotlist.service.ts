import { Inject, Injectable, Logger, type OnModuleDestroy, Optional } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { Checkout, type GiveBack } from './checkout.js';
import { DirtySet } from './dirty-set.js';
import { type DirtyMark, HINT_SINK, type HintSink } from './hint-sink.js';
import type { DeferralConfig } from './holds.js';
import { describe, HotlistCounters, type HotlistStats } from './hotlist-stats.js';
import { HOTLIST_OPTIONS, type HotlistOptions } from './hotlist.options.js';
import { OpenCheckouts } from './open-checkouts.js';
import { PendingWakes } from './pending-wakes.js';
import { QueueBook } from './queue-book.js';
import type { QueueState } from './queue-state.js';
import { planReseeds } from './reseed-schedule.js';
import type { ReseedWalk } from './reseed-walk.js';
import { promotionsPerTurn, type Ring } from './ring.js';
import { applyVerdict } from './ring-checkin.js';
import { mark, promote } from './ring-marks.js';
import { RingReseeds } from './ring-reseeds.js';
import type { ClaimTerms, Verdict } from './verdict.js';
import { WAKER, type Waker } from './waker.js';

export interface OfferHow {
  /** Only this group's ring; unset: every ring of the queue. */
  group?: string;
  /** Open the gate now instead of with other marks of the same few milliseconds. */
  immediate?: boolean;
  /** Tell other brokers too. Not for what another broker told us. */
  broadcast?: boolean;
}

/** How a caller knows the partition: an ack has only its id. */
export type PartitionRef = { name: string } | { id: string };

/**
 * The partitions believed to have data, by (queue, group), in memory. PostgreSQL decides what is true; this only
 * decides what is worth asking. A key is `queueKey(tenant, queue)`.
 *
 * Whatever makes data available ends in `offer` or `promote`, and both reach the ring before they open the gate: a
 * pop woken the other way round would find the ring empty and go back to sleep.
 *
 * Looking (`hasReady`, `estimate`, `needsReseed`, `needsConfig`) never creates anything and is false for a ring that
 * was not registered, or that left memory since: a pop registers its ring in every round before it looks.
 */
@Injectable()
export class HotlistService implements OnModuleDestroy {
  private readonly counters = new HotlistCounters();
  private readonly checkouts = new OpenCheckouts();
  private readonly book: QueueBook;
  private readonly wakes: PendingWakes;
  private readonly reseeds: RingReseeds;
  private readonly dirty: DirtySet;

  constructor(
    @Inject(HOTLIST_OPTIONS) private readonly options: HotlistOptions,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(WAKER) private readonly waker: Waker,
    @Optional() @Inject(HINT_SINK) private readonly hintSink?: HintSink,
  ) {
    const { plan, warnings } = planReseeds(options);
    for (const warning of warnings) new Logger('Hotlist').warn(warning);
    this.book = new QueueBook(options, plan);
    this.wakes = new PendingWakes(clock, waker, options.wakeCoalesceMs);
    this.reseeds = new RingReseeds(this.book, this.checkouts, this.wakes, this.counters, clock);
    this.dirty = new DirtySet(options.dirtyCap);
  }

  /**
   * "This partition may have `count` more messages", after the commit that wrote them. A mark for a push that failed
   * is legal noise. Wakes only when an entry turned ready, or when no ring was meant: pops of a single partition
   * have no ring and must still hear of it.
   */
  offer(key: string, partition: string, count: number, how: OfferHow = {}): void {
    this.counters.marks[how.immediate ? 'immediate' : 'quiet']++;
    const isNews = this.markRings(key, partition, count, how.group);
    if (how.broadcast && this.hintSink && this.dirty.add(key, partition, how.group)) this.hintSink.onDirty();
    // The rings knew already; pops that have no ring did not.
    if (!isNews) this.waker.openPartition(key, partition);
    else if (how.immediate) this.wakes.openNow(key, partition);
    else this.wakes.openSoon(key, partition);
  }

  /**
   * The group's lease on the partition ended. `covered` only when the whole leased batch is known to be completed;
   * a nack, a dead letter or an expiry is not.
   */
  promote(key: string, group: string, partition: PartitionRef, covered: boolean): void {
    const queue = this.book.queue(key);
    const ring = queue?.rings.get(group);
    if (!queue || !ring) {
      if ('name' in partition) this.wakes.openSoon(key, partition.name);
      return;
    }
    queue.isTouched = true;
    const index =
      'name' in partition ? queue.partitions.find(partition.name) : queue.partitions.findById(partition.id);
    const promotion =
      index === undefined ? 'ignored' : promote(ring, index, covered, this.clock.monoMs(), queue.holds);
    this.counters.promotes[promotion]++;
    this.book.agenda.update(ring);
    if (promotion === 'ready') this.wakes.openSoon(key, queue.partitions.name(index!));
    else if (index !== undefined) this.waker.openPartition(key, queue.partitions.name(index));
    else if ('name' in partition) this.waker.openPartition(key, partition.name);
  }

  /** Remembers an id with its name, if the queue is known here. */
  learn(key: string, id: string, name: string): void {
    const partitions = this.book.queue(key)?.partitions;
    partitions?.learn(partitions.intern(name), id);
  }

  /** Only once the group's seed marker is known to exist: a made-up name must not leave a ring behind (G7). */
  registerRing(key: string, group: string): void {
    this.book.register(key, group, this.clock.monoMs()).isTouched = true;
  }

  hasRing(key: string, group: string): boolean {
    return this.book.ring(key, group) !== undefined;
  }

  hasReady(key: string, group: string): boolean {
    const queue = this.book.queue(key);
    const ring = queue?.rings.get(group);
    if (!queue || !ring) return false;
    const nowMs = this.clock.monoMs();
    queue.noteServed(nowMs);
    return ring.hasReady(nowMs);
  }

  /** Messages believed ready, counted up to `limit`; Infinity when they cannot be counted cheaply. */
  estimate(key: string, group: string, limit: number): number {
    return this.book.ring(key, group)?.estimate(limit, this.clock.monoMs()) ?? 0;
  }

  /** The queue's settings as last read; undefined until then, or for a queue not known here. */
  config(key: string): Readonly<DeferralConfig> | undefined {
    return this.book.queue(key)?.config;
  }

  /** The settings were never read, or too long ago, and nobody has begun to read them. */
  needsConfig(key: string): boolean {
    return this.book.queue(key)?.needsConfig(this.clock.monoMs()) ?? false;
  }

  /** Whoever is about to read the settings says so: others go on with the old ones, also if the read fails. */
  expectConfig(key: string): void {
    this.book.queue(key)?.expectConfig(this.clock.monoMs());
  }

  /**
   * New holds start the rings afresh: entries may rest on the wheel for a delay that no longer exists, and finding
   * them one by one would take longer than the full walk that a cold ring owes.
   */
  setConfig(key: string, config: DeferralConfig): void {
    const queue = this.book.queue(key);
    if (!queue?.setConfig(config, this.clock.monoMs())) return;
    this.book.replaceRings(queue);
    this.wakes.openSoon(key);
  }

  /** Takes up to `k` names, fewer once their estimated messages reach `want`. Empty when nothing is ready. */
  checkOut(key: string, group: string, { k, want }: { k: number; want: number }): Checkout {
    const queue = this.book.queue(key);
    const ring = queue?.rings.get(group);
    const nowMs = this.clock.monoMs();
    if (!queue || !ring) return new Checkout(0, nowMs, [], [], () => undefined);

    queue.noteServed(nowMs);
    const id = this.checkouts.nextId();
    const { candidates, promoted } = ring.take(k, want, nowMs, id);
    this.counters.readySources.wheel += promoted;
    this.book.agenda.update(ring);
    // What this take brought forward the ticker will not find any more, so parked pops hear of it from here.
    if (promoted > 0 && ring.readyCount > 0) this.wakeForReady(queue, ring);

    for (const { readyAgeMs } of candidates) this.counters.noteReadyAge(readyAgeMs);
    const names = candidates.map(({ index }) => queue.partitions.name(index));
    const giveBack: GiveBack = (...answer) => this.giveBack(queue, ring, ...answer);
    const checkout = new Checkout(id, nowMs, candidates, names, giveBack);
    if (names.length > 0) this.checkouts.add(checkout);
    return checkout;
  }

  needsReseed(key: string, group: string): boolean {
    return this.book.ring(key, group)?.reseed.isDue(this.clock.monoMs()) ?? false;
  }

  /** Null when the ring is not due, is being walked already, or is not known. */
  beginReseed(key: string, group: string): ReseedWalk | null {
    return this.reseeds.begin(key, group);
  }

  /** Rings the background loop should walk now, the latest first. */
  dueRings(): { key: string; group: string }[] {
    return this.reseeds.due();
  }

  /** A cursor moved back without a write. Unknown rings owe a full walk anyway. */
  forceFullReseed(key: string, group?: string): void {
    for (const ring of this.book.queue(key)?.rings.values() ?? []) {
      if (group === undefined || ring.group === group) ring.reseed.demandFull();
    }
  }

  /** Marks from elsewhere may have been lost: every ring, or every ring of one queue, compares itself soon. */
  expectReseed(key?: string): void {
    for (const ring of this.book.rings()) {
      if (key === undefined || ring.key === key) ring.reseed.demandWalk();
    }
  }

  forgetGroup(key: string, group: string): void {
    if (this.book.dropRing(key, group)) this.wakes.openNow(key);
  }

  dropQueue(key: string): void {
    this.book.dropQueue(key);
    this.wakes.openNow(key);
  }

  /** Up to `limit` marks that other brokers have not been told of. */
  drainDirty(limit: number): DirtyMark[] {
    return this.dirty.drain(limit);
  }

  stats(): HotlistStats {
    const { marks, verdicts, promotes, readySources, reseeds, evictions, ticketsExpired, readyAge } =
      structuredClone({ ...this.counters });
    return {
      ...describe(this.book, this.clock.monoMs()),
      ...{ marks, verdicts, promotes, readySources, reseeds, evictions, ticketsExpired, readyAge },
      openTickets: this.checkouts.size,
      dirty: { waiting: this.dirty.size, dropped: this.dirty.dropped },
    };
  }

  /** When the next entry on any wheel is due; Infinity when none waits. */
  get nextRevisitMs(): number {
    return this.book.agenda.nextDueMs;
  }

  onRevisitEarlier(notify: () => void): void {
    this.book.agenda.onEarlier(notify);
  }

  /** Due entries of all rings become ready and their queues are woken. */
  promoteDue(limit = promotionsPerTurn): number {
    const nowMs = this.clock.monoMs();
    let promoted = 0;
    for (;;) {
      const ring = this.book.agenda.firstDue(nowMs);
      if (!ring || promoted >= limit) break;
      const { partitions } = this.book.queue(ring.key)!;
      promoted += ring.promoteDue(nowMs, limit - promoted, (index) =>
        this.wakes.openSoon(ring.key, partitions.name(index)),
      );
      this.book.agenda.update(ring);
    }
    this.counters.readySources.wheel += promoted;
    return promoted;
  }

  sweepTickets(): void {
    this.counters.ticketsExpired += this.checkouts.expire(this.clock.monoMs() - this.options.ticketMaxAgeMs);
  }

  sweepIdle(): void {
    this.counters.evictions.idle += this.book.sweepIdle();
  }

  trimUnserved(): void {
    this.counters.evictions.unserved += this.book.trimUnserved(
      this.clock.monoMs(),
      this.options.unservedTrimMs,
    );
  }

  onModuleDestroy(): void {
    this.wakes.stop();
  }

  /** True when queue-wide pops should look, also because there was no ring to mark. A mark never creates one. */
  private markRings(key: string, partition: string, count: number, group: string | undefined): boolean {
    const queue = this.options.enabled ? this.book.queue(key) : undefined;
    if (!queue) return true;
    const ring = group === undefined ? undefined : queue.rings.get(group);
    if (group === undefined ? queue.rings.size === 0 : !ring) return true;

    queue.isTouched = true;
    const index = queue.partitions.intern(partition);
    const nowMs = this.clock.monoMs();
    let readied = 0;
    for (const each of ring ? [ring] : queue.rings.values()) {
      if (mark(each, index, count, nowMs, queue.holds)) readied++;
      this.book.agenda.update(each);
    }
    this.counters.readySources.mark += readied;
    // With a minimum pop wait, pops wait at the gate for a number of messages: one more is news, too.
    return readied > 0 || (queue.config?.minPopWaitMs ?? 0) > 0;
  }

  private giveBack(
    queue: QueueState,
    ring: Ring,
    checkout: Checkout,
    verdicts: readonly Verdict[],
    terms: ClaimTerms,
  ): void {
    this.checkouts.remove(checkout);
    if (!this.book.isCurrent(ring)) return;
    const nowMs = this.clock.monoMs();
    queue.noteServed(nowMs);
    const wasQuiet = !ring.hasReady(nowMs);
    const byName = new Map(verdicts.map((verdict) => [verdict.partition, verdict]));
    const evaluated: [(typeof checkout.candidates)[number], Verdict][] = [];

    // Those nobody looked at go first: behind the ones just served, they would be passed over again and again.
    for (const candidate of checkout.candidates) {
      if (!ring.isHeldBy(candidate.index, checkout.id)) continue;
      const verdict = byName.get(queue.partitions.name(candidate.index));
      if (verdict) evaluated.push([candidate, verdict]);
      else {
        ring.toReady(candidate.index, nowMs);
        this.counters.verdicts.requeue++;
      }
    }
    for (const [candidate, verdict] of evaluated) {
      applyVerdict(ring, candidate, verdict, terms, nowMs, queue.holds);
      this.counters.verdicts[verdict.state]++;
      if (verdict.partitionId) queue.partitions.learn(candidate.index, verdict.partitionId);
    }

    this.book.agenda.update(ring);
    // Pops that came while these entries were out found nothing and went to sleep.
    if (wasQuiet && ring.readyCount > 0) this.wakeForReady(queue, ring);
  }

  /** Names the ready entries until the pending opening has enough of them to wake everybody. */
  private wakeForReady(queue: QueueState, ring: Ring): void {
    let named = 0;
    for (const index of ring.readyIndexes()) {
      this.wakes.openSoon(queue.key, queue.partitions.name(index));
      if (++named > 64) break;
    }
  }
}
