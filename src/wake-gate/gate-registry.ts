import type { Clock } from '../base/clock/clock.js';
import { splitQueueKey } from '../base/queue-key.js';
import { DiscoveryGate } from './discovery-gate.js';
import type { WaitList } from './wait-list.js';
import { WakeGate } from './wake-gate.js';
import type { WakeKey } from './wake-key.js';
import { WakeTicket } from './wake-ticket.js';

/** All gates by key: made with the first ticket for them, found by openings, dropped with the last ticket. */
export class GateRegistry {
  private readonly gates = new Map<string, WakeGate>();
  private readonly discovery = new Map<string, DiscoveryGate>();

  constructor(
    private readonly clock: Clock,
    private readonly wake: (list: WaitList) => void,
  ) {}

  /** Gates of both kinds. */
  get size(): number {
    return this.gates.size + this.discovery.size;
  }

  gate(key: string): WakeGate | undefined {
    return this.gates.get(key);
  }

  /** The discovery gate of the tenant this queue key belongs to. */
  discoveryGate(key: string): DiscoveryGate | undefined {
    return this.discovery.size === 0 ? undefined : this.discovery.get(splitQueueKey(key).tenant);
  }

  allGates(): IterableIterator<[string, WakeGate]> {
    return this.gates.entries();
  }

  allDiscoveryGates(): IterableIterator<DiscoveryGate> {
    return this.discovery.values();
  }

  ticket(wakeKey: WakeKey): WakeTicket {
    return wakeKey.kind === 'discovery' ? this.discoveryTicket(wakeKey.tenant) : this.queueTicket(wakeKey);
  }

  private queueTicket(wakeKey: Exclude<WakeKey, { kind: 'discovery' }>): WakeTicket {
    const { key } = wakeKey;
    let gate = this.gates.get(key);
    if (!gate) this.gates.set(key, (gate = new WakeGate()));
    const used = gate;
    const list = wakeKey.kind === 'queue' ? used.everyone : used.partition(wakeKey.partition);
    const giveBack = () => {
      if (list.tickets > 0) return;
      if (wakeKey.kind === 'partition') used.dropPartition(wakeKey.partition);
      if (used.isUnused) this.gates.delete(key);
    };
    return new WakeTicket(list, wakeKey.kind === 'queue', giveBack, this.clock.monoMs());
  }

  private discoveryTicket(tenant: string): WakeTicket {
    let discovery = this.discovery.get(tenant);
    if (!discovery) this.discovery.set(tenant, (discovery = new DiscoveryGate(this.clock, this.wake)));
    const used = discovery;
    const giveBack = () => {
      if (used.list.tickets > 0) return;
      used.stop();
      this.discovery.delete(tenant);
    };
    return new WakeTicket(used.list, false, giveBack, this.clock.monoMs());
  }
}
