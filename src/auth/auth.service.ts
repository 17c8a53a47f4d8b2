import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import type { AuthOptions } from './auth.options.js';
import { ConfiguredKeys } from './configured-keys.js';
import { fetchKeySet } from './fetch-key-set.js';
import type { Identity } from './identity.js';
import { RemoteKeys } from './remote-keys.js';
import { TokenCache } from './token-cache.js';
import { TokenVerifier } from './token-verifier.js';

export const AUTH_OPTIONS = Symbol('AuthOptions');

export interface AuthStats {
  /** Tokens whose signature need not be checked again. */
  remembered: number;
  /** Signatures and claims that were looked at, with whatever result. */
  verified: number;
}

/** Keys, tokens and what is remembered of them. */
@Injectable()
export class AuthService implements OnModuleInit, OnApplicationShutdown {
  private readonly cache = new TokenCache();
  private readonly remote: RemoteKeys | null;
  private readonly verifier: TokenVerifier;
  private generation = 0;
  private verified = 0;

  constructor(
    @Inject(AUTH_OPTIONS) options: AuthOptions,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    const { jwksUrl, jwksRefreshMs, jwksTimeoutMs } = options;
    const configured = new ConfiguredKeys(options.secret, options.publicKey);
    this.remote =
      jwksUrl === ''
        ? null
        : new RemoteKeys(
            jwksUrl,
            jwksRefreshMs,
            () => fetchKeySet(jwksUrl, jwksTimeoutMs),
            clock,
            () => this.forget(),
          );
    this.verifier = new TokenVerifier(
      options.algorithms,
      this.remote ? [configured, this.remote] : [configured],
      options.claims,
      clock,
    );
  }

  async onModuleInit(): Promise<void> {
    await this.remote?.start();
  }

  onApplicationShutdown(): void {
    this.remote?.stop();
  }

  /** Whom a token that was verified before speaks for; null when it has to be verified (again). */
  recall(token: string): Identity | null {
    return this.cache.get(token, this.clock.wallMs());
  }

  /** @throws BrokerError `invalid_token`, `token_expired`, `keys_unavailable` */
  async verify(token: string): Promise<Identity> {
    this.verified++;
    const { generation } = this;
    const identity = await this.verifier.verify(token);
    // Judged by a set of keys that was replaced meanwhile: good for this request, not for later ones.
    if (generation === this.generation) this.cache.set(token, identity);
    return identity;
  }

  stats(): AuthStats {
    return { remembered: this.cache.size, verified: this.verified };
  }

  private forget(): void {
    this.generation++;
    this.cache.clear();
  }
}
