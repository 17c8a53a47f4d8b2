import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { CoalescedCalls } from '../base/coalesced-calls.js';
import { splitQueueKey } from '../base/queue-key.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { queueBacklogV1 } from './queue-controls.procedures.js';

/** How old a count may be; what was pushed here since is added, what was consumed since is not yet known. */
const FRESH_MS = 1000;
/** A queue that nobody pushes to any more is forgotten after this. */
const IDLE_MS = 60_000;

/** Room that a push has been given; closed when its messages are stored or have failed. */
export interface Reservation {
  [Symbol.dispose](): void;
}

interface Backlog {
  /** As counted, with what was on its way then. */
  messages: number;
  countedAtMs: number;
  /** Given out since the count. */
  reservedSince: number;
  /** Given out and not closed. */
  underWay: number;
  usedAtMs: number;
}

/**
 * How full bounded queues are: counted at most once a second and queue, and in between known from what was pushed
 * here. Messages that were under way during a count are added to it, since nobody knows which of them it saw: so one
 * broker never lets a queue grow over its bound, and several may do so by what they push within a second.
 */
@Injectable()
export class Backlogs {
  private readonly backlogs = new Map<string, Backlog>();
  private readonly counts = new CoalescedCalls<void>();

  constructor(
    private readonly rawSql: RawSqlService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Counts, unless that was done within the last second. */
  async refresh(key: string): Promise<void> {
    const backlog = this.backlogs.get(key);
    const nowMs = this.clock.monoMs();
    if (backlog) backlog.usedAtMs = nowMs;
    if (backlog && nowMs - backlog.countedAtMs < FRESH_MS) return;
    await this.counts.call(key, () => this.count(key));
  }

  /** Messages believed to be in the queue or on their way to it. */
  level(key: string): number {
    const backlog = this.backlogs.get(key);
    return backlog ? backlog.messages + backlog.reservedSince : 0;
  }

  /** In the same turn as the look at the level, or others come in between. */
  reserve(key: string, messages: number): Reservation {
    const backlog = this.entry(key);
    backlog.reservedSince += messages;
    backlog.underWay += messages;
    return { [Symbol.dispose]: () => void (backlog.underWay -= messages) };
  }

  forget(key: string): void {
    this.backlogs.delete(key);
  }

  private async count(key: string): Promise<void> {
    this.forgetIdle();
    const backlog = this.entry(key);
    const { reservedSince, underWay } = backlog;
    const startedMs = this.clock.monoMs();
    const counted = (await this.rawSql.callOne(queueBacklogV1, splitQueueKey(key))) ?? 0;
    backlog.messages = counted + underWay;
    backlog.reservedSince -= reservedSince;
    backlog.countedAtMs = startedMs;
  }

  private entry(key: string): Backlog {
    let backlog = this.backlogs.get(key);
    if (!backlog) {
      const usedAtMs = this.clock.monoMs();
      backlog = { messages: 0, countedAtMs: -Infinity, reservedSince: 0, underWay: 0, usedAtMs };
      this.backlogs.set(key, backlog);
    }
    return backlog;
  }

  private forgetIdle(): void {
    const untilMs = this.clock.monoMs() - IDLE_MS;
    for (const [key, { usedAtMs, underWay }] of this.backlogs) {
      if (usedAtMs < untilMs && underWay === 0) this.backlogs.delete(key);
    }
  }
}
