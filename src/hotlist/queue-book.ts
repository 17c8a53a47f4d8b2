import type { HotlistOptions } from './hotlist.options.js';
import { QueueState } from './queue-state.js';
import { ReseedSchedule, type ReseedPlan } from './reseed-schedule.js';
import { Ring } from './ring.js';
import { RingAgenda } from './ring-agenda.js';

/**
 * All queues and rings this broker keeps in memory. Only a registration adds one: neither a look nor a mark does, so
 * a name a client made up leaves nothing behind (G7), and a broker that only pushes collects nothing. Leaving is
 * always safe: the next pop registers a cold ring, which owes a full walk.
 */
export class QueueBook {
  readonly agenda = new RingAgenda();
  private readonly queues = new Map<string, QueueState>();

  constructor(
    private readonly options: HotlistOptions,
    private readonly plan: ReseedPlan,
  ) {}

  get queueCount(): number {
    return this.queues.size;
  }

  queue(key: string): QueueState | undefined {
    return this.queues.get(key);
  }

  ring(key: string, group: string): Ring | undefined {
    return this.queues.get(key)?.rings.get(group);
  }

  register(key: string, group: string, nowMs: number): QueueState {
    let queue = this.queues.get(key);
    if (!queue) this.queues.set(key, (queue = new QueueState(key, nowMs, this.options)));
    if (!queue.rings.has(group)) queue.rings.set(group, this.newRing(key, group));
    return queue;
  }

  /** False for a ring that was dropped or replaced while somebody still held it. */
  isCurrent(ring: Ring): boolean {
    return this.ring(ring.key, ring.group) === ring;
  }

  /** Cold rings in place of the known ones; names and settings stay. */
  replaceRings(queue: QueueState): void {
    for (const [group, ring] of queue.rings) {
      this.agenda.remove(ring);
      queue.rings.set(group, this.newRing(queue.key, group));
    }
  }

  dropRing(key: string, group: string): boolean {
    const ring = this.ring(key, group);
    if (!ring) return false;
    this.agenda.remove(ring);
    return this.queues.get(key)!.rings.delete(group);
  }

  dropQueue(key: string): boolean {
    for (const ring of this.queues.get(key)?.rings.values() ?? []) this.agenda.remove(ring);
    return this.queues.delete(key);
  }

  /** Second chance: a queue leaves when it was idle and untouched for a whole period. Returns how many left. */
  sweepIdle(): number {
    return this.dropWhere((queue) => {
      const isIdle = queue.isIdle;
      queue.isTouched = false;
      return isIdle;
    });
  }

  trimUnserved(nowMs: number, trimMs: number): number {
    return this.dropWhere((queue) => queue.isUnserved(nowMs, trimMs));
  }

  *rings(): Generator<Ring> {
    for (const queue of this.queues.values()) yield* queue.rings.values();
  }

  *allQueues(): Generator<QueueState> {
    yield* this.queues.values();
  }

  private dropWhere(shouldDrop: (queue: QueueState) => boolean): number {
    let dropped = 0;
    for (const [key, queue] of this.queues) {
      if (shouldDrop(queue) && this.dropQueue(key)) dropped++;
    }
    return dropped;
  }

  private newRing(key: string, group: string): Ring {
    return new Ring(key, group, new ReseedSchedule(this.plan, Math.random()));
  }
}
