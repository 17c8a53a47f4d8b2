import { WaitList } from './wait-list.js';

const maxHints = 64;

/**
 * The gate of one queue. Pure.
 *
 * - `everyone`: pops across the queue; any opening is theirs.
 * - one list a partition, made by the first pop that names it: opened by pushes to that partition and by openings
 *   that name none.
 * - hints: the names of the last partitions pushed, each once, for the path without a ring; the oldest drops out.
 *
 * A gate exists because a pop holds a ticket for it, never because of a push: a queue nobody polls costs nothing,
 * and an invented name costs nothing once its request has ended (G7).
 */
export class WakeGate {
  readonly everyone = new WaitList();
  private readonly partitions = new Map<string, WaitList>();
  private readonly hints = new Set<string>();

  get isUnused(): boolean {
    return this.everyone.tickets === 0 && this.partitions.size === 0;
  }

  get parked(): number {
    let parked = this.everyone.parked;
    for (const list of this.partitions.values()) parked += list.parked;
    return parked;
  }

  /** The list of one partition, made when it is the first ticket for it. */
  partition(name: string): WaitList {
    let list = this.partitions.get(name);
    if (!list) this.partitions.set(name, (list = new WaitList()));
    return list;
  }

  dropPartition(name: string): void {
    this.partitions.delete(name);
  }

  /** Opens what is concerned and names each such list to `wake`. */
  open(partition: string | undefined, forced: boolean, wake: (list: WaitList) => void): void {
    this.openList(this.everyone, forced, wake);
    if (partition === undefined) {
      for (const list of this.partitions.values()) this.openList(list, forced, wake);
      return;
    }
    this.keepHint(partition);
    const list = this.partitions.get(partition);
    if (list) this.openList(list, forced, wake);
  }

  /** Opens the list of one partition only. */
  openPartition(partition: string, wake: (list: WaitList) => void): void {
    this.keepHint(partition);
    const list = this.partitions.get(partition);
    if (list) this.openList(list, false, wake);
  }

  /** Takes out up to `max` hints, first in first out. */
  drainHints(max: number): string[] {
    const taken: string[] = [];
    for (const hint of this.hints) {
      if (taken.length >= max) break;
      taken.push(hint);
      this.hints.delete(hint);
    }
    return taken;
  }

  private openList(list: WaitList, forced: boolean, wake: (list: WaitList) => void): void {
    list.open(forced);
    wake(list);
  }

  private keepHint(partition: string): void {
    this.hints.delete(partition);
    if (this.hints.size >= maxHints) this.drainHints(1);
    this.hints.add(partition);
  }
}
