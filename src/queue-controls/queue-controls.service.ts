import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CoalescedCalls } from '../base/coalesced-calls.js';
import { Loop } from '../base/loop/loop.js';
import { QueueEvents } from '../base/queue-events.js';
import { queueKey } from '../base/queue-key.js';
import { Reconcile } from '../base/reconcile.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { Backlogs } from './backlogs.js';
import { queueControlsV1, type QueueControlRow } from './queue-controls.procedures.js';

/** How soon a pause or a maxSize that was set elsewhere is known here without hints. */
const PERIOD_MS = 1000;
/** With hints it is known at once; what a broker changed that died before it could tell is found by this. */
const CARRIED_PERIOD_MS = 10_000;

export type ResumeListener = (key: string) => void;

/**
 * Which queues are paused or bounded, as last read. They are few, so all of them are read at once, and every other
 * queue costs a push or a pop one look into a small map. While the database is away the last reading stands.
 *
 * What is authoritative is the database: the pop procedures leave a paused queue alone by themselves.
 */
@Injectable()
export class QueueControls implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('QueueControls');
  private controls = new Map<string, QueueControlRow>();
  private readonly listeners: ResumeListener[] = [];
  private readonly reads = new CoalescedCalls<void>();
  private readonly loop = new Loop('queue controls', PERIOD_MS, () => this.look());
  private readAtMs = -Infinity;

  constructor(
    private readonly rawSql: RawSqlService,
    private readonly backlogs: Backlogs,
    events: QueueEvents,
    private readonly news: Reconcile,
  ) {
    news.onDue(() => {
      this.readAtMs = -Infinity;
      this.loop.nudge();
    });
    events.onQueueDropped(({ key }) => this.forget(key));
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.loop.runNow();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  /** No queue is paused or bounded, which is the rule: nothing needs to be looked up. */
  get areNone(): boolean {
    return this.controls.size === 0;
  }

  find(key: string): Readonly<QueueControlRow> | undefined {
    return this.controls.get(key);
  }

  popsArePaused(key: string): boolean {
    return this.controls.get(key)?.popsPaused ?? false;
  }

  /** Called with the key of each queue whose pops go on, wherever they were resumed. */
  onPopsResumed(listener: ResumeListener): void {
    this.listeners.push(listener);
  }

  /** Milliseconds since the last good reading. */
  get ageMs(): number {
    return performance.now() - this.readAtMs;
  }

  /** Reads now; for whoever has just changed something. A reading that began before does not count. */
  refresh(): Promise<void> {
    return this.reads.call('all', () => this.read());
  }

  /** As refresh, for a change that is committed: when the reading fails, the next one will show it. */
  async refreshAfterChange(): Promise<void> {
    this.news.announce();
    await this.refresh().catch((error: Error) =>
      this.logger.warn(`a change of a queue could not be read back: ${error.message}`),
    );
  }

  /** The queue is gone; one that is made anew under its name is neither paused nor bounded. */
  private forget(key: string): void {
    this.backlogs.forget(key);
    // A reading under way may still have seen it: another one follows.
    if (this.controls.delete(key)) void this.refreshAfterChange();
  }

  private async look(): Promise<void> {
    if (this.news.isCarried && this.ageMs < CARRIED_PERIOD_MS) return;
    await this.refresh();
  }

  private async read(): Promise<void> {
    const startedMs = performance.now();
    const rows = await this.rawSql.call(queueControlsV1, undefined);
    this.readAtMs = startedMs;
    const before = this.controls;
    this.controls = new Map(rows.map((row) => [queueKey(row.tenant, row.queue), row]));
    for (const [key, { popsPaused }] of before) {
      if (!popsPaused || this.popsArePaused(key)) continue;
      for (const listener of this.listeners) listener(key);
    }
  }
}
