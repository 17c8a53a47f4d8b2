import type { Environment } from '../base/config/environment.js';

export interface AckRegistryOptions {
  /** Off: no batch is fingerprinted and none is ever found; partitions of leases are still remembered. */
  enabled: boolean;
  bytesMax: number;
}

export const ACK_REGISTRY_OPTIONS = Symbol('AckRegistryOptions');

export function ackRegistryOptions(environment: Environment): AckRegistryOptions {
  return {
    enabled: environment.QUEEN_ACK_REGISTRY,
    bytesMax: environment.QUEEN_ACK_REGISTRY_MB * 1024 * 1024,
  };
}
