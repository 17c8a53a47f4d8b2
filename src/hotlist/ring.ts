import { EntryTable, NONE, SLOT_MASK } from './entry-table.js';
import { ReadyList } from './ready-list.js';
import type { ReseedSchedule } from './reseed-schedule.js';
import { RevisitWheel } from './revisit-wheel.js';

/**
 * The states of a partition in the ring of one group:
 *
 *   IDLE      believed to have nothing; leaves by a mark or a reseed row
 *   READY     believed to have data, waits in the ready list; leaves by a take
 *   WHEEL     held back until a time (leased, delayed, window); leaves when due, by a promote, by an early mark
 *   INFLIGHT  handed to one pop; leaves by that pop's check-in, or when its ticket is given up
 *
 * Always true: an entry is in the ready list exactly while READY, on the wheel exactly while WHEEL, and owned by a
 * check-out exactly while INFLIGHT; never two of these. Being READY without data costs one empty claim. Being IDLE
 * with data costs the time until the next reseed, so an entry only goes IDLE when PostgreSQL said "empty" (or the
 * claim took all there was) and no mark came since the take.
 *
 * What moves entries is decided in ring-marks.ts and ring-checkin.ts. Here is the structure: four moves, the take,
 * the counters. No clock, no names: entries are the indexes of the queue's PartitionIntern.
 */
export const IDLE = 0;
export const READY = 1;
export const WHEEL = 2;
export const INFLIGHT = 3;

/** An entry as it was when it was taken; the check-in compares. */
export interface Candidate {
  readonly index: number;
  readonly epoch: number;
  readonly releases: number;
  readonly readyAgeMs: number;
}

export interface Taken {
  readonly candidates: Candidate[];
  /** Entries whose time on the wheel had come, now ready; some of them may be among the candidates. */
  readonly promoted: number;
}

/** Promotions of one turn: with a million entries on the wheel this takes a few milliseconds. */
export const promotionsPerTurn = 5000;
const estimateHops = 1024;
const maxCount = 0xffff_ffff;

export class Ring {
  readonly entries = new EntryTable();
  private readonly ready = new ReadyList(this.entries);
  private readonly wheel = new RevisitWheel(this.entries);
  private inflight = 0;
  /** Where the ring stands in the agenda of rings with something on the wheel. */
  agendaPosition = NONE;

  constructor(
    readonly key: string,
    readonly group: string,
    readonly reseed: ReseedSchedule,
  ) {}

  get readyCount(): number {
    return this.ready.length;
  }

  get wheelCount(): number {
    return this.wheel.size;
  }

  get inflightCount(): number {
    return this.inflight;
  }

  /** Infinity when nothing is held back. */
  get nextRevisitMs(): number {
    return this.wheel.nextDueMs;
  }

  stateOf(index: number): number {
    return this.entries.has(index) ? this.entries.page(index).state[index & SLOT_MASK]! : IDLE;
  }

  revisitMsOf(index: number): number {
    return this.wheel.dueMsOf(index);
  }

  /** Something to take now. Changes nothing. */
  hasReady(nowMs: number): boolean {
    return this.ready.length > 0 || this.wheel.nextDueMs <= nowMs;
  }

  /** Age of the entry that has been ready longest; 0 when none is. */
  oldestReadyMs(nowMs: number): number {
    const head = this.ready.head;
    return head === NONE ? 0 : nowMs - this.entries.page(head).readySinceMs[head & SLOT_MASK]!;
  }

  /**
   * Messages believed ready, at least `limit` when there are more. Infinity when an entry on the wheel is due (its
   * size is unknown) or the list is too long to add up for one pop. Too much serves early, too little waits one
   * bounded window: both harmless. Changes nothing.
   */
  estimate(limit: number, nowMs: number): number {
    if (this.wheel.nextDueMs <= nowMs) return Infinity;
    let sum = 0;
    let hops = 0;
    for (const index of this.readyIndexes()) {
      if (hops++ >= estimateHops) return Infinity;
      sum += this.entries.page(index).count[index & SLOT_MASK]!;
      if (sum >= limit) break;
    }
    return sum;
  }

  *readyIndexes(): Generator<number> {
    for (let index = this.ready.head; index !== NONE; index = this.ready.after(index)) yield index;
  }

  /** IDLE, WHEEL, INFLIGHT → READY, at the tail. */
  toReady(index: number, nowMs: number): void {
    this.enter(index, READY);
    this.entries.page(index).readySinceMs[index & SLOT_MASK] = nowMs;
    this.ready.append(index);
  }

  /** IDLE, WHEEL, INFLIGHT → WHEEL until `dueMs`. */
  toWheel(index: number, dueMs: number): void {
    this.enter(index, WHEEL);
    this.wheel.schedule(index, dueMs);
  }

  /** WHEEL, INFLIGHT → IDLE, with nothing believed any more. */
  toIdle(index: number): void {
    this.enter(index, IDLE);
    const page = this.entries.page(index);
    page.count[index & SLOT_MASK] = 0;
    page.pendingSinceMs[index & SLOT_MASK] = 0;
  }

  /** Notes that work was asserted; the epoch tells a check-in that is still out. */
  assertPending(index: number, messages: number, nowMs: number): void {
    this.entries.ensure(index);
    const page = this.entries.page(index);
    const slot = index & SLOT_MASK;
    page.epoch[slot]!++;
    page.count[slot] = Math.min(maxCount, page.count[slot]! + messages);
    page.pendingSinceMs[slot] = nowMs;
  }

  /** What is due on the wheel goes to the ready tail, at most `limit` entries; `onReady` learns which. */
  promoteDue(nowMs: number, limit: number, onReady?: (index: number) => void): number {
    let promoted = 0;
    for (; promoted < limit; promoted++) {
      const index = this.wheel.firstDue(nowMs);
      if (index === undefined) break;
      this.toReady(index, nowMs);
      onReady?.(index);
    }
    return promoted;
  }

  /**
   * Takes up to `k` entries from the head for the check-out `owner`, but no further once their estimates reach
   * `want`: entries taken in vain keep other pops from them.
   */
  take(k: number, want: number, nowMs: number, owner: number): Taken {
    const promoted = this.promoteDue(nowMs, promotionsPerTurn);
    const candidates: Candidate[] = [];
    let messages = 0;
    while (candidates.length < k && (candidates.length === 0 || messages < want)) {
      const index = this.ready.head;
      if (index === NONE) break;
      const page = this.entries.page(index);
      const slot = index & SLOT_MASK;
      this.enter(index, INFLIGHT);
      page.owner[slot] = owner;
      // It must describe the claim to come: a true of an earlier one could clear a partition that still has data.
      page.drained[slot] = 0;
      messages += page.count[slot]!;
      candidates.push({
        index,
        epoch: page.epoch[slot]!,
        releases: page.releases[slot]!,
        readyAgeMs: nowMs - page.readySinceMs[slot]!,
      });
    }
    return { candidates, promoted };
  }

  /** True while this very check-out holds the entry; false once it was given up or taken again. */
  isHeldBy(index: number, owner: number): boolean {
    const page = this.entries.page(index);
    const slot = index & SLOT_MASK;
    return page.state[slot] === INFLIGHT && page.owner[slot] === owner;
  }

  /** The only place that changes a state: leaves what the old one implies, then takes on the new one. */
  private enter(index: number, state: number): void {
    const page = this.entries.page(index);
    const slot = index & SLOT_MASK;
    switch (page.state[slot]) {
      case READY:
        this.ready.remove(index);
        break;
      case WHEEL:
        this.wheel.cancel(index);
        break;
      case INFLIGHT:
        page.owner[slot] = 0;
        this.inflight--;
        break;
    }
    page.state[slot] = state;
    if (state === INFLIGHT) this.inflight++;
  }
}
