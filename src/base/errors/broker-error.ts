import { errorTable, type ErrorCode } from './error-table.js';

/**
 * The only error a client sees the text of. `message` becomes `error` in the body, `code` stands beside it,
 * and `extra` adds keys (never secrets, never stacks). `retryAfterSeconds` becomes the Retry-After header.
 */
export class BrokerError extends Error {
  readonly status: number;

  constructor(
    readonly code: ErrorCode,
    message?: string,
    readonly extra?: Record<string, unknown>,
    options?: { cause?: unknown },
  ) {
    super(message ?? errorTable[code].meaning, options);
    this.name = 'BrokerError';
    this.status = errorTable[code].status;
  }

  get retryAfterSeconds(): number | undefined {
    return this.status === 429 || this.status === 503 ? 1 : undefined;
  }
}
