import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ReseedMode } from './reseed-schedule.js';

/** A pending partition as PostgreSQL lists it. */
export interface ReseedRow {
  id: string;
  name: string;
  /** How long ago it was last written, by the database's clock, where the walk knows it; see `applyReseedRow`. */
  writtenAgoMs?: number;
}

/** What a walk does to the hot-list. */
export interface WalkTarget {
  /** Rows of one slice, [from, to). False when the ring is gone and rows have no use any more. */
  apply(rows: readonly ReseedRow[], from: number, to: number): boolean;
  pageDone(): void;
  finish(ok: boolean): void;
}

/** A few milliseconds, also when every name is new. */
const rowsPerTurn = 1000;

/**
 * One comparison of a ring with PostgreSQL. Whoever began it fetches the pages and hands them in; the pop that finds
 * the ring empty serves from the first one and lets somebody else fetch the rest. While a walk is unfinished no
 * other begins for the ring, so every path ends in `finish`; disposing an unfinished walk counts as a failure.
 */
export class ReseedWalk {
  private isFinished = false;

  constructor(
    readonly key: string,
    readonly group: string,
    readonly mode: ReseedMode,
    /** Only partitions written within this time; null lists all. */
    readonly windowMs: number | null,
    private readonly target: WalkTarget,
  ) {}

  /** Applies one page in slices, other work between them. False when further pages have no use: the ring is gone. */
  async apply(rows: readonly ReseedRow[]): Promise<boolean> {
    for (let from = 0; from < rows.length; from += rowsPerTurn) {
      if (from > 0) await nextTurn();
      if (this.isFinished) return false;
      if (!this.target.apply(rows, from, Math.min(rows.length, from + rowsPerTurn))) return false;
    }
    if (this.isFinished) return false;
    this.target.pageDone();
    return true;
  }

  /** Only the first call counts. */
  finish(ok: boolean): void {
    if (this.isFinished) return;
    this.isFinished = true;
    this.target.finish(ok);
  }

  [Symbol.dispose](): void {
    this.finish(false);
  }
}
