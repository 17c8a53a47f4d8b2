import { Injectable } from '@nestjs/common';
import { BrokerError } from '../../base/errors/broker-error.js';
import { RecentValues } from '../../base/recent-values.js';
import type { Permit } from '../../limiter/permit.js';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import { isRefusal, SqlStatementError } from '../../raw-sql/sql-failure.js';
import { callClaims } from './call-claims.js';
import type { JobAnswer } from './job-answer.js';
import type { JobArgs } from './pop-multi.procedures.js';

/** Deadlock and serialization failures are a bug in hot paths, so they are retried quietly only this often. */
const ATTEMPTS = 3;

export type JobOutcome = JobAnswer | { readonly failure: Error };

export interface ClaimSendStats {
  /** Statements, including those of pops that had to be sent again alone. */
  statements: number;
  /** Pops in them. */
  jobs: number;
}

/** Sends the claims of several pops in one statement, and decides what a failure of it means for each of them. */
@Injectable()
export class ClaimSender {
  private readonly counters = { statements: 0, jobs: 0 };
  private readonly rtts = new RecentValues();

  /**
   * One outcome per job, in order; never rejects.
   *
   * A failed statement has claimed nothing. What PostgreSQL refuses for the sake of one pop fails only that one: each is
   * sent once more alone. When the connection or the time ran out, all fail.
   */
  async send(connection: SqlConnection, permit: Permit, jobs: readonly JobArgs[]): Promise<JobOutcome[]> {
    try {
      return await this.claim(connection, permit, jobs);
    } catch (cause) {
      const failure = cause as Error;
      if (jobs.length === 1 || !isRefusal(failure)) return jobs.map(() => ({ failure }));
      const outcomes: JobOutcome[] = [];
      for (const job of jobs) outcomes.push(...(await this.send(connection, permit, [job])));
      return outcomes;
    }
  }

  stats(): ClaimSendStats {
    return { ...this.counters };
  }

  /** Round trip of the last of them in milliseconds; `q` from 0 to 1. */
  rttQuantileMs(q: number): number {
    return this.rtts.quantile(q);
  }

  private async claim(
    connection: SqlConnection,
    permit: Permit,
    jobs: readonly JobArgs[],
  ): Promise<JobAnswer[]> {
    for (let attempt = 1; ; attempt++) {
      const startedMs = performance.now();
      try {
        const answers = await callClaims(connection, jobs);
        const rttMs = performance.now() - startedMs;
        this.counters.statements += 1;
        this.counters.jobs += jobs.length;
        this.rtts.add(rttMs);
        // Empty claims are many times faster and would drag the limiter's base down (serve-path 4.3).
        if (answers.some(({ claimed }) => claimed.length > 0)) permit.sample(rttMs);
        return answers;
      } catch (error) {
        if (error instanceof SqlStatementError && error.retryable && attempt < ATTEMPTS) continue;
        if (error instanceof BrokerError && error.code === 'statement_timeout') permit.timedOut();
        throw error;
      }
    }
  }
}
