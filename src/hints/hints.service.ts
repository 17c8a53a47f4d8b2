import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { QueueEvents } from '../base/queue-events.js';
import { splitQueueKey } from '../base/queue-key.js';
import { Reconcile } from '../base/reconcile.js';
import { HotlistService } from '../hotlist/hotlist.service.js';
import { QueueConfigService } from '../queue-config/queue-config.service.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { HINT_BUS, type HintBus, type HintBusStats, type HintListener } from './hint-bus.js';
import type { Hint } from './hint.js';
import { HintOutlet } from './hint-outlet.js';

/** Dirty marks of this long go into one flush: at most 50 notifying commits a second a broker. */
const FLUSH_MS = 20;
const MARKS_PER_FLUSH = 50_000;

/** Sends what the hot-list marks and what administration changes, and does for what it hears what a local call would do. */
@Injectable()
export class HintsService implements HintListener, OnApplicationBootstrap, OnApplicationShutdown {
  private isFlushDue = false;
  /** Something came while a flush was on its way. */
  private isMoreDue = false;
  /** Set while a hint is being acted on: what it causes here is not told again. */
  private isActing = false;
  private waiting: Hint[] = [];

  constructor(
    @Inject(HINT_BUS) private readonly bus: HintBus,
    private readonly hotlist: HotlistService,
    private readonly queueConfig: QueueConfigService,
    private readonly gates: WakeGateService,
    private readonly events: QueueEvents,
    private readonly reconcile: Reconcile,
    outlet: HintOutlet,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    outlet.connect(() => this.flushSoon());
    events.onQueueConfigured(({ key }) => this.tell({ kind: 'configured', key }));
    events.onQueueDropped(({ key }) => this.tell({ kind: 'dropped', key }));
    reconcile.onAnnounced(() => this.tell({ kind: 'reconcile' }));
    reconcile.carriedBy(() => this.bus.stats().isConnected);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.bus.start(this);
  }

  /** The last pushes are told as well: their consumers are parked elsewhere by now. */
  async onApplicationShutdown(): Promise<void> {
    await this.flush();
    await this.bus.stop();
  }

  stats(): HintBusStats {
    return this.bus.stats();
  }

  heard(hint: Hint): void {
    this.isActing = true;
    try {
      this.act(hint);
    } finally {
      this.isActing = false;
    }
  }

  reconnected(): void {
    // What was said meanwhile was not heard: every ring looks for itself, and flags are read again.
    this.hotlist.expectReseed();
    this.reconcile.arrived();
  }

  private act(hint: Hint): void {
    switch (hint.kind) {
      case 'dirty':
        this.hotlist.offer(hint.key, hint.partition, 1, { group: hint.group, immediate: true });
        return;
      case 'dirty-queue':
        this.hotlist.expectReseed(hint.key);
        this.gates.open(hint.key);
        return;
      case 'configured':
      case 'dropped': {
        const { tenant, queue } = splitQueueKey(hint.key);
        this.queueConfig.forget(tenant, queue);
        this.hotlist.dropQueue(hint.key); // starts cold, with the settings that now hold
        if (hint.kind === 'dropped') this.events.queueDropped({ tenant, queue, key: hint.key });
        this.gates.open(hint.key);
        return;
      }
      case 'reconcile':
        this.reconcile.arrived();
    }
  }

  private tell(hint: Hint): void {
    if (this.isActing) return;
    this.waiting.push(hint);
    this.flushSoon();
  }

  private flushSoon(): void {
    if (this.isFlushDue) {
      this.isMoreDue = true;
      return;
    }
    this.isFlushDue = true;
    this.clock.after(FLUSH_MS, () => void this.flush());
  }

  /** While one flush is on its way, marks gather in the hot-list's set, where each partition counts once. */
  private async flush(): Promise<void> {
    this.isMoreDue = false;
    const marks = this.hotlist.drainDirty(MARKS_PER_FLUSH);
    const hints: Hint[] = [...this.waiting, ...marks.map((mark): Hint => ({ kind: 'dirty', ...mark }))];
    this.waiting = [];
    if (hints.length > 0 && this.bus.stats().hasPeers) await this.bus.publish(hints);
    this.isFlushDue = false;
    if (this.isMoreDue || marks.length === MARKS_PER_FLUSH) this.flushSoon();
  }
}
