import type { Identity } from './identity.js';

const TOKENS_MAX = 10_000;
const CHARACTERS_MAX = 8 * 1024 * 1024;

/**
 * Tokens whose signature was found good, so that a request with one of them costs a look-up. Only verified tokens come
 * in, and each until it expires; the oldest leaves when there are too many, and is verified again when it comes back.
 */
export class TokenCache {
  private readonly identities = new Map<string, Identity>();
  private characters = 0;

  constructor(
    private readonly tokensMax = TOKENS_MAX,
    private readonly charactersMax = CHARACTERS_MAX,
  ) {}

  get size(): number {
    return this.identities.size;
  }

  /** @param nowMs milliseconds since the epoch */
  get(token: string, nowMs: number): Identity | null {
    const identity = this.identities.get(token);
    if (identity === undefined) return null;
    if (nowMs < identity.expiresAtMs) return identity;
    this.delete(token);
    return null;
  }

  set(token: string, identity: Identity): void {
    this.delete(token);
    this.identities.set(token, identity);
    this.characters += token.length;
    for (const oldest of this.identities.keys()) {
      if (this.identities.size <= this.tokensMax && this.characters <= this.charactersMax) break;
      this.delete(oldest);
    }
  }

  clear(): void {
    this.identities.clear();
    this.characters = 0;
  }

  private delete(token: string): void {
    if (this.identities.delete(token)) this.characters -= token.length;
  }
}
