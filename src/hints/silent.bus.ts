import type { HintBus, HintBusStats } from './hint-bus.js';

/** QUEEN_HINT_BUS=off: a single broker, or brokers that find each other's messages by polling. */
export class SilentBus implements HintBus {
  start(): Promise<void> {
    return Promise.resolve();
  }

  publish(): Promise<void> {
    return Promise.resolve(); // nobody listens
  }

  stats(): HintBusStats {
    return { isConnected: false, hasPeers: false, sent: 0, received: 0, dropped: 0, reconnects: 0 };
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}
