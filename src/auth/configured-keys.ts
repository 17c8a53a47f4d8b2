import type { JWSHeaderParameters } from 'jose';
import { algorithmsOf, readPublicKey } from '../base/config/public-key.js';
import { HMAC } from './auth.options.js';
import type { KeySource, VerificationKey } from './key-source.js';

/** The keys of the configuration. They have no id, so the one a token names is not looked at. */
export class ConfiguredKeys implements KeySource {
  private readonly byAlgorithm = new Map<string, VerificationKey>();

  /** @param secret empty: none. @param publicKey PEM; empty: none */
  constructor(secret: string, publicKey: string) {
    if (secret !== '') for (const one of HMAC) this.byAlgorithm.set(one, Buffer.from(secret));
    if (publicKey === '') return;
    const key = readPublicKey(publicKey);
    for (const one of algorithmsOf(key)) this.byAlgorithm.set(one, key);
  }

  keysFor({ alg }: JWSHeaderParameters): Promise<VerificationKey[]> {
    const key = this.byAlgorithm.get(alg ?? '');
    return Promise.resolve(key === undefined ? [] : [key]);
  }
}
