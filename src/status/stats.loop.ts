import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { Loop } from '../base/loop/loop.js';
import { QueueCounts } from './queue-counts.js';

/** A run looks at this many partitions at most (0.3 s of PostgreSQL with two groups), and a weighing at as many segments. */
const RUN_BUDGET = 20_000;
/** Weighing is rarer: there are many more segments than partitions, and nobody decides anything by their number. */
const RUNS_A_WEIGHING = 6;
/** A broker whose timer is a little early must not miss its turn for a whole period. */
const EARLY = 0.9;

/** Every broker asks for the turn; the one that is first in a period does the work of it. */
@Injectable()
export class StatsLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: Loop;

  constructor(counts: QueueCounts, @Inject(environmentConfig.KEY) environment: Environment) {
    const periodMs = environment.STATS_INTERVAL_MS;
    const dueMs = Math.floor(periodMs * EARLY);
    this.loop = new Loop('queue stats', periodMs, async () => {
      const mayGoOn = () => !this.loop.isStopping;
      await counts.count(dueMs, RUN_BUDGET, mayGoOn);
      if (mayGoOn()) await counts.weigh(dueMs * RUNS_A_WEIGHING, RUN_BUDGET, mayGoOn);
    });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
