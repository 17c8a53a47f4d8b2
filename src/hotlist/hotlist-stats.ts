import type { QueueBook } from './queue-book.js';
import type { ReseedMode } from './reseed-schedule.js';
import type { Promotion } from './ring-marks.js';

/** Upper bounds of the buckets of ready ages, in milliseconds; one more bucket is open. */
export const readyAgeBucketsMs = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 60_000] as const;

/** Counters since the start; they only grow. */
export class HotlistCounters {
  readonly marks = { quiet: 0, immediate: 0 };
  readonly verdicts = { took: 0, leased: 0, empty: 0, requeue: 0 };
  readonly promotes: Record<Promotion, number> = { ready: 0, cleared: 0, held: 0, noted: 0, ignored: 0 };
  /** What turned entries ready. */
  readonly readySources = { mark: 0, wheel: 0, reseed: 0 };
  readonly reseeds: Record<ReseedMode, { ok: number; failed: number }> = {
    full: { ok: 0, failed: 0 },
    window: { ok: 0, failed: 0 },
  };
  /** Queues that left memory. */
  readonly evictions = { idle: 0, unserved: 0 };
  ticketsExpired = 0;
  /** How long taken entries had been ready: a counter a bucket, not cumulative. */
  readonly readyAge = {
    buckets: new Array<number>(readyAgeBucketsMs.length + 1).fill(0),
    count: 0,
    sumMs: 0,
  };

  noteReadyAge(ageMs: number): void {
    const bucket = readyAgeBucketsMs.findIndex((boundMs) => ageMs <= boundMs);
    this.readyAge.buckets[bucket < 0 ? readyAgeBucketsMs.length : bucket]!++;
    this.readyAge.count++;
    this.readyAge.sumMs += ageMs;
  }
}

/** What is in memory at this moment. Costs one step a ring: for scrapes and log lines, not for pops. */
export interface HotlistState {
  queues: number;
  rings: number;
  partitions: number;
  /** Partitions in no ring's list are idle and not counted. */
  entries: { ready: number; wheel: number; inflight: number };
  oldestReadyMs: number;
  /** Age of the oldest full walk; rings that never had one are counted by `coldRings`. */
  fullWalkAgeMaxMs: number;
  coldRings: number;
}

export function describe(book: QueueBook, nowMs: number): HotlistState {
  const state: HotlistState = {
    queues: book.queueCount,
    rings: 0,
    partitions: 0,
    entries: { ready: 0, wheel: 0, inflight: 0 },
    oldestReadyMs: 0,
    fullWalkAgeMaxMs: 0,
    coldRings: 0,
  };
  for (const queue of book.allQueues()) state.partitions += queue.partitions.size;
  for (const ring of book.rings()) {
    state.rings++;
    state.entries.ready += ring.readyCount;
    state.entries.wheel += ring.wheelCount;
    state.entries.inflight += ring.inflightCount;
    state.oldestReadyMs = Math.max(state.oldestReadyMs, ring.oldestReadyMs(nowMs));
    const fullWalkAgeMs = ring.reseed.fullWalkAgeMs(nowMs);
    if (fullWalkAgeMs === undefined) state.coldRings++;
    else state.fullWalkAgeMaxMs = Math.max(state.fullWalkAgeMaxMs, fullWalkAgeMs);
  }
  return state;
}

export interface HotlistStats extends HotlistState, Readonly<Omit<HotlistCounters, 'noteReadyAge'>> {
  openTickets: number;
  dirty: { waiting: number; dropped: number };
}
