import { Fifo, type FifoItem } from '../base/fifo.js';

/** `order` grows with arrival; `key` groups the waiters that share one half of the lane, null is never capped. */
export interface Queued {
  readonly order: number;
  readonly key: string | null;
}

/**
 * Who gets the next permit: the longest waiting one whose key is not over its share; when all keys that wait are
 * over it, the longest waiting of these, so that no permit lies idle while somebody waits.
 *
 * A capped waiter found at the head is set aside in a line of its key and met again there: a queue with
 * thousands of waiting consumers is stepped over once, not at every grant. Few keys can be over half at a time,
 * so there are few such lines.
 */
export class FairQueue<T extends FifoItem<T> & Queued> {
  private readonly arrived = new Fifo<T>();
  private readonly aside = new Map<string, Fifo<T>>();
  private waiting = 0;

  get size(): number {
    return this.waiting;
  }

  push(waiter: T): void {
    this.arrived.push(waiter);
    this.waiting += 1;
  }

  remove(waiter: T): boolean {
    const line = waiter.line;
    if (line === null || !line.remove(waiter)) return false;
    this.waiting -= 1;
    if (waiter.key !== null && line.size === 0 && this.aside.get(waiter.key) === line) {
      this.aside.delete(waiter.key);
    }
    return true;
  }

  /** Takes the next one out; null when nobody waits. */
  next(isCapped: (key: string) => boolean): T | null {
    const chosen = this.choose(isCapped);
    if (chosen) this.remove(chosen);
    return chosen;
  }

  private choose(isCapped: (key: string) => boolean): T | null {
    let head = this.arrived.first;
    while (head && head.key !== null && isCapped(head.key)) {
      this.setAside(head, head.key);
      head = this.arrived.first;
    }
    let best = head;
    let bestCapped: T | null = null;
    for (const [key, line] of this.aside) {
      if (isCapped(key)) bestCapped = older(bestCapped, line.first);
      else best = older(best, line.first);
    }
    return best ?? bestCapped;
  }

  private setAside(waiter: T, key: string): void {
    this.arrived.remove(waiter);
    let line = this.aside.get(key);
    if (!line) this.aside.set(key, (line = new Fifo<T>()));
    line.push(waiter);
  }
}

function older<T extends Queued>(a: T | null, b: T | null): T | null {
  if (a === null || b === null) return a ?? b;
  return a.order < b.order ? a : b;
}
