import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { mayBeEnvelope, openEnvelope, sealPayload } from './envelope.js';

/** One line about unreadable payloads in so long a time. */
const WARN_EVERY_MS = 60_000;
const NULL = Buffer.from('null');

/**
 * Payloads under this broker's key. Without a key nothing is sealed or opened; what cannot be opened is served as it is
 * stored. Neither is ever an error of a request (http-api 3.1).
 */
@Injectable()
export class PayloadCipher {
  private readonly logger = new Logger('Encryption');
  private readonly key: Buffer | null;
  private unreadable = 0;
  private warnedAtMs = -Infinity;

  constructor(
    @Inject(environmentConfig.KEY) environment: Environment,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    const { QUEEN_ENCRYPTION_KEY: hex } = environment;
    this.key = hex === '' ? null : Buffer.from(hex, 'hex');
  }

  /** Without one there is no need to ask anything here. */
  get hasKey(): boolean {
    return this.key !== null;
  }

  /** Stored payloads that are marked as envelopes and were served as such, for want of the right key. */
  get failures(): number {
    return this.unreadable;
  }

  /** The envelope of a payload; to be called only with a key. */
  seal(payload: Buffer): Buffer {
    if (!this.key) throw new Error('there is no key to seal with');
    return sealPayload(this.key, payload);
  }

  /**
   * What is in the envelope; null when the payload is to be served as it is.
   * @param isMarked it was stored as an envelope; other payloads are opened when they have the shape of one and this
   *   key fits, as data of other brokers has no mark
   */
  open(payload: Buffer, isMarked: boolean): Buffer | null {
    if (!isMarked && (!this.key || !mayBeEnvelope(payload))) return null;
    const opened = this.key && openEnvelope(this.key, payload);
    if (opened) return opened.length > 0 ? opened : NULL;
    if (isMarked) this.reportUnreadable();
    return null;
  }

  /** As open, for a payload that came as text. */
  openText(payload: string, isMarked: boolean): string | null {
    if (!isMarked && !this.key) return null;
    return this.open(Buffer.from(payload), isMarked)?.toString() ?? null;
  }

  private reportUnreadable(): void {
    this.unreadable += 1;
    const nowMs = this.clock.monoMs();
    if (nowMs - this.warnedAtMs < WARN_EVERY_MS) return;
    this.warnedAtMs = nowMs;
    const why = this.key ? 'QUEEN_ENCRYPTION_KEY does not fit' : 'QUEEN_ENCRYPTION_KEY is not set';
    this.logger.warn(`${this.unreadable} encrypted payloads were served as they are stored: ${why}`);
  }
}
