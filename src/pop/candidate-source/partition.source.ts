import { Inject, Injectable } from '@nestjs/common';
import { environmentConfig, type Environment } from '../../base/config/environment.js';
import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import type { ClaimedPartition } from '../claim.js';
import { logPopSpecificV1, partitionsOf } from '../pop.procedures.js';
import type { PopRequest } from '../pop.request.js';
import type { CandidateSource } from './candidate-source.js';
import { PartitionProbes } from './partition-probes.js';

/** One named partition. The probe says "yes" on first contact, so that a new cursor is seeded without delay. */
@Injectable()
export class PartitionSource implements CandidateSource {
  readonly path = 'partition';

  constructor(
    private readonly probes: PartitionProbes,
    @Inject(environmentConfig.KEY) private readonly environment: Environment,
  ) {}

  mayHaveWork(request: PopRequest): boolean | Promise<boolean> {
    if (!request.wait || !this.environment.QUEEN_POP_PENDING_GATE) return true;
    return this.probes.ask(request);
  }

  async claim(connection: SqlConnection, request: PopRequest): Promise<ClaimedPartition[]> {
    return partitionsOf(await connection.call(logPopSpecificV1, request));
  }

  stillQuiet(): undefined {
    return undefined;
  }

  estimate(): number {
    return Infinity;
  }
}
