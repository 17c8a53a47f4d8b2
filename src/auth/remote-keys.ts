import { Logger } from '@nestjs/common';
import {
  createLocalJWKSet,
  errors,
  type CryptoKey,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type LocalJWKSet,
} from 'jose';
import type { CancelTimer, Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { ASYMMETRIC } from './auth.options.js';
import type { FetchKeySet } from './fetch-key-set.js';
import type { KeySource } from './key-source.js';

/** An unknown key id may be that of a new key, or nonsense that somebody sends by the thousand. */
const LOOK_AGAIN_MS = 10_000;
const RETRY_FIRST_MS = 1_000;
const RETRY_MAX_MS = 60_000;
/** Of keys that fit a token without an id. */
const CANDIDATES_MAX = 8;

/**
 * The keys of a JWKS. The set is read at start, then every `refreshMs`, and when a token names a key that is not in it.
 * While it cannot be read the last one stays in force; before the first one nothing can be told, which is
 * `keys_unavailable` and no reason not to start: whoever issues tokens may well start after the broker.
 */
export class RemoteKeys implements KeySource {
  private readonly logger = new Logger('Auth');
  private keys: LocalJWKSet | null = null;
  private text = '';
  private reading: Promise<void> | null = null;
  private readAtMs = -Infinity;
  private failures = 0;
  private cancelTimer: CancelTimer | null = null;
  private isStopped = false;

  /** @param onChange called when the set is another one than before, so that nothing judged by the old one lives on */
  constructor(
    private readonly url: string,
    private readonly refreshMs: number,
    private readonly fetchSet: FetchKeySet,
    private readonly clock: Clock,
    private readonly onChange: () => void,
  ) {}

  /** The first attempt; resolved whether or not it succeeds. */
  async start(): Promise<void> {
    await this.read();
  }

  stop(): void {
    this.isStopped = true;
    this.cancelTimer?.();
  }

  async keysFor(header: JWSHeaderParameters): Promise<CryptoKey[]> {
    if (!ASYMMETRIC.includes(header.alg ?? '')) return []; // a set that everybody can read holds no secrets
    if (this.keys === null) await this.reading;
    const keys = await this.find(header);
    if (keys.length > 0 || !this.mayLookAgain()) return keys;
    await this.read();
    return this.find(header);
  }

  private mayLookAgain(): boolean {
    return this.reading !== null || this.clock.monoMs() - this.readAtMs >= LOOK_AGAIN_MS;
  }

  private async find(header: JWSHeaderParameters): Promise<CryptoKey[]> {
    if (this.keys === null) throw new BrokerError('keys_unavailable');
    try {
      return [await this.keys(header)];
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) return candidates(error);
      return []; // none fits, or the one that does is no usable key
    }
  }

  /** One at a time; whoever needs the set meanwhile waits for the same answer. */
  private read(): Promise<void> {
    this.reading ??= this.readOnce().finally(() => (this.reading = null));
    return this.reading;
  }

  private async readOnce(): Promise<void> {
    this.cancelTimer?.();
    this.readAtMs = this.clock.monoMs();
    let nextMs = this.refreshMs;
    try {
      this.take(await this.fetchSet());
      if (this.failures > 0) this.logger.log(`the key set at ${this.where} can be read again`);
      this.failures = 0;
    } catch (error) {
      nextMs = Math.min(this.refreshMs, RETRY_MAX_MS, RETRY_FIRST_MS * 2 ** Math.min(this.failures, 10));
      this.failures++;
      // First failure, then powers of two: an outage of hours must not fill the log.
      if ((this.failures & (this.failures - 1)) === 0) this.warn(error as Error & { cause?: Error });
    }
    if (!this.isStopped) this.cancelTimer = this.clock.after(nextMs, () => void this.read());
  }

  private take(set: JSONWebKeySet): void {
    const text = JSON.stringify(set.keys);
    if (text === this.text) return;
    this.keys = createLocalJWKSet(set);
    this.text = text;
    this.onChange();
    this.logger.log(`the key set at ${this.where} has ${set.keys.length} keys`);
  }

  private warn(error: Error & { cause?: Error }): void {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
    const effect = this.keys === null ? 'no token can be verified' : 'the last one stays in force';
    this.logger.warn(`the key set at ${this.where} cannot be read: ${error.message}${cause}; ${effect}`);
  }

  /** Without the query, in which some put a key. */
  private get where(): string {
    const { origin, pathname } = new URL(this.url);
    return origin + pathname;
  }
}

async function candidates(several: AsyncIterable<CryptoKey>): Promise<CryptoKey[]> {
  const found: CryptoKey[] = [];
  for await (const key of several) {
    found.push(key);
    if (found.length === CANDIDATES_MAX) break;
  }
  return found;
}
