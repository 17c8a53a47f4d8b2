import { NONE } from './entry-table.js';

/**
 * A binary heap by due time whose items know their place, so that leaving is exact. With items that only turn stale
 * the heap would have to be rebuilt now and then, and at a million entries that is a turn of tens of milliseconds
 * in which nobody else is served.
 *
 * `place` is called whenever an item moves; NONE means it left.
 */
export class DueHeap<Item> {
  private readonly items: Item[] = [];
  private readonly dueMs: number[] = [];

  constructor(private readonly place: (item: Item, position: number) => void) {}

  get size(): number {
    return this.items.length;
  }

  /** Due time of the earliest item; Infinity when there is none. */
  get nextDueMs(): number {
    return this.items.length > 0 ? this.dueMs[0]! : Infinity;
  }

  get first(): Item | undefined {
    return this.items[0];
  }

  dueAt(position: number): number {
    return this.dueMs[position]!;
  }

  insert(item: Item, dueMs: number): void {
    this.items.push(item);
    this.dueMs.push(dueMs);
    this.rise(this.items.length - 1, item, dueMs);
  }

  removeAt(position: number): void {
    this.place(this.items[position]!, NONE);
    const lastItem = this.items.pop()!;
    const lastDueMs = this.dueMs.pop()!;
    if (position < this.items.length) this.settle(position, lastItem, lastDueMs);
  }

  moveTo(position: number, dueMs: number): void {
    this.settle(position, this.items[position]!, dueMs);
  }

  private settle(position: number, item: Item, dueMs: number): void {
    const parent = (position - 1) >> 1;
    if (position > 0 && this.dueMs[parent]! > dueMs) this.rise(position, item, dueMs);
    else this.sink(position, item, dueMs);
  }

  private rise(position: number, item: Item, dueMs: number): void {
    while (position > 0) {
      const parent = (position - 1) >> 1;
      if (this.dueMs[parent]! <= dueMs) break;
      this.put(position, this.items[parent]!, this.dueMs[parent]!);
      position = parent;
    }
    this.put(position, item, dueMs);
  }

  private sink(position: number, item: Item, dueMs: number): void {
    for (;;) {
      let child = 2 * position + 1;
      if (child >= this.items.length) break;
      if (child + 1 < this.items.length && this.dueMs[child + 1]! < this.dueMs[child]!) child++;
      if (this.dueMs[child]! >= dueMs) break;
      this.put(position, this.items[child]!, this.dueMs[child]!);
      position = child;
    }
    this.put(position, item, dueMs);
  }

  private put(position: number, item: Item, dueMs: number): void {
    this.items[position] = item;
    this.dueMs[position] = dueMs;
    this.place(item, position);
  }
}
