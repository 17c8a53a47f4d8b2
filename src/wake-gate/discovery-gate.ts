import type { CancelTimer, Clock } from '../base/clock/clock.js';
import { WaitList } from './wait-list.js';

const openingGapMs = 50;

/**
 * Where discovery pops of one tenant wait. Every push of the tenant concerns them, and each wake costs them a probe
 * in SQL, so openings are at most 20 a second: the first at once, what comes within 50 ms of it once, at their end.
 */
export class DiscoveryGate {
  readonly list = new WaitList();
  private openedAtMs = -Infinity;
  private cancelTimer: CancelTimer | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly wake: (list: WaitList) => void,
  ) {}

  pushed(): void {
    if (this.cancelTimer) return; // the opening to come covers this one
    const waitMs = this.openedAtMs + openingGapMs - this.clock.monoMs();
    if (waitMs <= 0) this.open(false);
    else this.cancelTimer = this.clock.after(waitMs, () => this.open(false));
  }

  open(forced: boolean): void {
    this.stop();
    this.openedAtMs = this.clock.monoMs();
    this.list.open(forced);
    this.wake(this.list);
  }

  stop(): void {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }
}
