import type { Hint } from './hint.js';

export interface HintBusState {
  /** Hints arrive and leave. */
  isConnected: boolean;
  /** Other brokers are believed to listen; without any, nothing is collected. */
  hasPeers: boolean;
}

export interface HintBusStats extends HintBusState {
  sent: number;
  received: number;
  dropped: number;
  reconnects: number;
}

/**
 * Carries hints between brokers: best effort, drops instead of blocking, no replay. Another transport (frames over TCP,
 * a message bus a team has already) is another implementation, provided by a global module under the token OWN_HINT_BUS
 * (docs/extending.md).
 */
export interface HintBus {
  start(listener: HintListener): Promise<void>;
  /**
   * Resolves when the hints are out or given up, and never rejects; called again only then. Marks that cannot be sent
   * are dropped and counted; news of administration are kept until they can be.
   */
  publish(hints: readonly Hint[]): Promise<void>;
  stats(): HintBusStats;
  stop(): Promise<void>;
}

export interface HintListener {
  heard(hint: Hint): void;
  /** Listening began anew: what was said meanwhile was not heard. */
  reconnected(): void;
}

/** What the broker uses. */
export const HINT_BUS = Symbol('HintBus');
/** What a module of a team's own wants it to use instead of what QUEEN_HINT_BUS says. */
export const OWN_HINT_BUS = Symbol('OwnHintBus');
