import type { Access } from './access.js';

/** Who a verified token speaks for. */
export interface Identity {
  /** The token's `sub`, UTF-8; null without one. It becomes the `producerSub` of what is pushed. */
  readonly subject: Buffer | null;
  readonly grants: ReadonlySet<Access>;
  /** The only tenant it may act for; null: any. */
  readonly tenant: string | null;
  /** Milliseconds since the epoch, clock skew included; Infinity for a token that does not expire. */
  readonly expiresAtMs: number;
}
