import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { SampledLogger } from '../../base/log/sampled-logger.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import type { PartitionTarget } from '../partition-target.js';
import { TurnBudget } from '../turn-budget.js';
import { logHashesAfterV1, type HashPiece } from './dedup.procedures.js';

/** One partition that is being read. */
export interface HashReading {
  readonly target: PartitionTarget;
  /** Where to go on: pieces above this offset; -1: from the start of the dedup window. */
  after: number;
  /** Takes a piece; false ends the reading, and nothing more is said about it. */
  take(piece: HashPiece): boolean;
  /** Everything that was stored when the last statement began has been taken. */
  done(): void;
  failed(): void;
}

const PARTITIONS_PER_CALL = 256;
/** A partition with a million messages in its window takes four calls; between them others have their turn. */
const BYTES_PER_CALL = 4 * 1024 * 1024;
/** Hashes that are entered into an index in about a microsecond. */
const HASHES_PER_UNIT = 8;

/**
 * Reads hash rows in the background. One call at a time, shared by the partitions that wait; as a read it needs no
 * permit, and one connection is all it ever has.
 */
@Injectable()
export class HashReader implements OnModuleDestroy {
  private readonly logger = new SampledLogger('Push');
  private waiting: HashReading[] = [];
  private isRunning = false;
  private isClosed = false;

  constructor(private readonly rawSql: RawSqlService) {}

  /** The pool closes behind us: what is still to be read, is not needed any more. */
  onModuleDestroy(): void {
    this.isClosed = true;
  }

  read(reading: HashReading): void {
    this.waiting.push(reading);
    if (!this.isRunning) void this.run();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.waiting.length > 0 && !this.isClosed) await this.readSome();
    this.isRunning = false;
  }

  /** One call. Readings that it did not get to the end of stay in the line, the one it stopped at behind the others. */
  private async readSome(): Promise<void> {
    const asked = this.waiting.slice(0, PARTITIONS_PER_CALL);
    const ended = new Set<HashReading>();
    let reached = -1;
    try {
      const pieces = await this.rawSql.call(logHashesAfterV1, {
        partitions: asked.map(({ target, after }) => ({ target, after })),
        bytesMax: BYTES_PER_CALL,
      });
      const turn = new TurnBudget();
      let bytes = 0;
      for (const piece of pieces) {
        const reading = asked[piece.index];
        reached = piece.index;
        bytes += piece.hashes.length;
        if (ended.has(reading)) continue;
        if (reading.take(piece)) reading.after = piece.end;
        else ended.add(reading);
        const pause = turn.spend(1 + (piece.end - piece.base) / HASHES_PER_UNIT);
        if (pause) await pause;
      }
      const stoppedAt = bytes >= BYTES_PER_CALL ? reached : asked.length;
      asked.forEach((reading, k) => {
        if (k >= stoppedAt || ended.has(reading)) return;
        ended.add(reading);
        reading.done();
      });
      const half = asked[stoppedAt];
      const rest = this.waiting.filter((reading) => !ended.has(reading) && reading !== half);
      this.waiting = half && !ended.has(half) ? [...rest, half] : rest;
    } catch (error) {
      this.logger.warn('hashes', `hashes for the dedup index could not be read: ${String(error)}`);
      this.waiting = this.waiting.filter((reading) => !asked.includes(reading));
      for (const reading of asked) if (!ended.has(reading)) reading.failed();
    }
  }
}
