import { Inject, Injectable } from '@nestjs/common';
import { environmentConfig, type Environment } from '../../base/config/environment.js';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import type { ClaimedPartition } from '../claim.js';
import { logDiscoverHasPendingV1, logPopDiscoverWireV1, partitionsOf } from '../pop.procedures.js';
import type { PopRequest } from '../pop.request.js';
import type { CandidateSource } from './candidate-source.js';
import { PendingProbes } from './pending-probes.js';

/** Every queue whose namespace and task match. */
@Injectable()
export class DiscoverySource implements CandidateSource {
  readonly path = 'discovery';

  constructor(
    private readonly probes: PendingProbes,
    @Inject(environmentConfig.KEY) private readonly environment: Environment,
  ) {}

  mayHaveWork(request: PopRequest): boolean | Promise<boolean> {
    if (!request.wait || !this.environment.QUEEN_POP_PENDING_GATE) return true;
    const about = [request.tenant, request.namespace, request.task, request.group].join('\u001f');
    return this.probes.ask(logDiscoverHasPendingV1, about, request);
  }

  async claim(connection: SqlConnection, request: PopRequest): Promise<ClaimedPartition[]> {
    return partitionsOf(await connection.call(logPopDiscoverWireV1, request));
  }

  stillQuiet(): undefined {
    return undefined;
  }

  estimate(): number {
    return Infinity;
  }
}
