import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { Deadline } from '../base/clock/deadline.js';
import { QueueEvents } from '../base/queue-events.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import type { WakeKey } from '../wake-gate/wake-key.js';

export interface FillSource {
  /** Messages believed to be ready, counted up to `limit`; Infinity when their number is unknown. */
  estimate(limit: number): number;
}

export interface FillRequest {
  readonly wait: boolean;
  readonly batch: number;
  readonly wakeKey: WakeKey;
}

export interface FillWindowStats {
  holds: number;
  heldMs: number;
}

/**
 * The minimum pop wait: a pop that would get some messages, but not a full batch, waits a little for more, so that
 * one commit carries more. Not the long-poll, which waits on an empty queue.
 *
 * It waits at the gate, before the permit and the connection are taken. Inside the procedure the same wait would
 * hold a connection, a permit, a backend and the locks of what is claimed already.
 */
@Injectable()
export class FillWindow {
  private configured = false;
  private holds = 0;
  private heldMs = 0;

  constructor(
    private readonly wakeGate: WakeGateService,
    @Inject(CLOCK) private readonly clock: Clock,
    events: QueueEvents,
  ) {
    // The first queue to get one must not wait until a pop happens to read its settings.
    events.onQueueConfigured(({ minPopWaitMs }) => this.learn(minPopWaitMs));
  }

  /**
   * Some queue has, or once had, a minimum pop wait. To be read before anything is looked up for a hold: while it is
   * false, which is the rule, the feature costs a pop this one boolean.
   */
  get anyConfigured(): boolean {
    return this.configured;
  }

  /** A queue's setting was read. The latch never falls back; a hold finds out by itself that there is none. */
  learn(minPopWaitMs: number): void {
    if (minPopWaitMs > 0) this.configured = true;
  }

  /**
   * Returns when the batch can be filled, when nothing is left to add to, when the window or the deadline has
   * passed, when the client left, or when the broker closes. A wrong estimate is harmless: too low waits one
   * window, too high serves early.
   */
  async hold(
    source: FillSource,
    request: FillRequest,
    minPopWaitMs: number,
    deadline: Deadline,
    gone: AbortSignal,
  ): Promise<void> {
    if (!request.wait || request.batch <= 1) return;
    const windowMs = Math.min(minPopWaitMs, deadline.remainingMs);
    if (windowMs <= 0 || gone.aborted) return;
    const underFull = () => {
      const ready = source.estimate(request.batch);
      return ready > 0 && ready < request.batch;
    };
    if (underFull()) await this.fill(request.wakeKey, windowMs, gone, underFull);
  }

  stats(): FillWindowStats {
    return { holds: this.holds, heldMs: this.heldMs };
  }

  private async fill(
    wakeKey: WakeKey,
    windowMs: number,
    gone: AbortSignal,
    underFull: () => boolean,
  ): Promise<void> {
    this.holds += 1;
    const sinceMs = this.clock.monoMs();
    const window = Deadline.in(this.clock, windowMs);
    using ticket = this.wakeGate.ticket(wakeKey);
    do ticket.refresh();
    while (underFull() && (await this.wakeGate.park(ticket, window.remainingMs, gone, underFull)));
    this.heldMs += this.clock.monoMs() - sinceMs;
  }
}
