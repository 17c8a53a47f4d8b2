import type { DeferralConfig, Holds } from './holds.js';
import type { HotlistOptions } from './hotlist.options.js';
import { PartitionIntern } from './partition-intern.js';
import type { Ring } from './ring.js';

const configMaxAgeMs = 30_000;
const configRetryMs = 5000;

/** What is held in memory for one queue: its partitions' names, the rings of its groups, its settings. */
export class QueueState {
  readonly partitions = new PartitionIntern();
  readonly rings = new Map<string, Ring>();
  /** Until the settings were read the queue counts as one without holds; SQL enforces them meanwhile. */
  holds: Holds;
  config: DeferralConfig | undefined;
  /** Used since the last idle sweep. */
  isTouched = true;
  /** When a pop last asked here. */
  private servedAtMs: number;
  private configDueMs = -Infinity;

  constructor(
    readonly key: string,
    nowMs: number,
    options: HotlistOptions,
  ) {
    this.servedAtMs = nowMs;
    const { windowBatch, padMs, revisitCapMs } = options;
    this.holds = { delayedMs: 0, windowMs: 0, windowBatch, padMs, revisitCapMs };
  }

  noteServed(nowMs: number): void {
    this.isTouched = true;
    this.servedAtMs = nowMs;
  }

  needsConfig(nowMs: number): boolean {
    return nowMs >= this.configDueMs;
  }

  /** Somebody reads the settings: nobody else needs to for a while, also if that fails. */
  expectConfig(nowMs: number): void {
    this.configDueMs = nowMs + configRetryMs;
  }

  /** True when the holds are others than before, so that what rests on the wheels rests there by old rules. */
  setConfig(config: DeferralConfig, nowMs: number): boolean {
    const changed =
      this.config !== undefined &&
      (this.config.delayedMs !== config.delayedMs || this.config.windowMs !== config.windowMs);
    this.config = { ...config };
    this.configDueMs = nowMs + configMaxAgeMs;
    this.holds = { ...this.holds, delayedMs: config.delayedMs, windowMs: config.windowMs };
    return changed;
  }

  /** Nothing is known that a later cold start would not find again, and nobody has come for it. */
  get isIdle(): boolean {
    if (this.isTouched) return false;
    for (const ring of this.rings.values()) {
      if (ring.readyCount + ring.wheelCount + ring.inflightCount > 0 || ring.reseed.isWalking) return false;
    }
    return true;
  }

  /**
   * Marked here but popped elsewhere: it would collect every pending partition without end. Judged by the absence of
   * consumers, never by the age of entries, which are old in any healthy backlog.
   */
  isUnserved(nowMs: number, trimMs: number): boolean {
    if (nowMs - this.servedAtMs < trimMs) return false;
    for (const ring of this.rings.values()) {
      if (ring.inflightCount > 0 || ring.reseed.isWalking) return false;
    }
    return true;
  }
}
