import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { LimiterService } from '../limiter/limiter.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { leaderLeaseReleaseV1, leaderLeaseTakeV1 } from './retention.procedures.js';
import { RETENTION_OPTIONS, type RetentionOptions } from './retention.options.js';

const NAME = 'retention';
/** A step may take as long as a statement; leadership must not end in the middle of an ordinary one. */
const LEASE_SECONDS_MIN = 30;
/** Within this time of the last renewal nobody can have taken over. */
const RENEW_EVERY_MS = 1000;

/**
 * One broker sweeps at a time, so that the cost does not grow with their number. The lease is a row that ends by the
 * database's clock: a broker that dies or hangs, or one behind a pooler, cannot keep it (hazard Z20, field case A22).
 *
 * Only economy rests on it. Steps lock what they change, so two leaders at once would do nothing wrong.
 */
@Injectable()
export class Leadership {
  private readonly holder = randomUUID();
  private readonly seconds: number;
  private heldSinceMs = -Infinity;

  constructor(
    private readonly rawSql: RawSqlService,
    private readonly limiter: LimiterService,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RETENTION_OPTIONS) { intervalMs }: RetentionOptions,
  ) {
    // Long enough to last from one sweep to the next, or several brokers would take turns at double the pace.
    this.seconds = Math.max(LEASE_SECONDS_MIN, Math.ceil((intervalMs * 3) / 1000));
  }

  /** Whether the next step is ours to make. Cheap to ask before each. */
  async hold(): Promise<boolean> {
    const nowMs = this.clock.monoMs();
    if (nowMs - this.heldSinceMs < RENEW_EVERY_MS) return true;
    const { holder, seconds } = this;
    const isHeld = await this.limiter.withPermit('maintenance', null, () =>
      this.rawSql.callOne(leaderLeaseTakeV1, { name: NAME, holder, seconds }),
    );
    this.heldSinceMs = isHeld ? nowMs : -Infinity;
    return isHeld;
  }

  /** So that the next broker need not wait for the time to pass. */
  async release(): Promise<void> {
    if (this.heldSinceMs === -Infinity) return;
    this.heldSinceMs = -Infinity;
    await this.rawSql.callOne(leaderLeaseReleaseV1, { name: NAME, holder: this.holder });
  }
}
