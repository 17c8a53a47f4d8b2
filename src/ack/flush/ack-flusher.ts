import { Inject, Injectable } from '@nestjs/common';
import { BrokerError } from '../../base/errors/broker-error.js';
import { RecentValues } from '../../base/recent-values.js';
import { AckLane, type AckConnection } from '../ack-lane.js';
import { ACK_OPTIONS, type AckOptions } from '../ack.options.js';
import { logAckAtV1, logAckMultiV1, type CursorMoveResult } from '../ack.procedures.js';
import type { CursorMove, MoveVerdict } from './cursor-move.js';
import { type BufferedMove, MoveBuffer } from './move-buffer.js';

const ROWS_PER_FLUSH = 1000;
/** Rows kept for coming flushes; some ten megabytes. */
const ROWS_WAITING_MAX = 50_000;

export interface AckFlushStats {
  flushes: number;
  /** Cursor moves in these flushes. */
  rows: number;
  rejected: number;
  failed: number;
  waiting: number;
}

/**
 * Full-batch acks that come while a flush is under way share the next one: one statement, one commit, many cursors. The
 * flush in flight is the clock, so a lone ack waits for nobody and there is no timer. One flight at a time, so a
 * cursor's moves commit in the order they came.
 *
 * Waiters hold neither a permit nor a connection (G3): the flush takes both, or a small pool would be full of acks that
 * wait for the flush that waits for a connection.
 */
@Injectable()
export class AckFlusher {
  private readonly buffer = new MoveBuffer(ROWS_WAITING_MAX);
  private flying = false;
  private readonly counters = { flushes: 0, rows: 0, rejected: 0, failed: 0 };
  private readonly rtts = new RecentValues();

  constructor(
    private readonly lane: AckLane,
    @Inject(ACK_OPTIONS) private readonly options: AckOptions,
  ) {}

  /** Resolves after the commit. @throws BrokerError when the flush failed: whether the cursor moved is not known */
  move(move: CursorMove): Promise<MoveVerdict> {
    if (!this.options.fusion) return this.moveAlone(move);
    const verdict = this.buffer.add(move);
    if (!this.flying) void this.fly();
    return verdict;
  }

  stats(): AckFlushStats {
    return { ...this.counters, waiting: this.buffer.size };
  }

  /** Round trip of the last flushes in milliseconds; `q` from 0 to 1. */
  rttQuantileMs(q: number): number {
    return this.rtts.quantile(q);
  }

  private async fly(): Promise<void> {
    this.flying = true;
    while (this.buffer.size > 0) await this.flush();
    this.flying = false;
  }

  /** The rows are taken only when the connection is there: what came while waiting for it goes along. */
  private async flush(): Promise<void> {
    let rows: BufferedMove[] | undefined;
    try {
      await this.lane.run((connection) => {
        rows = this.buffer.take(ROWS_PER_FLUSH);
        return this.send(connection, rows);
      });
    } catch (error) {
      rows ??= this.buffer.take(ROWS_PER_FLUSH);
      this.counters.failed += rows.length;
      for (const row of rows) row.reject(error as Error);
    }
  }

  private async send(connection: AckConnection, rows: readonly BufferedMove[]): Promise<void> {
    this.counters.flushes += 1;
    this.counters.rows += rows.length;
    const results = await this.timed(() =>
      connection.callOne(
        logAckMultiV1,
        rows.map(({ move }) => move),
      ),
    );
    if (!Array.isArray(results) || results.length !== rows.length) {
      throw new BrokerError('internal', 'the ack procedure answered for another number of cursors');
    }
    rows.forEach((row, i) => row.resolve(this.verdictOf(results[i])));
  }

  private async moveAlone(move: CursorMove): Promise<MoveVerdict> {
    try {
      return this.verdictOf(
        await this.lane.run((connection) => {
          this.counters.flushes += 1;
          this.counters.rows += 1;
          return this.timed(() => connection.callOne(logAckAtV1, move));
        }),
      );
    } catch (error) {
      this.counters.failed += 1;
      throw error;
    }
  }

  private async timed<T>(statement: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const result = await statement();
    this.rtts.add(performance.now() - startedMs);
    return result;
  }

  private verdictOf({ ok }: CursorMoveResult): MoveVerdict {
    if (ok) return 'committed';
    this.counters.rejected += 1;
    return 'rejected';
  }
}
