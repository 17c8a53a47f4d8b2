import { Injectable } from '@nestjs/common';
import { Generations } from './generations.js';

/** Where a partition id belongs. It never changes: ids are minted once and die with their partition. */
export interface KnownPartition {
  /** queueKey(tenant, queue) */
  readonly key: string;
  readonly partition: string;
}

/** Some twenty megabytes. */
const KNOWN_MAX = 100_000;

/**
 * Which queue and name a partition id stands for. An ack carries only the id, and must reach the ring and the gate of
 * its queue. Forgetting costs one lookup in SQL.
 */
@Injectable()
export class PartitionMemo {
  private readonly known = new Generations<KnownPartition>(KNOWN_MAX);

  get size(): number {
    return this.known.size;
  }

  find(partitionId: string): KnownPartition | undefined {
    return this.known.get(partitionId);
  }

  remember(partitionId: string, key: string, partition: string): KnownPartition {
    const before = this.known.get(partitionId);
    if (before) return before;
    const found = { key, partition };
    this.known.set(partitionId, found);
    return found;
  }
}
