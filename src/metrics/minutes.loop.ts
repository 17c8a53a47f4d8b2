import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { Loop } from '../base/loop/loop.js';
import { LimiterService } from '../limiter/limiter.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { Activity, type ActivityCounts } from './activity.js';
import { statsNoteBrokerV1 } from './metrics.procedures.js';

/**
 * Writes down what this broker did, minute by minute, so that GET /api/v1/status can speak of all of them. A broker that
 * did nothing writes nothing. What a failed write held comes with the next one.
 */
@Injectable()
export class MinutesLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  /** Told apart from another process of the same host, and from this one before a restart. */
  private readonly broker = `${hostname()}-${randomBytes(3).toString('hex')}`;
  private readonly loop: Loop;
  private written: ActivityCounts;

  constructor(
    private readonly activity: Activity,
    private readonly rawSql: RawSqlService,
    private readonly limiter: LimiterService,
    @Inject(environmentConfig.KEY) environment: Environment,
  ) {
    this.written = activity.counts();
    this.loop = new Loop('broker minutes', environment.METRICS_FLUSH_MS, () => this.flush());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  private async flush(): Promise<void> {
    const now = this.activity.counts();
    const counts = difference(now, this.written);
    if (Object.values(counts).every((count) => count === 0)) return;
    await this.limiter.withPermit('maintenance', null, () =>
      this.rawSql.callOne(statsNoteBrokerV1, { broker: this.broker, counts }),
    );
    this.written = now;
  }
}

function difference(now: ActivityCounts, before: ActivityCounts): ActivityCounts {
  const names = Object.keys(now) as (keyof ActivityCounts)[];
  return Object.fromEntries(
    names.map((name) => [name, now[name] - before[name]]),
  ) as unknown as ActivityCounts;
}
