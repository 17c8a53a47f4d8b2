import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../../base/clock/clock.js';
import { BrokerError } from '../../base/errors/broker-error.js';
import { SampledLogger } from '../../base/log/sampled-logger.js';
import { RecentValues } from '../../base/recent-values.js';
import type { Permit } from '../../limiter/permit.js';
import { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import { isRefusal, SqlStatementError } from '../../raw-sql/sql-failure.js';
import {
  checkVerdicts,
  logPushMultiV2,
  type PushVerdict,
  type VouchedSegmentArgs,
} from '../push.procedures.js';

export type SegmentOutcome = PushVerdict | { readonly status: 'failed'; readonly error: BrokerError };

const RETRIES = 3;
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 50;
/** Raised by the push procedures when a partition was deleted between their look at it and their lock. */
const PARTITION_GONE = 'QGONE';

/** Sends segments in one transaction, and decides what a failure of it means for each of them. */
@Injectable()
export class BundleSender {
  private readonly logger: SampledLogger;
  private rttMsSum = 0;
  private readonly rtts = new RecentValues();

  constructor(
    private readonly rawSql: RawSqlService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.logger = new SampledLogger('Push', () => clock.monoMs());
  }

  /** Time spent in push statements that succeeded, without the wait for a connection. */
  get rttMs(): number {
    return this.rttMsSum;
  }

  /** Of the last of them, in milliseconds; `q` from 0 to 1. */
  rttQuantileMs(q: number): number {
    return this.rtts.quantile(q);
  }

  /**
   * One outcome per segment, in order; never rejects.
   *
   * What a second attempt may not meet (deadlock, serialization) is tried again. Data that PostgreSQL refuses fails
   * only the segment it is in: each is sent once more alone. When the connection or the time ran out, nobody knows
   * whether the commit happened: all fail, and a client that repeats its transactionIds finds out without harm.
   */
  async send(segments: readonly VouchedSegmentArgs[], permit: Permit): Promise<SegmentOutcome[]> {
    let failure: unknown;
    for (let attempt = 0; attempt <= RETRIES; attempt++) {
      if (attempt > 0) await this.pause();
      try {
        return await this.commit(segments, permit);
      } catch (error) {
        failure = error;
        if (!mayPassNextTime(error)) break;
      }
    }
    if (segments.length > 1 && isRefusal(failure)) return this.sendEachAlone(segments, permit);
    const error = this.asBrokerError(failure);
    return segments.map(() => ({ status: 'failed', error }));
  }

  private async sendEachAlone(
    segments: readonly VouchedSegmentArgs[],
    permit: Permit,
  ): Promise<SegmentOutcome[]> {
    const outcomes: SegmentOutcome[] = [];
    for (const segment of segments) {
      const [outcome] = await this.send([segment], permit);
      outcomes.push(outcome);
      if (outcome.status === 'failed' && !isRefusal(outcome.error)) {
        // The database went away: every further one would wait for it in turn.
        return segments.map((_, k) => outcomes[k] ?? outcome);
      }
    }
    return outcomes;
  }

  private commit(segments: readonly VouchedSegmentArgs[], permit: Permit): Promise<PushVerdict[]> {
    return this.rawSql.withConnection(null, async (connection) => {
      const startedMs = this.clock.monoMs();
      try {
        const verdicts = await connection.callOne(logPushMultiV2, segments);
        const rttMs = this.clock.monoMs() - startedMs;
        permit.sample(rttMs);
        this.rttMsSum += rttMs;
        this.rtts.add(rttMs);
        return checkVerdicts(verdicts, segments);
      } catch (error) {
        if (error instanceof BrokerError && error.code === 'statement_timeout') permit.timedOut();
        throw error;
      }
    });
  }

  private pause(): Promise<void> {
    const delayMs = RETRY_MS_MIN + Math.random() * (RETRY_MS_MAX - RETRY_MS_MIN);
    return new Promise((resolve) => void this.clock.after(delayMs, resolve));
  }

  private asBrokerError(failure: unknown): BrokerError {
    const error =
      failure instanceof BrokerError
        ? failure
        : new BrokerError('internal', undefined, undefined, { cause: failure });
    const detail =
      error instanceof SqlStatementError
        ? `${error.sqlState ?? 'no SQLSTATE'} ${error.sqlMessage}`
        : `${error.code}${failure instanceof BrokerError ? '' : ` (${String(failure)})`}`;
    // One line for many: a database that is away fails every flush.
    this.logger.error(error.code, `push statement failed: ${detail}`);
    return error;
  }
}

function mayPassNextTime(error: unknown): boolean {
  return error instanceof SqlStatementError && (error.retryable || error.sqlState === PARTITION_GONE);
}
