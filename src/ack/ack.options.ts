import type { Environment } from '../base/config/environment.js';

export interface AckOptions {
  /** Acks share commits: full batches, and completions that are looked up. */
  fusion: boolean;
}

export const ACK_OPTIONS = Symbol('AckOptions');

export function ackOptions(environment: Environment): AckOptions {
  return { fusion: environment.QUEEN_ACK_FUSION };
}
