import { Injectable } from '@nestjs/common';
import { HotlistService } from '../../hotlist/hotlist.service.js';
import { QueueConfigService } from '../../queue-config/queue-config.service.js';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import type { ClaimedPartition } from '../claim.js';
import { FillWindow } from '../fill-window.js';
import { callClaims } from '../flush/call-claims.js';
import { ClaimFlusher } from '../flush/claim-flusher.js';
import type { SharedClaim } from '../flush/claim-job.js';
import type { PopRequest } from '../pop.request.js';
import type { CandidateSource } from './candidate-source.js';
import { ReseedWalker } from './reseed-walker.js';
import { RingCandidates } from './ring-candidates.js';

/** Larger answers are statements of their own: their bytes would be waited for by the small ones. */
const SHARED_BATCH_MAX = 100;

/** Candidates from the in-memory ring; PostgreSQL is asked about those only, and its verdicts go back into the ring. */
@Injectable()
export class RingSource implements CandidateSource {
  readonly path = 'hotlist';

  constructor(
    private readonly hotlist: HotlistService,
    private readonly queueConfig: QueueConfigService,
    private readonly reseedWalker: ReseedWalker,
    private readonly fillWindow: FillWindow,
    private readonly candidates: RingCandidates,
    private readonly flusher: ClaimFlusher,
  ) {}

  mayHaveWork({ key, group }: PopRequest): boolean {
    return (
      this.hotlist.hasReady(key, group) ||
      this.hotlist.needsReseed(key, group) ||
      this.hotlist.needsConfig(key)
    );
  }

  /** Only in the steady state: what reads settings or walks partitions keeps its connection for itself. */
  claimShared(claim: SharedClaim): Promise<ClaimedPartition[]> | null {
    const { key, group, batch } = claim.request;
    if (!this.flusher.isOpen || batch > SHARED_BATCH_MAX) return null;
    if (this.hotlist.needsConfig(key) || this.hotlist.needsReseed(key, group)) return null;
    return this.flusher.claim(claim);
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
    for (let left = this.candidates.most(request); left > 0;) {
      using names = this.candidates.checkOut(request, left);
      if (names.list.length === 0) break;
      // If it throws, disposing the names puts them back (the drop guard).
      const job = { request, names: names.list, skipWindow: this.candidates.skipsWindow(request) };
      const [{ claimed, verdicts }] = await callClaims(connection, [job]);
      this.candidates.checkIn(names, request, verdicts);
      if (claimed.length > 0) return claimed;
      left -= names.list.length;
    }
    return [];
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
