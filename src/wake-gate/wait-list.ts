import { Fifo, FifoItem } from '../base/fifo.js';
import type { Waiter } from './waiter.js';

/** Waiters of one opening that are woken without asking whether a look is worth it. */
const crowdAfter = 256;

/**
 * Waiters for one thing, oldest first, and the number of times it was opened. Pure.
 *
 * An opening wakes everybody who lined up before it. It is not carried out at once but in bounded bites
 * (`wakeSome`), so that twenty thousand waiters do not become one long turn; who lines up meanwhile has `since` of
 * that opening and is not part of it. Openings during a wake merge: the bites then go up to the newest.
 *
 * A waiter whose look would find nothing goes back to the end of the line unwoken, which is what it would do itself
 * a moment later. It is asked (`stillQuiet`) only where a herd would cost: beyond the first 256 of an opening, by
 * when the first ones have taken the work, and when its pop was woken in vain just before.
 */
export class WaitList extends FifoItem<WaitList> {
  /** Grows with every opening. */
  seq = 0;
  /** Pops that hold a ticket for it; the list exists as long as there is one. */
  tickets = 0;
  /** Pops parked on it, those that sit out a short nap included. */
  parked = 0;
  private readonly waiters = new Fifo<Waiter>();
  /** Openings up to this one wake everybody: no asking. */
  private forcedSeq = 0;
  private handled = 0;

  /** @param forced wake even those whose look would find nothing (a switch was flipped, the broker closes) */
  open(forced: boolean): void {
    this.seq += 1;
    if (forced) this.forcedSeq = this.seq;
  }

  add(waiter: Waiter): void {
    waiter.since = this.seq;
    this.waiters.push(waiter);
  }

  remove(waiter: Waiter): void {
    this.waiters.remove(waiter);
  }

  /** Somebody lined up before the last opening and has not been reached yet. */
  get hasDue(): boolean {
    const first = this.waiters.first;
    return first !== null && first.since < this.seq;
  }

  /** Reaches up to `limit` due waiters; returns how many. `woken` is what their park answers. */
  wakeSome(limit: number, nowMs: number, woken: boolean): number {
    let reached = 0;
    for (; reached < limit; reached++) {
      const waiter = this.waiters.first;
      if (!waiter || waiter.since >= this.seq) break;
      if (this.mayStay(waiter, nowMs)) {
        this.waiters.remove(waiter);
        this.add(waiter);
      } else {
        waiter.end(woken);
      }
      this.handled += 1;
    }
    if (!this.hasDue) this.handled = 0;
    return reached;
  }

  private mayStay(waiter: Waiter, nowMs: number): boolean {
    if (waiter.since < this.forcedSeq || waiter.stillQuiet === null || !waiter.ticket.isQueueWide)
      return false;
    const askFirst = this.handled >= crowdAfter || nowMs < waiter.ticket.lookAgainAtMs;
    return askFirst && waiter.stillQuiet() === true;
  }
}
