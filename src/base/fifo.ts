/**
 * A first-in, first-out line whose members carry their own links. Chosen over Array and Set because a member
 * leaves from the middle in constant time (a client gone, a timer fired) and because the head is found in
 * constant time after any number of removals (a Set walks over the holes its deleted members left).
 */
export abstract class FifoItem<T extends FifoItem<T>> {
  /** The line this member stands in; null when in none. Written by Fifo only. */
  line: Fifo<T> | null = null;
  older: T | null = null;
  newer: T | null = null;
}

export class Fifo<T extends FifoItem<T>> {
  private head: T | null = null;
  private tail: T | null = null;
  private count = 0;

  get first(): T | null {
    return this.head;
  }

  get size(): number {
    return this.count;
  }

  /** Appends a member that stands in no line. */
  push(item: T): void {
    if (item.line !== null) throw new Error('already in a line');
    item.line = this;
    item.older = this.tail;
    item.newer = null;
    if (this.tail) this.tail.newer = item;
    else this.head = item;
    this.tail = item;
    this.count += 1;
  }

  shift(): T | null {
    const item = this.head;
    if (item) this.remove(item);
    return item;
  }

  /** False when the member stands elsewhere or nowhere, so that two exits at once remove it once. */
  remove(item: T): boolean {
    if (item.line !== this) return false;
    if (item.older) item.older.newer = item.newer;
    else this.head = item.newer;
    if (item.newer) item.newer.older = item.older;
    else this.tail = item.older;
    item.line = item.older = item.newer = null;
    this.count -= 1;
    return true;
  }
}
