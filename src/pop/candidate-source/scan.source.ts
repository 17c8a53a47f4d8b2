import { Injectable } from '@nestjs/common';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import { WakeGateService } from '../../wake-gate/wake-gate.service.js';
import type { ClaimedPartition } from '../claim.js';
import { logHasPendingV1, logPopSpecificV1, logPopWildcardBinV1, partitionsOf } from '../pop.procedures.js';
import type { PopRequest } from '../pop.request.js';
import type { CandidateSource, Round } from './candidate-source.js';
import { PendingProbes } from './pending-probes.js';
import { SeedMarkers } from './seed-markers.js';
import { SeedSlices } from './seed-slices.js';

/**
 * The SQL candidate scan: with the hot-list off, and for a group's first contact, because the wildcard procedure is the
 * one that registers the group, seeds its cursors and creates the queue row when it is missing.
 */
@Injectable()
export class ScanSource implements CandidateSource {
  readonly path = 'scan';

  constructor(
    private readonly probes: PendingProbes,
    private readonly seedMarkers: SeedMarkers,
    private readonly seedSlices: SeedSlices,
    private readonly wakeGate: WakeGateService,
  ) {}

  /** First contact claims even when nothing is pending: a late seed in mode `new` would skip the very push that woke us. */
  async mayHaveWork(request: PopRequest): Promise<boolean> {
    if (!(await this.seedMarkers.isSeeded(request))) return this.seedSlices.ready(request);
    return this.probes.ask(logHasPendingV1, `${request.key}\u001f${request.group}`, request);
  }

  async claim(connection: SqlConnection, request: PopRequest, round: Round): Promise<ClaimedPartition[]> {
    if (round.woken && this.seedMarkers.isKnown(request)) {
      const targeted = await this.claimHinted(connection, request);
      if (targeted.length > 0) return targeted;
    }
    return partitionsOf(await connection.call(logPopWildcardBinV1, request));
  }

  stillQuiet(): undefined {
    return undefined;
  }

  estimate(): number {
    return Infinity;
  }

  /** After a wake the pushed partitions are known by name: asking each is cheaper than another scan (seed, step 7). */
  private async claimHinted(connection: SqlConnection, request: PopRequest): Promise<ClaimedPartition[]> {
    const claimed: ClaimedPartition[] = [];
    let batch = request.batch;
    for (const partition of this.wakeGate.drainHints(request.key, request.partitions)) {
      try {
        const rows = await connection.call(logPopSpecificV1, { ...request, partition, batch });
        for (const row of rows) if (row.kind === 'segment') batch -= row.segment.take;
        claimed.push(...partitionsOf(rows));
      } catch (error) {
        // What was claimed before the failure is leased to this request: deliver it.
        if (claimed.length > 0) return claimed;
        throw error;
      }
      if (batch <= 0) break;
    }
    return claimed;
  }
}
