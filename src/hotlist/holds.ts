/** What a queue's settings ask of the ring, as last read from PostgreSQL. Milliseconds, 0 is off. */
export interface DeferralConfig {
  delayedMs: number;
  windowMs: number;
  minPopWaitMs: number;
}

/** How long entries of one queue are held back, and by which rule they come forward. */
export interface Holds {
  /** Delayed processing. SQL enforces it; the wheel only avoids asking too early. */
  delayedMs: number;
  /** windowBuffer. The wheel is the only authority on it while the ring serves. */
  windowMs: number;
  windowBatch: number;
  padMs: number;
  revisitCapMs: number;
}

/** No hold at all: whatever rests on the wheel of such a queue waits for a lease. */
export function isPlain(holds: Holds): boolean {
  return holds.delayedMs === 0 && holds.windowMs === 0;
}

/** Delayed processing wins when both are set: it is the longer and the harder rule. */
export function isWindowOnly(holds: Holds): boolean {
  return holds.delayedMs === 0 && holds.windowMs > 0;
}
