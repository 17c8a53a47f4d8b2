import { DueHeap } from './due-heap.js';
import { NONE } from './entry-table.js';
import type { Ring } from './ring.js';

/**
 * Rings with something on their wheel, by the next due time, so that a tick costs what is due and not what exists.
 * `update` after whatever may have changed a ring's wheel.
 */
export class RingAgenda {
  private readonly heap = new DueHeap<Ring>((ring, position) => (ring.agendaPosition = position));
  private notifyEarlier: () => void = () => undefined;

  get nextDueMs(): number {
    return this.heap.nextDueMs;
  }

  /** Calls back whenever the next due time moved forward. */
  onEarlier(notify: () => void): void {
    this.notifyEarlier = notify;
  }

  update(ring: Ring): void {
    const before = this.heap.nextDueMs;
    const dueMs = ring.nextRevisitMs;
    if (dueMs === Infinity) this.remove(ring);
    else if (ring.agendaPosition === NONE) this.heap.insert(ring, dueMs);
    else if (this.heap.dueAt(ring.agendaPosition) !== dueMs) this.heap.moveTo(ring.agendaPosition, dueMs);
    if (this.heap.nextDueMs < before) this.notifyEarlier();
  }

  remove(ring: Ring): void {
    if (ring.agendaPosition !== NONE) this.heap.removeAt(ring.agendaPosition);
  }

  firstDue(nowMs: number): Ring | undefined {
    return this.heap.nextDueMs <= nowMs ? this.heap.first : undefined;
  }
}
