import { BrokerError } from '../../base/errors/broker-error.js';
import type { CursorMove, MoveVerdict } from './cursor-move.js';

interface Waiter {
  resolve(verdict: MoveVerdict): void;
  reject(error: Error): void;
}

/** One row of a flush and everybody who waits for its verdict. */
export class BufferedMove {
  readonly waiters: Waiter[] = [];

  constructor(public move: CursorMove) {}

  resolve(verdict: MoveVerdict): void {
    for (const waiter of this.waiters) waiter.resolve(verdict);
  }

  reject(error: Error): void {
    for (const waiter of this.waiters) waiter.reject(error);
  }
}

/**
 * What goes into the next flush. Pure.
 *
 * Moves of one worker on one cursor fold into the furthest: a cursor that reaches the last offset has reached the ones
 * before. Moves of different workers stay apart, since at most one of them holds the lease. First come, first out.
 */
export class MoveBuffer {
  private readonly rows = new Map<string, BufferedMove>();

  constructor(private readonly rowsMax: number) {}

  get size(): number {
    return this.rows.size;
  }

  /** @throws BrokerError `overloaded` when the buffer is full */
  add(move: CursorMove): Promise<MoveVerdict> {
    const key = `${move.partitionId}${move.worker}\u001f${move.group}`;
    let row = this.rows.get(key);
    if (!row) {
      if (this.rows.size >= this.rowsMax) throw new BrokerError('overloaded');
      this.rows.set(key, (row = new BufferedMove(move)));
    } else if (move.batchEnd > row.move.batchEnd) {
      row.move = move;
    }
    return new Promise((resolve, reject) => row.waiters.push({ resolve, reject }));
  }

  /**
   * Takes out the first `max` rows, sorted by (partition, group): rows that two brokers flush at once are then locked
   * in the same order by both.
   */
  take(max: number): BufferedMove[] {
    const taken: BufferedMove[] = [];
    for (const [key, row] of this.rows) {
      if (taken.length >= max) break;
      this.rows.delete(key);
      taken.push(row);
    }
    return taken.sort(byCursor);
  }
}

function byCursor({ move: a }: BufferedMove, { move: b }: BufferedMove): number {
  if (a.partitionId !== b.partitionId) return a.partitionId < b.partitionId ? -1 : 1;
  return a.group === b.group ? 0 : a.group < b.group ? -1 : 1;
}
