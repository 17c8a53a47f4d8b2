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
 * a message bus a team has already) is another implementation under the token HINT_BUS.
 */
export interface HintBus {
  start(listener: HintListener): Promise<void>;
  /** Never throws and never waits; hints that cannot be sent are dropped and counted. */
  publish(hints: readonly Hint[]): void;
  stats(): HintBusStats;
  stop(): Promise<void>;
}

export interface HintListener {
  heard(hint: Hint): void;
  /** Listening began anew: what was said meanwhile was not heard. */
  reconnected(): void;
}

export const HINT_BUS = Symbol('HintBus');
