import type { Clock } from '../../base/clock/clock.js';
import { PartitionIndex } from './partition-index.js';

/** What one partition may take of all: its last thousandth is worth less than a hundred others. */
const SHARE_MAX = 0.5;
/** An index that was used since then stays. With more active partitions than fit, some that stay beat all taking turns. */
const IDLE_MS_MIN = 10_000;
/** How long a partition for which there was no room is left alone. */
const DENIED_MS = 60_000;
const DENIED_MAX = 10_000;

interface Entry {
  readonly index: PartitionIndex;
  usedAtMs: number;
  bytes: number;
}

/** The indexes that fit into a number of bytes, by target key. Those that were not used for a while make room. */
export class IndexShelf {
  /** The one used longest ago first. */
  private readonly entries = new Map<string, Entry>();
  /** Partitions there was no room for, and until when they are not tried again. */
  private readonly denied = new Map<string, number>();
  private takenBytes = 0;
  private evictedCount = 0;

  constructor(
    private readonly bytesMax: number,
    private readonly clock: Clock,
  ) {}

  get size(): number {
    return this.entries.size;
  }

  get bytes(): number {
    return this.takenBytes;
  }

  get evicted(): number {
    return this.evictedCount;
  }

  get(key: string): PartitionIndex | undefined {
    return this.entries.get(key)?.index;
  }

  /** Gets it for use: it is now the last that would have to go. */
  use(key: string): PartitionIndex | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    entry.usedAtMs = this.clock.monoMs();
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.index;
  }

  /** False while it is known that there is no room for this partition. */
  mayTake(key: string): boolean {
    const untilMs = this.denied.get(key);
    if (untilMs === undefined) return this.bytesMax > 0;
    if (this.clock.monoMs() < untilMs) return false;
    this.denied.delete(key);
    return true;
  }

  /** False: there is no room, and it has not been taken. Replaces what was there. */
  put(key: string, index: PartitionIndex): boolean {
    this.remove(key);
    this.entries.set(key, { index, usedAtMs: this.clock.monoMs(), bytes: 0 });
    return this.weigh(key);
  }

  /** After it has grown or shrunk. False: it does not fit any more, and is gone. */
  weigh(key: string): boolean {
    const entry = this.entries.get(key);
    if (!entry) return false;
    this.takenBytes += entry.index.bytes - entry.bytes;
    entry.bytes = entry.index.bytes;
    if (this.mayGrow(key, entry.bytes) && this.makeRoom(entry)) return true;
    this.remove(key);
    this.evictedCount += 1;
    this.deny(key);
    return false;
  }

  /** False: one of this size is more than one partition may take. */
  mayGrow(key: string, bytes: number): boolean {
    if (bytes <= this.bytesMax * SHARE_MAX) return true;
    this.deny(key);
    return false;
  }

  remove(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.entries.delete(key);
    this.takenBytes -= entry.bytes;
  }

  removeAll(prefix: string): void {
    for (const key of this.entries.keys()) if (key.startsWith(prefix)) this.remove(key);
  }

  private deny(key: string): void {
    if (this.denied.size >= DENIED_MAX) this.denied.clear();
    this.denied.set(key, this.clock.monoMs() + DENIED_MS);
  }

  private makeRoom(wanted: Entry): boolean {
    const usedBeforeMs = this.clock.monoMs() - IDLE_MS_MIN;
    for (const [key, entry] of this.entries) {
      if (this.takenBytes <= this.bytesMax || entry.usedAtMs > usedBeforeMs) break;
      if (entry === wanted) continue;
      this.remove(key);
      this.evictedCount += 1;
    }
    return this.takenBytes <= this.bytesMax;
  }
}
