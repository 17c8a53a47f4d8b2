import { DueHeap } from './due-heap.js';
import { type EntryTable, SLOT_MASK } from './entry-table.js';

/**
 * Partitions of one ring that are held back until a time. An entry is
 *
 *   off the wheel    it is idle, ready or checked out
 *   on the wheel     it waits for a lease to end, a delay to pass or a window to close
 *   due              still on the wheel, its time has come: the next look or the ticker takes it off
 *
 * Always true: exactly the entries in state WHEEL are on it, each once. Promote and early marks take an entry off
 * before its time.
 */
export class RevisitWheel {
  private readonly heap: DueHeap<number>;

  constructor(private readonly entries: EntryTable) {
    this.heap = new DueHeap((index, position) => {
      entries.page(index).heapPosition[index & SLOT_MASK] = position;
    });
  }

  get size(): number {
    return this.heap.size;
  }

  /** Infinity when the wheel is empty. */
  get nextDueMs(): number {
    return this.heap.nextDueMs;
  }

  dueMsOf(index: number): number {
    return this.heap.dueAt(this.position(index));
  }

  schedule(index: number, dueMs: number): void {
    this.heap.insert(index, dueMs);
  }

  cancel(index: number): void {
    this.heap.removeAt(this.position(index));
  }

  /** The earliest entry whose time has come, still on the wheel. */
  firstDue(nowMs: number): number | undefined {
    return this.heap.nextDueMs <= nowMs ? this.heap.first : undefined;
  }

  private position(index: number): number {
    return this.entries.page(index).heapPosition[index & SLOT_MASK]!;
  }
}
