import type { KeyObject } from 'node:crypto';
import type { CryptoKey, JWSHeaderParameters } from 'jose';

export type VerificationKey = CryptoKey | KeyObject | Uint8Array;

/** Where keys come from. A key is only ever given out for the algorithms of its own kind. */
export interface KeySource {
  /**
   * The keys that may have signed a token with this header; none when there is no such key.
   * @throws BrokerError `keys_unavailable` when that cannot be told now
   */
  keysFor(header: JWSHeaderParameters): Promise<VerificationKey[]>;
}
