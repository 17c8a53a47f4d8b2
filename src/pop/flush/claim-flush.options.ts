import type { Environment } from '../../base/config/environment.js';

export interface ClaimFlushOptions {
  /** Claims of concurrent pops share statements. */
  fusion: boolean;
  /** Pops in one statement. */
  jobsMax: number;
  /** Statements at once; pops that come meanwhile gather for the next. */
  flightsMax: number;
}

export const CLAIM_FLUSH_OPTIONS = Symbol('ClaimFlushOptions');

export function claimFlushOptions(environment: Environment): ClaimFlushOptions {
  return {
    fusion: environment.QUEEN_POP_FUSION,
    jobsMax: environment.QUEEN_POP_FUSION_MAX_JOBS,
    flightsMax: environment.QUEEN_POP_FUSION_CONCURRENCY,
  };
}
