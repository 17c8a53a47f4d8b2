import { Inject, Injectable } from '@nestjs/common';
import { candidateCount, HOTLIST_OPTIONS, type HotlistOptions } from '../../hotlist/hotlist.options.js';
import { HotlistService } from '../../hotlist/hotlist.service.js';
import type { Verdict } from '../../hotlist/verdict.js';
import { QueueConfigService } from '../../queue-config/queue-config.service.js';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import { batchEndOf, type ClaimedPartition } from '../claim.js';
import { FillWindow } from '../fill-window.js';
import { logPopListV1, partitionsOf, type PopRow } from '../pop.procedures.js';
import type { PopRequest } from '../pop.request.js';
import type { CandidateSource } from './candidate-source.js';
import { ReseedWalker } from './reseed-walker.js';

/** Lease length assumed while the queue's settings are unknown; only schedules a second look. */
const LEASE_SECONDS_FALLBACK = 60;

/** Candidates from the in-memory ring; PostgreSQL is asked about those only, and its verdicts go back into the ring. */
@Injectable()
export class RingSource implements CandidateSource {
  readonly path = 'hotlist';

  constructor(
    private readonly hotlist: HotlistService,
    private readonly queueConfig: QueueConfigService,
    private readonly reseedWalker: ReseedWalker,
    private readonly fillWindow: FillWindow,
    @Inject(HOTLIST_OPTIONS) private readonly options: HotlistOptions,
  ) {}

  mayHaveWork({ key, group }: PopRequest): boolean {
    return (
      this.hotlist.hasReady(key, group) ||
      this.hotlist.needsReseed(key, group) ||
      this.hotlist.needsConfig(key)
    );
  }

  async claim(connection: SqlConnection, request: PopRequest): Promise<ClaimedPartition[]> {
    const { key, group } = request;
    if (this.hotlist.needsConfig(key)) await this.refreshConfig(connection, request);
    const claimed = await this.askReady(connection, request);
    if (claimed.length > 0 || !this.hotlist.needsReseed(key, group)) return claimed;
    // One page inline, the rest in the background: a permit must not be held for a walk over a million partitions.
    await this.reseedWalker.firstPage(connection, request);
    return this.askReady(connection, request);
  }

  stillQuiet(request: PopRequest): boolean {
    return !this.mayHaveWork(request);
  }

  estimate({ key, group }: PopRequest, limit: number): number {
    return this.hotlist.estimate(key, group, limit);
  }

  /**
   * A small batch takes few names, and all of them may turn out leased or empty while others have data: the next ones
   * are asked then, up to as many as one pop may take.
   */
  private async askReady(connection: SqlConnection, request: PopRequest): Promise<ClaimedPartition[]> {
    for (let left = candidateCount(request.partitions, this.options); left > 0;) {
      using names = this.hotlist.checkOut(request.key, request.group, { k: left, want: request.batch });
      if (names.list.length === 0) break;
      const claimed = await this.ask(connection, request, names);
      if (claimed.length > 0) return claimed;
      left -= names.list.length;
    }
    return [];
  }

  /** One statement for all candidates. If it throws, disposing the names puts them back (the drop guard). */
  private async ask(
    connection: SqlConnection,
    request: PopRequest,
    names: CheckedOut,
  ): Promise<ClaimedPartition[]> {
    const rows = await connection.call(logPopListV1, {
      ...request,
      names: names.list,
      // With the hold known here the revisit wheel is its only authority; otherwise SQL's debounce is the safe floor.
      skipWindow: (this.hotlist.config(request.key)?.windowMs ?? 0) > 0,
    });
    const claimed = partitionsOf(rows);
    names.checkIn(verdictsOf(rows, claimed), {
      autoAck: request.autoAck,
      leaseMs:
        (request.leaseSeconds ??
          this.queueConfig.peek(request.tenant, request.queue)?.leaseSeconds ??
          LEASE_SECONDS_FALLBACK) * 1000,
    });
    return claimed;
  }

  private async refreshConfig(connection: SqlConnection, { tenant, queue, key }: PopRequest): Promise<void> {
    this.hotlist.expectConfig(key); // one pop reads, the others go on
    const config = await this.queueConfig.get(tenant, queue, connection);
    this.fillWindow.learn(config?.minPopWaitMs ?? 0);
    this.hotlist.setConfig(key, {
      delayedMs: config?.delayedMs ?? 0,
      windowMs: config?.windowMs ?? 0,
      minPopWaitMs: config?.minPopWaitMs ?? 0,
    });
  }
}

type CheckedOut = ReturnType<HotlistService['checkOut']>;

/** A partition is drained when this claim's last offset is the allocator's mark just after the claim (Z10). */
function verdictsOf(rows: readonly PopRow[], claimed: readonly ClaimedPartition[]): Verdict[] {
  const ends = new Map(claimed.map((partition) => [partition.partition, batchEndOf(partition)]));
  const verdicts: Verdict[] = [];
  for (const row of rows) {
    if (row.kind !== 'verdict') continue;
    const end = ends.get(row.partition);
    verdicts.push({
      partition: row.partition,
      partitionId: row.partitionId ?? undefined,
      state: row.state,
      drained: end !== undefined && row.lastOffset !== null && end >= row.lastOffset,
      waitMs: row.waitMs ?? undefined,
    });
  }
  return verdicts;
}
