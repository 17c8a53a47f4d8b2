import type { CancelTimer, Clock } from '../base/clock/clock.js';
import type { Waker } from './waker.js';

interface QueueWakes {
  pending: boolean;
  /** Partitions to name when opening; null once there are too many, then everybody is woken. */
  partitions: Set<string> | null;
  /** Until then a mark waits for the tick. */
  quietUntilMs: number;
}

/** Names cost an opening each, waking everybody costs a probe for each single-partition pop: generous. */
const namesKept = 4096;

/**
 * Openings of gates, coalesced. The first quiet mark of a queue opens its gate at the end of the turn: a lone
 * message is not kept waiting. Marks that follow within the interval share one opening when it ends. So ten
 * thousand pushes cost a parked herd one look an interval and not ten thousand. The timer runs only while some
 * queue was opened within the last interval.
 */
export class PendingWakes {
  private readonly queues = new Map<string, QueueWakes>();
  private leading: string[] = [];
  private cancelTick: CancelTimer | undefined;
  private stopped = false;

  constructor(
    private readonly clock: Clock,
    private readonly waker: Waker,
    private readonly intervalMs: number,
  ) {}

  openNow(key: string, partition?: string): void {
    this.waker.open(key, partition);
  }

  openSoon(key: string, partition?: string): void {
    if (this.stopped) return this.openNow(key, partition);
    let wakes = this.queues.get(key);
    if (!wakes)
      this.queues.set(key, (wakes = { pending: false, partitions: new Set(), quietUntilMs: -Infinity }));
    remember(wakes, partition);
    if (wakes.pending) return;
    wakes.pending = true;
    if (this.clock.monoMs() >= wakes.quietUntilMs) this.openAtEndOfTurn(key);
    this.cancelTick ??= this.clock.after(this.intervalMs, () => this.tick());
  }

  /** No timer is left behind; what is pending is opened. Later calls open at once. */
  stop(): void {
    this.stopped = true;
    this.cancelTick?.();
    for (const [key, wakes] of this.queues) this.open(key, wakes);
    this.queues.clear();
  }

  private openAtEndOfTurn(key: string): void {
    if (this.leading.push(key) > 1) return;
    queueMicrotask(() => {
      const keys = this.leading;
      this.leading = [];
      for (const each of keys) {
        const wakes = this.queues.get(each);
        if (wakes) this.open(each, wakes);
      }
    });
  }

  private tick(): void {
    this.cancelTick = undefined;
    for (const [key, wakes] of this.queues) {
      if (wakes.pending) this.open(key, wakes);
      else if (this.clock.monoMs() >= wakes.quietUntilMs) this.queues.delete(key);
    }
    if (this.queues.size > 0) this.cancelTick ??= this.clock.after(this.intervalMs, () => this.tick());
  }

  private open(key: string, wakes: QueueWakes): void {
    if (!wakes.pending) return;
    const { partitions } = wakes;
    wakes.pending = false;
    wakes.partitions = new Set();
    wakes.quietUntilMs = this.clock.monoMs() + this.intervalMs;
    if (partitions === null) this.waker.open(key);
    else for (const partition of partitions) this.waker.open(key, partition);
  }
}

function remember(wakes: QueueWakes, partition: string | undefined): void {
  if (wakes.partitions === null) return;
  if (partition === undefined || (wakes.partitions.size >= namesKept && !wakes.partitions.has(partition))) {
    wakes.partitions = null;
  } else wakes.partitions.add(partition);
}
