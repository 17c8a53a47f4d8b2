import { SqlStatementError } from './sql-failure.js';

/** Enough for a deadlock or two; what fails as often as this has another reason. */
const ATTEMPTS = 5;

/**
 * Repeats what failed for a reason that the next attempt may not meet (deadlock, a delete in between). For calls of
 * administration: nothing was written, and they are rare enough to repeat without a pause.
 */
export async function withRetries<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof SqlStatementError && error.retryable && attempt < ATTEMPTS)) throw error;
    }
  }
}
