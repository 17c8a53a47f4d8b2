import { Fifo } from '../base/fifo.js';
import type { WaitList } from './wait-list.js';

const waitersPerTurn = 256;

/** Runs a function in a later turn of the event loop, after input and output had theirs. */
export type Defer = (run: () => void) => void;
export const WAKE_DEFER = Symbol('WakeDefer');

/**
 * Carries openings out, 256 waiters a turn over all lists together. The first bite is taken at once: a parked
 * pop's latency is what this is about. A list with more waiters than its turn had goes to the back, so that a queue
 * with twenty thousand consumers does not hold up the wakes of the others.
 */
export class WakePump {
  private readonly opened = new Fifo<WaitList>();
  private left = waitersPerTurn;
  private turnArmed = false;

  constructor(
    private readonly wakeSome: (list: WaitList, limit: number) => number,
    private readonly defer: Defer,
  ) {}

  /** `list` was opened. */
  wake(list: WaitList): void {
    if (list.line !== null || !list.hasDue) return;
    this.opened.push(list);
    this.run();
  }

  private run(): void {
    while (this.left > 0) {
      const list = this.opened.shift();
      if (!list) break;
      this.left -= this.wakeSome(list, this.left);
      if (list.hasDue) this.opened.push(list);
    }
    if (this.left < waitersPerTurn) this.armNextTurn();
  }

  private armNextTurn(): void {
    if (this.turnArmed) return;
    this.turnArmed = true;
    this.defer(() => {
      this.turnArmed = false;
      this.left = waitersPerTurn;
      this.run();
    });
  }
}
