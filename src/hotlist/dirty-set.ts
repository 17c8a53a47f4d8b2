import type { DirtyMark } from './hint-sink.js';

/**
 * Marks waiting to be told to other brokers: each pair once, at most `cap` of them. Beyond the cap marks are
 * dropped and counted: a lost hint costs the receiver one windowed reseed, a growing set would cost us the process.
 */
export class DirtySet {
  private readonly partitionsByGroup = new Map<string, Map<string | undefined, Set<string>>>();
  size = 0;
  dropped = 0;

  constructor(private readonly cap: number) {}

  /** True when the set was empty before. */
  add(key: string, partition: string, group?: string): boolean {
    const partitions = this.partitionsByGroup.get(key)?.get(group);
    if (partitions?.has(partition)) return false;
    if (this.size >= this.cap) {
      this.dropped++;
      return false;
    }
    (partitions ?? this.slot(key, group)).add(partition);
    return this.size++ === 0;
  }

  /** Takes out up to `limit` marks. */
  drain(limit: number): DirtyMark[] {
    const drained: DirtyMark[] = [];
    for (const [key, groups] of this.partitionsByGroup) {
      for (const [group, partitions] of groups) {
        for (const partition of partitions) {
          if (drained.length >= limit) return drained;
          partitions.delete(partition);
          this.size--;
          drained.push(group === undefined ? { key, partition } : { key, partition, group });
        }
        groups.delete(group);
      }
      this.partitionsByGroup.delete(key);
    }
    return drained;
  }

  private slot(key: string, group: string | undefined): Set<string> {
    let groups = this.partitionsByGroup.get(key);
    if (!groups) this.partitionsByGroup.set(key, (groups = new Map()));
    let partitions = groups.get(group);
    if (!partitions) groups.set(group, (partitions = new Set()));
    return partitions;
  }
}
