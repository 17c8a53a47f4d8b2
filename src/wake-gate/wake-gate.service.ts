import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { GateRegistry } from './gate-registry.js';
import { WaitList } from './wait-list.js';
import { Waiter, type StillQuiet } from './waiter.js';
import type { WakeKey } from './wake-key.js';
import { WAKE_DEFER, WakePump, type Defer } from './wake-pump.js';
import { wakeGapMs, type WakeTicket } from './wake-ticket.js';

export interface WakeGateStats {
  /** Pops parked now. */
  parked: number;
  /** The queues with most parked pops, discovery pops not among them. `key` is tenant + U+001F + queue. */
  byQueue: { key: string; parked: number }[];
  gates: number;
  /** Openings of gates that exist. */
  openings: number;
  /** Parks that ended with a wake … */
  woken: number;
  /** … after which the pop came back to park, having found nothing. */
  useless: number;
}

/**
 * Where a pop waits holding nothing (G1). A wake is a hint and the bound of the wait is the floor: whatever goes
 * wrong here costs at most one interval, never a message (G5).
 *
 *   using ticket = gates.ticket(wakeKey);            once a request, before the first look
 *   for (;;) {
 *     ticket.refresh();                              an opening from here on is not lost
 *     … look …
 *     const woken = await gates.park(ticket, ms, gone, stillQuiet);
 *   }
 */
@Injectable()
export class WakeGateService implements BeforeApplicationShutdown {
  private readonly pump: WakePump;
  private readonly registry: GateRegistry;
  /** Pops that pause a few milliseconds: no opening is for them, only those that are for everybody. */
  private readonly naps = new WaitList();
  private closed = false;
  private parked = 0;
  private openings = 0;
  private woken = 0;
  private useless = 0;

  constructor(
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(WAKE_DEFER) defer: Defer,
  ) {
    this.pump = new WakePump((list, limit) => list.wakeSome(limit, this.clock.monoMs(), !this.closed), defer);
    this.registry = new GateRegistry(clock, (list) => {
      this.openings += 1;
      this.pump.wake(list);
    });
  }

  get isClosed(): boolean {
    return this.closed;
  }

  beforeApplicationShutdown(): void {
    this.closeAll();
  }

  /**
   * One pop's place at the gate, for all attempts of one request. Hold it with `using`: the gate exists as long as
   * somebody has a ticket for it, hence take one only for a pop that may wait.
   */
  ticket(wakeKey: WakeKey): WakeTicket {
    return this.registry.ticket(wakeKey);
  }

  /**
   * Waits until woken, at most `ms` milliseconds; true = woken. Never rejects.
   *
   * Answers true at once when the gate opened since `ticket.refresh()`. A pop woken over and over for nothing is
   * held to 200 wakes a second: one may follow at once, the next after 5 ms.
   *
   * `stillQuiet` must be cheap and without effects. It is asked in the same turn as the pop lines up: when it says
   * false, work is there and the pop looks at once, up to eight times in a row, then after 5 ms (a ring full of
   * false positives is burnt through, not slept over). Openings ask it, for pops across a queue, before they wake
   * one beyond the first 256, or one over its 200 a second: true leaves it parked. So true is for a ring that
   * knows; who cannot tell answers undefined.
   *
   * False: the time passed, the client left, or the gates are closed.
   */
  park(ticket: WakeTicket, ms: number, gone: AbortSignal, stillQuiet?: StillQuiet): Promise<boolean> {
    if (ticket.wokenLast) this.useless += 1;
    ticket.wokenLast = false;
    if (this.closed || gone.aborted || ms <= 0) return Promise.resolve(false);

    const nowMs = this.clock.monoMs();
    const quiet = stillQuiet ?? null;
    const pauseMs = this.pauseMs(ticket, quiet, nowMs);
    if (pauseMs === 0) {
      ticket.woken(nowMs);
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const { list } = ticket;
      list.parked += 1;
      this.parked += 1;
      const waiter = new Waiter(ticket, nowMs + ms, quiet, gone, (woken) => {
        list.parked -= 1;
        this.parked -= 1;
        if (woken) {
          this.woken += 1;
          ticket.woken(this.clock.monoMs());
        }
        resolve(woken);
      });
      this.rest(waiter, pauseMs, nowMs);
    });
  }

  /**
   * Wakes the pops of a queue: those across the queue and those of `partition`; without a partition all of them.
   * Offer the work to the ring first, or the woken find it empty and go back to sleep. Without a gate nothing
   * happens, except that the tenant's discovery pops are woken in any case.
   */
  open(key: string, partition?: string): void {
    const gate = this.registry.gate(key);
    if (gate) {
      this.openings += 1;
      gate.open(partition, false, (list) => this.pump.wake(list));
    }
    this.registry.discoveryGate(key)?.pushed();
  }

  /** Wakes only the pops of exactly this partition, and the tenant's discovery pops: those that have no ring to look at. */
  openPartition(key: string, partition: string): void {
    this.registry.gate(key)?.openPartition(partition, (list) => this.pump.wake(list));
    this.registry.discoveryGate(key)?.pushed();
  }

  /** The last partitions opened by name on this gate, each once and given out once, oldest first. */
  drainHints(key: string, max: number): string[] {
    return this.registry.gate(key)?.drainHints(max) ?? [];
  }

  /** Every parked pop looks again, whatever it waits for: a switch that concerns all was flipped. */
  wakeAll(): void {
    const wake = (list: WaitList) => this.pump.wake(list);
    for (const [, gate] of this.registry.allGates()) gate.open(undefined, true, wake);
    for (const discovery of this.registry.allDiscoveryGates()) discovery.open(true);
    this.naps.open(true);
    wake(this.naps);
  }

  /** Shutdown: every parked pop ends with false without waiting for its time, and later parks do not wait. */
  closeAll(): void {
    this.closed = true;
    this.wakeAll();
    for (const discovery of this.registry.allDiscoveryGates()) discovery.stop();
  }

  /** @param top how many queues to name */
  stats(top = 10): WakeGateStats {
    const byQueue: { key: string; parked: number }[] = [];
    for (const [key, gate] of this.registry.allGates()) {
      const { parked } = gate;
      if (parked > 0) byQueue.push({ key, parked });
    }
    byQueue.sort((a, b) => b.parked - a.parked);
    return {
      parked: this.parked,
      byQueue: byQueue.slice(0, top),
      gates: this.registry.size,
      openings: this.openings,
      woken: this.woken,
      useless: this.useless,
    };
  }

  /** Milliseconds before this pop may look again: 0 at once, Infinity not before an opening. */
  private pauseMs(ticket: WakeTicket, stillQuiet: StillQuiet | null, nowMs: number): number {
    const quiet = stillQuiet?.();
    if (quiet === false) return ticket.mayBurnThrough() ? 0 : wakeGapMs;
    const overMs = ticket.lookAgainAtMs - nowMs;
    if (overMs <= 0) return ticket.missedOpening ? 0 : Infinity;
    // Over its allowance. Where a ring speaks for it, it may line up all the same: openings will ask. Else it naps.
    return quiet && ticket.isQueueWide ? Infinity : overMs;
  }

  private rest(waiter: Waiter, pauseMs: number, nowMs: number): void {
    const leftMs = waiter.untilMs - nowMs;
    if (pauseMs < leftMs) {
      this.naps.add(waiter);
      waiter.cancelTimer = this.clock.after(pauseMs, () => this.afterNap(waiter));
      return;
    }
    if (pauseMs === Infinity) {
      waiter.ticket.liesDown();
      waiter.ticket.list.add(waiter);
    } else {
      this.naps.add(waiter); // its time ends within the nap
    }
    waiter.cancelTimer = this.clock.after(leftMs, () => waiter.end(false));
  }

  private afterNap(waiter: Waiter): void {
    const nowMs = this.clock.monoMs();
    const pauseMs = this.pauseMs(waiter.ticket, waiter.stillQuiet, nowMs);
    if (pauseMs === 0) {
      waiter.end(true);
      return;
    }
    this.naps.remove(waiter);
    this.rest(waiter, pauseMs, nowMs);
  }
}
