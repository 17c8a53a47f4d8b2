import { Fifo, FifoItem } from '../../base/fifo.js';
import type { PartitionTarget } from '../partition-target.js';

export interface FlushLimits {
  /** Segments, and thus partitions, of one flush. */
  readonly partitionsMax: number;
  readonly segmentFramesMax: number;
  /** Before compression, like `flushBytesMax`. A larger single message travels as a segment of its own. */
  readonly segmentBytesMax: number;
  readonly flushBytesMax: number;
}

export interface PlannedSegment<Item> {
  readonly target: PartitionTarget;
  readonly items: readonly Item[];
  readonly bytes: number;
}

/**
 * What goes into the next flush. A partition with messages here is
 *
 *   ready      it stands in the line of partitions, and its turn comes in the order of joining
 *   in flight  a segment of it has left and has not been finished; what arrives meanwhile waits
 *
 * and never both: the next segment of a partition leaves only after the one before was committed, so offsets are in
 * order of arrival (G8). A partition without messages is not here, so names of clients pin no memory (G7).
 *
 * Pure: knows neither time nor database.
 */
export class FlushPlan<Item extends { readonly bytes: number }> {
  private readonly lines = new Map<string, PartitionLine<Item>>();
  private readonly ready = new Fifo<PartitionLine<Item>>();

  constructor(private readonly limits: FlushLimits) {}

  get hasReady(): boolean {
    return this.ready.size > 0;
  }

  /** Partitions that wait or are in flight. */
  get partitions(): number {
    return this.lines.size;
  }

  /** Appends items for one partition in their order. */
  add(target: PartitionTarget, items: readonly Item[]): void {
    if (items.length === 0) return;
    let line = this.lines.get(target.key);
    if (!line) this.lines.set(target.key, (line = new PartitionLine(target)));
    line.append(items);
    if (!line.isInFlight && line.line === null) this.ready.push(line);
  }

  /**
   * Takes out the next flush and puts its partitions in flight; empty when nothing is ready. Sorted by key, so that
   * flushes of several brokers meet the same partitions in the same order.
   */
  take(): PlannedSegment<Item>[] {
    const segments: PlannedSegment<Item>[] = [];
    let bytesLeft = this.limits.flushBytesMax;
    while (segments.length < this.limits.partitionsMax) {
      const line = this.ready.first;
      if (!line) break;
      const segment = line.cut(this.limits, bytesLeft, segments.length === 0);
      if (!segment) break; // the flush is full; the partition keeps its place at the head
      this.ready.remove(line);
      line.isInFlight = true;
      segments.push(segment);
      bytesLeft -= segment.bytes;
    }
    return segments.sort((a, b) => (a.target.key < b.target.key ? -1 : 1));
  }

  /**
   * Ends the flight of a partition's segment. `survivors` were not stored although nothing is wrong with them: they
   * leave next and alone. Mixed with later arrivals one repetition among those would hold them up again, and a
   * partition that is always busy could keep them for ever.
   */
  finish(target: PartitionTarget, survivors: readonly Item[] = []): void {
    const line = this.lines.get(target.key);
    if (!line?.isInFlight) throw new Error('finished a partition that is not in flight');
    line.isInFlight = false;
    line.survivors = survivors;
    if (line.isEmpty) this.lines.delete(target.key);
    else this.ready.push(line);
  }

  /** Gives up what is ready; partitions in flight keep what waits behind them. */
  dropReady(): Item[] {
    const dropped: Item[] = [];
    for (let line = this.ready.shift(); line; line = this.ready.shift()) {
      for (const item of line.empty()) dropped.push(item);
      this.lines.delete(line.target.key);
    }
    return dropped;
  }
}

class PartitionLine<Item extends { readonly bytes: number }> extends FifoItem<PartitionLine<Item>> {
  isInFlight = false;
  /** A segment of their own, before everything that waits. */
  survivors: readonly Item[] = [];
  private waiting: Item[] = [];

  constructor(readonly target: PartitionTarget) {
    super();
  }

  get isEmpty(): boolean {
    return this.survivors.length === 0 && this.waiting.length === 0;
  }

  append(items: readonly Item[]): void {
    for (const item of items) this.waiting.push(item);
  }

  /** Null when not even one item fits; the first segment of a flush takes one of any size, or it would never leave. */
  cut(limits: FlushLimits, bytesLeft: number, isFirst: boolean): PlannedSegment<Item> | null {
    const { target } = this;
    if (this.survivors.length > 0) {
      const items = this.survivors;
      const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
      if (bytes > bytesLeft && !isFirst) return null;
      this.survivors = [];
      return { target, items, bytes };
    }
    const room = Math.min(limits.segmentBytesMax, bytesLeft);
    const framesMax = Math.min(limits.segmentFramesMax, this.waiting.length);
    let frames = 0;
    let bytes = 0;
    while (frames < framesMax && bytes + this.waiting[frames].bytes <= room)
      bytes += this.waiting[frames++].bytes;
    if (frames === 0) {
      if (!isFirst) return null;
      bytes = this.waiting[frames++].bytes;
    }
    return { target, items: this.waiting.splice(0, frames), bytes };
  }

  empty(): Item[] {
    const all = [...this.survivors, ...this.waiting];
    this.survivors = [];
    this.waiting = [];
    return all;
  }
}
