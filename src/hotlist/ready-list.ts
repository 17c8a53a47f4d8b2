import { type EntryTable, NONE, SLOT_MASK } from './entry-table.js';

/** First in, first out, linked through the entries themselves: joining and leaving allocate nothing. */
export class ReadyList {
  private tail = NONE;
  head = NONE;
  length = 0;

  constructor(private readonly entries: EntryTable) {}

  append(index: number): void {
    const page = this.entries.page(index);
    const slot = index & SLOT_MASK;
    page.prev[slot] = this.tail;
    page.next[slot] = NONE;
    if (this.tail === NONE) this.head = index;
    else this.entries.page(this.tail).next[this.tail & SLOT_MASK] = index;
    this.tail = index;
    this.length++;
  }

  remove(index: number): void {
    const page = this.entries.page(index);
    const slot = index & SLOT_MASK;
    const prev = page.prev[slot]!;
    const next = page.next[slot]!;
    if (prev === NONE) this.head = next;
    else this.entries.page(prev).next[prev & SLOT_MASK] = next;
    if (next === NONE) this.tail = prev;
    else this.entries.page(next).prev[next & SLOT_MASK] = prev;
    this.length--;
  }

  /** The entry behind this one, or NONE. */
  after(index: number): number {
    return this.entries.page(index).next[index & SLOT_MASK]!;
  }
}
