import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import type { DeadLetterFilter } from './dead-letter-filter.js';
import {
  type DeadLetterSummary,
  type ListedLetter,
  logDlqIdsV1,
  logDlqSummaryV1,
} from './dead-letters.procedures.js';
import { cursorText } from './replay-cursor.js';
import type { BulkReplayRequest } from './replay.request.js';
import { ReplayService } from './replay.service.js';

export interface BulkReplayProgress {
  /** Dead letters gone through in this call; the sum of the four that follow. */
  processed: number;
  moved: number;
  /** Somebody else replayed or deleted them meanwhile. */
  gone: number;
  /** Kept, as are the last: a message with the transactionId of the replay is there already. */
  duplicate: number;
  /** Without a payload. */
  empty: number;
  /** Not yet gone through; null when that could not be counted. */
  remaining: number | null;
  /** For the next call; null when all have been gone through. */
  next: string | null;
  /** Why the call ended early. */
  stopped: BrokerError | null;
}

/** Ids fetched at once. The letters are read one by one: each may be as large as a push. */
const PAGE_LETTERS = 200;

/**
 * Replays the dead letters that pass a filter, oldest first, a bounded number a call; the client repeats the call with
 * `next` and sees the progress. Each letter is a transaction of its own, so a call that breaks off loses nothing, and
 * repeating it moves nothing twice.
 */
@Injectable()
export class BulkReplayService {
  constructor(
    private readonly rawSql: RawSqlService,
    private readonly replays: ReplayService,
  ) {}

  async preview({ filter, after }: BulkReplayRequest): Promise<DeadLetterSummary> {
    return this.rawSql.callOne(logDlqSummaryV1, { filter, after });
  }

  /** `gone` ends the work between two letters. Throws only when nothing was done yet. */
  async run(request: BulkReplayRequest, gone: AbortSignal): Promise<BulkReplayProgress> {
    const counts = { moved: 0, gone: 0, duplicate: 0, empty: 0 };
    let processed = 0;
    let stopped: BrokerError | null = null;
    const { filter } = request;
    let last: ListedLetter | null = null;
    try {
      for await (const letter of this.letters(request)) {
        if (gone.aborted) break;
        const { result } = await this.replays.replay(filter.tenant, letter.id, request.target);
        counts[result] += 1;
        processed += 1;
        last = letter;
      }
    } catch (error) {
      if (!(error instanceof BrokerError) || processed === 0) throw error;
      stopped = error;
    }

    if (!last) return { processed, ...counts, remaining: 0, next: null, stopped };
    const remaining = await this.remaining({ ...filter, to: last.until }, last, stopped);
    const next = remaining === 0 ? null : cursorText({ after: last, until: last.until });
    return { processed, ...counts, remaining, next, stopped };
  }

  private async *letters({ filter, after, limit }: BulkReplayRequest): AsyncGenerator<ListedLetter> {
    let position = after;
    let until = filter.to;
    for (let wanted = limit; wanted > 0;) {
      const letters: ListedLetter[] = await this.rawSql.call(logDlqIdsV1, {
        filter: { ...filter, to: until },
        after: position,
        limit: Math.min(wanted, PAGE_LETTERS),
      });
      if (letters.length === 0) return;
      yield* letters;
      wanted -= letters.length;
      position = letters[letters.length - 1];
      until = letters[0].until;
    }
  }

  private async remaining(
    filter: DeadLetterFilter,
    after: ListedLetter,
    stopped: BrokerError | null,
  ): Promise<number | null> {
    try {
      return (await this.rawSql.callOne(logDlqSummaryV1, { filter, after })).matched;
    } catch (error) {
      if (stopped) return null; // what was moved is worth telling, counted or not
      throw error;
    }
  }
}
