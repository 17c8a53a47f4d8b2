import { Injectable } from '@nestjs/common';
import { Generations } from '../ack-registry/generations.js';
import type { AckGroup } from './ack-group.js';

interface RecentAck {
  readonly digest: string;
  readonly succeeded: Promise<boolean>;
}

/** A few megabytes. */
const RECENT_MAX = 10_000;

/**
 * Completions under way or just committed, so that the same request once more is a no-op: proxies and clients repeat a
 * request whose answer they have not seen, and by then its lease is over, so PostgreSQL could only call it expired
 * (field case A11). One that arrives while the first is under way waits for what becomes of it.
 */
@Injectable()
export class RecentAcks {
  private readonly acks = new Generations<RecentAck>(RECENT_MAX);

  get size(): number {
    return this.acks.size;
  }

  /** Whether it succeeded, if the same worker has acked just these messages of the partition before. */
  find(group: AckGroup, digest: string): Promise<boolean> | null {
    const recent = this.acks.get(keyOf(group));
    return recent?.digest === digest ? recent.succeeded : null;
  }

  /** What fails is forgotten: whoever repeats it gets a verdict of their own. */
  remember(group: AckGroup, digest: string, outcome: Promise<boolean>): void {
    const key = keyOf(group);
    const recent: RecentAck = { digest, succeeded: outcome.catch(() => false) };
    this.acks.set(key, recent);
    void recent.succeeded.then((succeeded) => {
      if (!succeeded && this.acks.get(key) === recent) this.acks.delete(key);
    });
  }
}

function keyOf({ partitionId, group, worker }: AckGroup): string {
  return `${partitionId}${worker}\u001f${group}`;
}
