import type { Environment } from '../base/config/environment.js';

export interface PushOptions {
  /** Partitions that share one transaction. */
  bundlePartitionsMax: number;
  /** Transactions of pushes at once; what arrives meanwhile gathers for the next. */
  flushesInFlightMax: number;
  /** Bytes of requests without an answer; beyond, pushes are answered 503. */
  bufferBytesMax: number;
}

export const PUSH_OPTIONS = Symbol('PushOptions');

export function pushOptions(environment: Environment): PushOptions {
  return {
    bundlePartitionsMax: environment.QUEEN_V2_BUNDLE_MAX,
    flushesInFlightMax: environment.QUEEN_V2_FUSION_MAX_INFLIGHT,
    bufferBytesMax: environment.QUEEN_PUSH_BUFFER_BYTES,
  };
}
