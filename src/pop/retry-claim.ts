import { BrokerError } from '../base/errors/broker-error.js';
import type { Permit } from '../limiter/permit.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import type { ClaimedPartition } from './claim.js';

/** Deadlock and serialization failures are a bug in hot paths, so they are retried quietly only this often. */
const ATTEMPTS = 3;

/**
 * Runs a claim and tells the permit what it cost. Only claims that delivered count as samples: empty ones are many
 * times faster and would drag the limiter's base down (serve-path 4.3).
 */
export async function retried(
  permit: Permit,
  claim: () => Promise<ClaimedPartition[]>,
): Promise<ClaimedPartition[]> {
  for (let attempt = 1; ; attempt++) {
    const startedMs = performance.now();
    try {
      const claimed = await claim();
      if (claimed.length > 0) permit.sample(performance.now() - startedMs);
      return claimed;
    } catch (error) {
      if (error instanceof SqlStatementError && error.retryable && attempt < ATTEMPTS) continue;
      if (error instanceof BrokerError && error.code === 'statement_timeout') permit.timedOut();
      throw error;
    }
  }
}
