import { Injectable } from '@nestjs/common';
import { AckRegistry } from '../ack-registry/ack-registry.js';
import { LimiterService } from '../limiter/limiter.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { logRenewLeaseV1, type RenewArgs, type Renewal } from './lease.procedures.js';

const NOTHING: Renewal = { renewed: 0, expiresAt: null };
const ATTEMPTS = 3;

/** Renews what a worker holds, all partitions of its pop at once. Never shortens a lease, never revives one. */
@Injectable()
export class LeaseService {
  constructor(
    private readonly registry: AckRegistry,
    private readonly limiter: LimiterService,
    private readonly rawSql: RawSqlService,
  ) {}

  /** @param owner whose partitions alone count; null: anybody's */
  async extend(worker: string, seconds: number, owner: string | null): Promise<Renewal> {
    // No lease has such an id, and PostgreSQL could not even be asked.
    if (worker === '' || worker.includes('\0') || !worker.isWellFormed()) return NOTHING;
    // What this broker handed out it can name; for another broker's lease every cursor is looked at.
    const known = this.registry.partitionsOf(worker);
    const renewal = await this.renew({
      worker,
      seconds,
      owner,
      partitionIds: known.length > 0 ? known : null,
    });
    if (renewal.renewed > 0) this.registry.extend(worker, seconds * 1000);
    return renewal;
  }

  /** On the ack lane, so that a renewal is not kept waiting by pops until the lease is over. */
  private renew(args: RenewArgs): Promise<Renewal> {
    return this.limiter.withPermit('ack', null, async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.rawSql.callOne(logRenewLeaseV1, args);
        } catch (error) {
          if (error instanceof SqlStatementError && error.retryable && attempt < ATTEMPTS) continue;
          throw error;
        }
      }
    });
  }
}
