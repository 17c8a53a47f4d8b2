import { HASH_BYTES } from '../../segment/transaction-hash.js';
import { AgeMarks } from './age-marks.js';
import { HashBlock } from './hash-block.js';

/** Without its blocks; with its place in a map, and the key of that. */
const OVERHEAD_BYTES = 800;
const BYTES_PER_MARK = 16;
/** Segments and bytes that are kept until what comes before them is known. */
const AHEAD_MAX = 64;
const AHEAD_BYTES_MAX = 256 * 1024;

interface Stretch {
  /** Offset of the block's first hash. */
  readonly base: number;
  readonly block: HashBlock;
}

/**
 * The hashes of one partition's latest messages. Always true: every message that is stored at or below `verified` and
 * not before `sinceMicros` is in here, whoever stored it. So an id that is not found is new up to there; one that is
 * found proves nothing, for half of its hash is not looked at.
 *
 * It grows at its end only, without gaps, and forgets from its front what has left the dedup window. Pure: the times are
 * given to it, and are the database's.
 */
export class PartitionIndex {
  /** Highest offset that is known to exist; above `verified` when somebody else has stored messages. */
  knownEnd: number;
  private readonly stretches: Stretch[] = [];
  private readonly marks = new AgeMarks();
  private readonly ahead: { base: number; hashes: Buffer; createdAtMicros: number }[] = [];
  private aheadBytes = 0;
  private verifiedEnd: number;
  private since: number;
  /** What is stored below has left the window. */
  private liveFrom = 0;
  private blockBytes = 0;

  constructor(
    readonly partitionId: string,
    /** As it was when the partition was read. */
    private readonly windowSeconds: number,
    verified: number,
    sinceMicros: number,
  ) {
    this.verifiedEnd = verified;
    this.knownEnd = verified;
    this.since = sinceMicros;
  }

  get verified(): number {
    return this.verifiedEnd;
  }

  get sinceMicros(): number {
    return this.since;
  }

  get bytes(): number {
    return OVERHEAD_BYTES + this.blockBytes + this.aheadBytes + this.marks.count * BYTES_PER_MARK;
  }

  /**
   * Adds the offsets where the k-th hash may be stored to `offsets`. False when these are not all, which happens only to
   * ids that were stored many times.
   */
  find(hashes: Buffer, k: number, offsets: number[]): boolean {
    const low = hashes.readUInt32LE(k * HASH_BYTES);
    const high = hashes.readUInt32LE(k * HASH_BYTES + 4);
    let isAll = true;
    for (const { base, block } of this.stretches) {
      const first = offsets.length;
      if (!block.find(low, high, offsets)) isAll = false;
      let kept = first;
      for (let at = first; at < offsets.length; at++) {
        const offset = base + offsets[at];
        if (offset >= this.liveFrom) offsets[kept++] = offset;
      }
      offsets.length = kept;
    }
    return isAll;
  }

  /**
   * Takes in the hashes of the messages from `base` on, the last of them stored at `createdAtMicros`. What it knows of
   * them already is passed over. False, and nothing done, when they do not follow what it knows.
   */
  extend(base: number, hashes: Buffer, createdAtMicros: number): boolean {
    if (base > this.verifiedEnd + 1) return false;
    this.enter(base, hashes, createdAtMicros);
    while (this.ahead.length > 0 && this.ahead[0].base <= this.verifiedEnd + 1) {
      const next = this.ahead.shift()!;
      this.aheadBytes -= next.hashes.length;
      this.enter(next.base, next.hashes, next.createdAtMicros);
    }
    this.knownEnd = Math.max(this.knownEnd, this.verifiedEnd);
    this.blockBytes = this.stretches.reduce((sum, { block }) => sum + block.bytes, 0);
    return true;
  }

  /**
   * Keeps hashes that do not follow yet until those in between are here. Otherwise a partition that is pushed to without
   * a pause would always be ahead of what is read of it. Bases ascend.
   */
  keepAhead(base: number, hashes: Buffer, createdAtMicros: number): void {
    if (this.aheadBytes + hashes.length > AHEAD_BYTES_MAX || this.ahead.length === AHEAD_MAX) return;
    this.ahead.push({ base, hashes, createdAtMicros });
    this.aheadBytes += hashes.length;
  }

  /** Forgets what had left the window at that time, which the database has told. */
  forgetOlder(nowMicros: number): void {
    const cutoffMicros = nowMicros - this.windowSeconds * 1_000_000;
    const offset = this.marks.dropOlder(cutoffMicros);
    if (offset < 0) return;
    this.liveFrom = offset + 1;
    this.since = Math.max(this.since, cutoffMicros);
    let gone = 0;
    while (gone < this.stretches.length && endOf(this.stretches[gone]) < this.liveFrom) gone += 1;
    this.stretches.splice(0, gone);
    this.blockBytes = this.stretches.reduce((sum, { block }) => sum + block.bytes, 0);
  }

  private enter(base: number, hashes: Buffer, createdAtMicros: number): void {
    const end = base + hashes.length / HASH_BYTES - 1;
    if (end <= this.verifiedEnd) return;
    for (let offset = this.verifiedEnd + 1; offset <= end; offset++) {
      const at = (offset - base) * HASH_BYTES;
      this.blockFor(offset).append(hashes.readUInt32LE(at), hashes.readUInt32LE(at + 4));
    }
    this.verifiedEnd = end;
    this.marks.add(end, createdAtMicros, this.windowSeconds);
  }

  private blockFor(offset: number): HashBlock {
    const last = this.stretches.at(-1);
    if (last && !last.block.isFull) return last.block;
    const held = this.stretches.reduce((sum, { block }) => sum + block.length, 0);
    const block = held === 0 ? HashBlock.growing() : HashBlock.behind(held);
    this.stretches.push({ base: offset, block });
    return block;
  }
}

function endOf({ base, block }: Stretch): number {
  return base + block.length - 1;
}
