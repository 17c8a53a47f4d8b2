/** All times in milliseconds; 0 switches a period off where said. */
export interface HotlistOptions {
  /** Off: no ring is kept, `offer()` only opens the gate. */
  enabled: boolean;
  /** Marked messages that end a windowBuffer hold before its time. */
  windowBatch: number;
  /**
   * Added to every revisit that waits for somebody else's commit (a lease, a delay). Waits arrive as durations, so
   * this covers the time until a commit is visible, never the difference of two clocks.
   */
  padMs: number;
  /** Longest rest of a leased partition: its early release may be told to another broker only. */
  revisitCapMs: number;
  reseedMs: number;
  /** 0: every walk is a full one. */
  reseedFullMs: number;
  /** 0: derived from `reseedMs`. */
  reseedWindowMs: number;
  /** 0: off. */
  idleSweepMs: number;
  /** 0: off. */
  unservedTrimMs: number;
  candidateFactor: number;
  candidateMin: number;
  candidateMax: number;
  /** Age at which a check-out counts as lost: the statement timeout and a little more. */
  ticketMaxAgeMs: number;
  /** Quiet marks of one queue within this time share one opening of its gate. */
  wakeCoalesceMs: number;
  /** Marks kept for other brokers before further ones are dropped. */
  dirtyCap: number;
}

export const HOTLIST_OPTIONS = Symbol('HotlistOptions');

export const defaultHotlistOptions: HotlistOptions = {
  enabled: true,
  windowBatch: 100,
  padMs: 300,
  revisitCapMs: 1000,
  reseedMs: 30_000,
  reseedFullMs: 300_000,
  reseedWindowMs: 0,
  idleSweepMs: 300_000,
  unservedTrimMs: 30_000,
  candidateFactor: 8,
  candidateMin: 16,
  candidateMax: 256,
  ticketMaxAgeMs: 35_000,
  wakeCoalesceMs: 5,
  dirtyCap: 200_000,
};

/** How many names a pop for `partitions` partitions takes: more than it needs, since some will turn out leased. */
export function candidateCount(
  partitions: number,
  options: Pick<HotlistOptions, 'candidateFactor' | 'candidateMin' | 'candidateMax'> = defaultHotlistOptions,
): number {
  return Math.min(options.candidateMax, Math.max(options.candidateMin, partitions * options.candidateFactor));
}
