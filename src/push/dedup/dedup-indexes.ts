import { Inject, Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { CLOCK, type Clock } from '../../base/clock/clock.js';
import { QueueEvents } from '../../base/queue-events.js';
import { parseInstant } from '../../base/time/parse-instant.js';
import { HASH_BYTES } from '../../segment/transaction-hash.js';
import { partitionTarget, type PartitionTarget } from '../partition-target.js';
import type { PushVerdict } from '../push.procedures.js';
import { DEDUP_OPTIONS, type DedupOptions } from './dedup.options.js';
import type { HashPiece } from './dedup.procedures.js';
import { neverSeen, NO_PROMISE, SINCE_EVER, type DedupPromise, type Suspect } from './dedup-promise.js';
import { BYTES_PER_KEY } from './hash-block.js';
import { HashReader } from './hash-reader.js';
import { IndexShelf } from './index-shelf.js';
import { PartitionIndex } from './partition-index.js';

/** What is looked at of a segment. */
export interface DedupSegment {
  readonly target: PartitionTarget;
  readonly messages: readonly { readonly isMinted: boolean }[];
  /** 16 bytes per message. */
  readonly hashes: Buffer;
}

export interface DedupStats {
  partitions: number;
  bytes: number;
  /** Segments with ids of clients, by whether PostgreSQL was spared the look at the whole window. */
  vouched: number;
  unvouched: number;
  /** Promises that rested on something that had changed: another partition of that name, a longer window. */
  putAside: number;
  /** Partitions read from the start of their window, and such that others had written to. */
  rebuilt: number;
  caughtUp: number;
  evicted: number;
}

/** Messages of others that PostgreSQL is left to look at by itself: to read them would cost more. */
const BEHIND_MAX = 16;
/** Partitions that may wait to be read; one that finds no place asks again with its next push. */
const READINGS_MAX = 10_000;

/**
 * Keeps an index of hashes for each partition that is pushed to with ids of clients, so that the cost of a push does not
 * grow with what its dedup window holds. It says "certainly new up to here", never "duplicate": that verdict is
 * PostgreSQL's (storage 10, dedup cache contract; I28). Losing an index at any moment costs time and nothing else.
 *
 *   none      PostgreSQL looks at the whole window. The first message of a partition starts an index at once; else its
 *             window is read in the background, and each piece that comes shortens what PostgreSQL looks at
 *   behind    others have stored messages: PostgreSQL looks at those, and when they are many they are read as well
 *   complete  PostgreSQL looks at nothing
 *
 * Every hash of a segment goes in, those of minted ids too: a client may send one of these back as its own.
 */
@Injectable()
export class DedupIndexes implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('Push');
  private readonly shelf: IndexShelf;
  /** Keys of the partitions that are being read. */
  private readonly reading = new Set<string>();
  private readonly counters = { vouched: 0, unvouched: 0, putAside: 0, rebuilt: 0, caughtUp: 0 };
  private unsubscribe: (() => void) | null = null;

  constructor(
    private readonly reader: HashReader,
    private readonly events: QueueEvents,
    @Inject(CLOCK) clock: Clock,
    @Inject(DEDUP_OPTIONS) options: DedupOptions,
  ) {
    this.shelf = new IndexShelf(options.bytesMax, clock);
  }

  onModuleInit(): void {
    // Only for the memory: PostgreSQL puts a promise about a partition that is gone aside by its id.
    this.unsubscribe = this.events.onQueueDropped(({ tenant, queue }) =>
      this.shelf.removeAll(partitionTarget(tenant, queue, '').key),
    );
  }

  onModuleDestroy(): void {
    this.unsubscribe?.();
  }

  stats(): DedupStats {
    const { size: partitions, bytes, evicted } = this.shelf;
    return { partitions, bytes, evicted, ...this.counters };
  }

  /** What may be promised for a segment that is about to be sent; true for every further attempt as well. */
  vouch({ target, messages, hashes }: DedupSegment): DedupPromise {
    if (messages.every(({ isMinted }) => isMinted)) {
      return neverSeen(this.shelf.get(target.key)?.partitionId ?? null);
    }
    const index = this.shelf.use(target.key);
    const suspects = index ? suspectsIn(index, messages, hashes) : null;
    if (!index || !suspects) {
      this.counters.unvouched += 1;
      return NO_PROMISE;
    }
    this.counters.vouched += 1;
    const { verified, partitionId, sinceMicros } = index;
    return { verified, partitionId, isBound: true, sinceMicros, suspects };
  }

  /**
   * Learns from the verdict on a segment. Not for one of which nobody knows what became: if it was stored after all, the
   * next verdict shows that the index is behind.
   */
  learn(segment: DedupSegment, promise: DedupPromise, verdict: PushVerdict): void {
    const { key } = segment.target;
    try {
      this.forgetIfWrong(key, promise, verdict);
      const index = this.shelf.get(key);
      if (!index) this.start(segment, verdict);
      // An index that was made while the segment was on its way may be that of the next partition of this name.
      else if ((verdict.partitionId ?? promise.partitionId) === index.partitionId)
        this.extend(segment, index, verdict);
    } catch (error) {
      this.drop(key, error);
    }
  }

  private forgetIfWrong(key: string, promise: DedupPromise, { partitionId, window }: PushVerdict): void {
    if (partitionId === undefined) return; // it held, or none was made
    const wasPutAside = promise.isBound;
    if (wasPutAside) this.counters.putAside += 1;
    const index = this.shelf.get(key);
    if (index && (wasPutAside || window === 0 || partitionId !== index.partitionId)) this.shelf.remove(key);
  }

  private start(segment: DedupSegment, verdict: PushVerdict): void {
    const { target } = segment;
    const { partitionId, window } = verdict;
    // Not told: all ids were minted. A queue without a window needs no index.
    if (partitionId === undefined || !window || !this.shelf.mayTake(target.key)) return;
    if (verdict.status === 'queued' && verdict.baseOffset === 0) {
      const index = new PartitionIndex(partitionId, window, -1, SINCE_EVER);
      if (this.shelf.put(target.key, index)) this.extend(segment, index, verdict);
    } else {
      this.readWindow(target, verdict.status === 'queued' ? verdict.baseOffset : verdict.dups[0].off);
    }
  }

  private extend({ target, hashes }: DedupSegment, index: PartitionIndex, verdict: PushVerdict): void {
    if (verdict.status !== 'queued') return;
    const { baseOffset, createdAt } = verdict;
    const end = baseOffset + hashes.length / HASH_BYTES - 1;
    if (end <= index.verified) return; // what was read in the background held it already
    index.knownEnd = Math.max(index.knownEnd, end);
    const createdAtMicros = parseInstant(createdAt);
    if (createdAtMicros === null) throw new Error(`time ${createdAt} cannot be read`);
    if (baseOffset === index.verified + 1) {
      index.forgetOlder(createdAtMicros);
      index.extend(baseOffset, hashes, createdAtMicros);
    } else {
      index.keepAhead(baseOffset, hashes, createdAtMicros);
      if (index.knownEnd - index.verified > BEHIND_MAX) this.catchUp(target, index);
    }
    this.shelf.weigh(target.key);
  }

  /** `known`: an offset that exists, the higher the better. */
  private readWindow(target: PartitionTarget, known: number): void {
    let index: PartitionIndex | null = null;
    this.read(target, -1, {
      take: (piece) => {
        if (piece.sinceMicros === null) return index !== null && this.takePiece(target, index, piece);
        if (this.shelf.get(target.key)) return false; // the partition was made anew meanwhile
        // Not worth reading to find out that it is too much.
        if (!this.shelf.mayGrow(target.key, (known - piece.base) * BYTES_PER_KEY)) return false;
        index = new PartitionIndex(piece.partitionId, piece.windowSeconds, piece.base - 1, piece.sinceMicros);
        this.counters.rebuilt += 1;
        return this.shelf.put(target.key, index);
      },
      done: () => undefined,
    });
  }

  private catchUp(target: PartitionTarget, index: PartitionIndex): void {
    const end = index.knownEnd;
    this.read(target, index.verified, {
      take: (piece) => this.takePiece(target, index, piece),
      done: () => {
        this.counters.caughtUp += 1;
        // What is known to exist was not there: the rows are purged, or the partition is another one by now.
        if (index.verified < end) this.removeIfStill(target, index);
      },
    });
  }

  private read(
    target: PartitionTarget,
    after: number,
    { take, done }: { take: (piece: HashPiece) => boolean; done: () => void },
  ): void {
    const { key } = target;
    if (this.reading.has(key) || this.reading.size >= READINGS_MAX) return;
    this.reading.add(key);
    const end = () => void this.reading.delete(key);
    this.reader.read({
      target,
      after,
      take: (piece) => {
        let goesOn = false;
        try {
          goesOn = take(piece);
        } catch (error) {
          this.drop(key, error);
        }
        if (!goesOn) end();
        return goesOn;
      },
      done: () => {
        end();
        done();
      },
      failed: end,
    });
  }

  /** False when the index has no use for it, or does not exist any more. */
  private takePiece(target: PartitionTarget, index: PartitionIndex, piece: HashPiece): boolean {
    if (this.shelf.get(target.key) !== index) return false;
    const { base, end, hashes } = piece;
    const isWhole = hashes.length === (end - base + 1) * HASH_BYTES;
    const isOurs = piece.partitionId === index.partitionId;
    if (isWhole && isOurs && index.extend(base, hashes, piece.createdAtMicros))
      return this.shelf.weigh(target.key);
    this.shelf.remove(target.key);
    return false;
  }

  /** What is half entered must not be believed. The push itself is done. */
  private drop(key: string, error: unknown): void {
    this.shelf.remove(key);
    this.logger.error(`dedup index dropped: ${String(error)}`);
  }

  private removeIfStill({ key }: PartitionTarget, index: PartitionIndex): void {
    if (this.shelf.get(key) === index) this.shelf.remove(key);
  }
}

/** The frames whose hash the index knows, with the offsets where; null when it cannot name them all. */
function suspectsIn(
  index: PartitionIndex,
  messages: DedupSegment['messages'],
  hashes: Buffer,
): Suspect[] | null {
  const suspects: Suspect[] = [];
  const offsets: number[] = [];
  for (let frame = 0; frame < messages.length; frame++) {
    if (messages[frame].isMinted) continue;
    if (!index.find(hashes, frame, offsets)) return null;
    for (const offset of offsets) suspects.push([frame, offset]);
    offsets.length = 0;
  }
  return suspects;
}
