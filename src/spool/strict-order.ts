import type { SpoolTarget } from '../base/spool/push-spool.js';

/** Partitions whose messages are counted one by one; beyond, all of them count as held. */
const PARTITIONS_MAX = 200_000;

/**
 * Which partitions have messages in the spool, so that newer ones are kept behind them (strict order). Counts are kept
 * from the moment a message is handed over, not from the end of its write: the next push of the partition must not
 * slip through in between.
 *
 * Two things are not known one by one and hold every partition: what an earlier run left behind, until it is stored
 * (it is stored first); and more partitions than are kept in memory, since their names come from clients, until the
 * spool is empty.
 */
export class StrictOrder {
  private readonly counts = new Map<string, number>();
  private leftovers = 0;
  private overflowed = false;

  constructor(private readonly partitionsMax = PARTITIONS_MAX) {}

  /** @param leftovers messages of an earlier run */
  begin(leftovers: number): void {
    this.leftovers = leftovers;
  }

  holds(target: SpoolTarget): boolean {
    return this.leftovers > 0 || this.overflowed || (this.counts.size > 0 && this.counts.has(keyOf(target)));
  }

  /** Handed over to be written. */
  added(target: SpoolTarget): void {
    const key = keyOf(target);
    const count = this.counts.get(key) ?? 0;
    if (count === 0 && this.counts.size >= this.partitionsMax) this.overflowed = true;
    else this.counts.set(key, count + 1);
  }

  /** It could not be written. */
  undone(target: SpoolTarget): void {
    const key = keyOf(target);
    const count = this.counts.get(key) ?? 0;
    if (count > 1) this.counts.set(key, count - 1);
    else this.counts.delete(key);
  }

  /** The next message of the spool is stored or set aside. Null: a record that nobody can read. */
  left(target: SpoolTarget | null): void {
    if (this.leftovers > 0) this.leftovers -= 1;
    else if (target) this.undone(target);
  }

  /** The spool is empty. */
  clear(): void {
    this.counts.clear();
    this.leftovers = 0;
    this.overflowed = false;
  }
}

function keyOf({ tenant, queue, partition }: SpoolTarget): string {
  return JSON.stringify([tenant, queue, partition]);
}
