import { Logger } from '@nestjs/common';
import type { Clock } from '../base/clock/clock.js';
import { splitQueueKey } from '../base/queue-key.js';
import type { HotlistCounters } from './hotlist-stats.js';
import type { OpenCheckouts } from './open-checkouts.js';
import type { PendingWakes } from './pending-wakes.js';
import type { QueueBook } from './queue-book.js';
import type { QueueState } from './queue-state.js';
import { ReseedWalk, type ReseedRow } from './reseed-walk.js';
import type { Ring } from './ring.js';
import { applyReseedRow } from './ring-marks.js';

/** Begins walks, feeds their rows to the rings, and says which rings are due. The rows come from the caller. */
export class RingReseeds {
  private readonly logger = new Logger('Hotlist');

  constructor(
    private readonly book: QueueBook,
    private readonly checkouts: OpenCheckouts,
    private readonly wakes: PendingWakes,
    private readonly counters: HotlistCounters,
    private readonly clock: Clock,
  ) {}

  begin(key: string, group: string): ReseedWalk | null {
    const queue = this.book.queue(key);
    const ring = queue?.rings.get(group);
    const nowMs = this.clock.monoMs();
    if (!queue || !ring?.reseed.isDue(nowMs)) return null;
    const { mode, windowMs } = ring.reseed.begin(nowMs);
    let readied = 0;
    return new ReseedWalk(key, group, mode, windowMs, {
      apply: (rows, from, to) => {
        if (!this.book.isCurrent(ring)) return false;
        readied += this.applyRows(queue, ring, rows, from, to);
        return true;
      },
      pageDone: () => {
        // Page by page, not at the end: parked pops serve the first ones while a long walk goes on.
        if (readied > 0) this.wakes.openSoon(key);
        readied = 0;
      },
      finish: (ok) => this.finish(ring, mode, ok),
    });
  }

  /** Rings the background loop should walk, the latest first. Walked one at a time. */
  due(): { key: string; group: string }[] {
    const nowMs = this.clock.monoMs();
    const due: Ring[] = [];
    for (const ring of this.book.rings()) if (ring.reseed.isFloorDue(nowMs)) due.push(ring);
    const overdue = new Map(due.map((ring) => [ring, ring.reseed.overdueMs(nowMs)]));
    // Compared, not subtracted: demanded walks are all infinitely late.
    due.sort((a, b) =>
      overdue.get(a)! === overdue.get(b)! ? 0 : overdue.get(a)! > overdue.get(b)! ? -1 : 1,
    );
    return due.map(({ key, group }) => ({ key, group }));
  }

  private applyRows(
    queue: QueueState,
    ring: Ring,
    rows: readonly ReseedRow[],
    from: number,
    to: number,
  ): number {
    const nowMs = this.clock.monoMs();
    const isAlive = (owner: number) => this.checkouts.isAlive(owner);
    let readied = 0;
    for (let at = from; at < to; at++) {
      const { id, name, writtenAgoMs } = rows[at]!;
      const index = queue.partitions.intern(name);
      queue.partitions.learn(index, id);
      if (applyReseedRow(ring, index, nowMs, queue.holds, isAlive, writtenAgoMs)) readied++;
    }
    this.counters.readySources.reseed += readied;
    this.book.agenda.update(ring);
    return readied;
  }

  private finish(ring: Ring, mode: ReseedWalk['mode'], ok: boolean): void {
    this.counters.reseeds[mode][ok ? 'ok' : 'failed']++;
    const failures = ring.reseed.finish(ok, this.clock.monoMs());
    if (failures !== undefined) {
      const { queue } = splitQueueKey(ring.key);
      this.logger.warn(`queue "${queue}", group "${ring.group}": ${failures} reseeds failed in a row`);
    }
  }
}
