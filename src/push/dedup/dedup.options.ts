import type { Environment } from '../../base/config/environment.js';

export interface DedupOptions {
  /** Memory of all indexes together; 0: none are kept. */
  bytesMax: number;
}

export const DEDUP_OPTIONS = Symbol('DedupOptions');

const MIB = 1024 * 1024;

export function dedupOptions(environment: Environment): DedupOptions {
  return { bytesMax: environment.QUEEN_DEDUP_CACHE ? environment.QUEEN_DEDUP_CACHE_MB * MIB : 0 };
}
