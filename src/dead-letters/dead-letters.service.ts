import { Injectable } from '@nestjs/common';
import { inPieces } from '../base/in-pieces.js';
import { PayloadCipher } from '../encryption/payload-cipher.js';
import type { MessageAddress } from '../http/message-address.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { withRetries } from '../raw-sql/with-retries.js';
import type { DeadLetterFilter } from './dead-letter-filter.js';
import {
  type DeadLetterRow,
  type DeletedMessage,
  deleteMessageV1,
  getDlqMessagesV1,
  logDlqPurgeV1,
  logDlqSummaryV1,
} from './dead-letters.procedures.js';

/** Payloads of one piece of a list. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** Rows deleted by one transaction. */
const PURGE_LETTERS = 1000;

/** Lists dead letters and deletes them. */
@Injectable()
export class DeadLettersService {
  constructor(
    private readonly rawSql: RawSqlService,
    private readonly cipher: PayloadCipher,
  ) {}

  /** Newest failure first, in pieces of bounded size; payloads as they were pushed. */
  list(
    filter: DeadLetterFilter,
    { limit, offset }: { limit: number; offset: number },
  ): AsyncGenerator<readonly DeadLetterRow[]> {
    return inPieces<DeadLetterRow>(limit, async (last, wanted) => {
      const rows = await this.rawSql.call(getDlqMessagesV1, {
        filter,
        before: last,
        limit: wanted,
        offset: last ? 0 : offset,
        bytesMax: PIECE_BYTES,
      });
      return rows.map((row) => this.opened(row));
    });
  }

  async count(filter: DeadLetterFilter): Promise<number> {
    return (await this.rawSql.callOne(logDlqSummaryV1, { filter, after: null })).matched;
  }

  /**
   * Deletes what passes the filter and had failed when the call began, in transactions of bounded size; the number of
   * letters. `gone` ends the work between two of them.
   */
  async purge(filter: DeadLetterFilter, gone: AbortSignal): Promise<number> {
    let total = 0;
    let to = filter.to;
    for (;;) {
      const { deleted, until } = await withRetries(() =>
        this.rawSql.callOne(logDlqPurgeV1, { filter: { ...filter, to }, limit: PURGE_LETTERS }),
      );
      total += deleted;
      to = until;
      // Not "fewer than asked for": those that somebody else deleted meanwhile count as asked for.
      if (deleted === 0 || gone.aborted) return total;
    }
  }

  deleteAt(address: MessageAddress): Promise<DeletedMessage> {
    return withRetries(() => this.rawSql.callOne(deleteMessageV1, address));
  }

  private opened(row: DeadLetterRow): DeadLetterRow {
    const payload = row.payload === null ? null : this.cipher.openText(row.payload, row.encrypted);
    return payload === null ? row : { ...row, payload, encrypted: true };
  }
}
