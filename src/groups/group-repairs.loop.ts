import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { Loop } from '../base/loop/loop.js';
import { Reconcile } from '../base/reconcile.js';
import { queueKey } from '../base/queue-key.js';
import { LimiterService } from '../limiter/limiter.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { GroupMemory } from './group-memory.js';
import { logRepairsV1, type Repair } from './groups.procedures.js';

const FIRST_DELAY_MS = 5000;

/**
 * Reads the notices of moved cursors, whichever broker moved them, and acts once on each: the floor under hints that
 * were lost or never sent (serve-path 2.9). Our own are among them; acting on those a second time costs one walk.
 *
 * Notices are compared for change and not for order, since they appear in the order of their commits.
 */
@Injectable()
export class GroupRepairsLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: Loop;
  private seen = new Map<string, number>();

  constructor(
    private readonly rawSql: RawSqlService,
    private readonly limiter: LimiterService,
    private readonly memory: GroupMemory,
    news: Reconcile,
    @Inject(environmentConfig.KEY) environment: Environment,
  ) {
    const periodMs = environment.QUEEN_CACHE_REFRESH_INTERVAL_MS;
    this.loop = new Loop('group repairs', periodMs, () => this.pass(), Math.min(FIRST_DELAY_MS, periodMs));
    news.onDue(() => this.loop.nudge());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  /** One reading; what is older than the notices live is forgotten with them. */
  async pass(): Promise<void> {
    const repairs = await this.limiter.withPermit('maintenance', null, () =>
      this.rawSql.call(logRepairsV1, undefined),
    );
    const seen = new Map<string, number>();
    for (const repair of repairs) {
      const id = `${queueKey(repair.tenant, repair.queue)}\u001e${repair.group}`;
      seen.set(id, repair.repairedAt);
      if (this.seen.get(id) !== repair.repairedAt) this.act(repair);
    }
    this.seen = seen;
  }

  private act({ tenant, queue, group, partition }: Repair): void {
    if (partition !== null) this.memory.cursorMoved(tenant, queue, partition, group, false);
    // A notice does not say whether the group was moved or deleted; asking for its subscription again costs one look.
    else this.memory.groupForgotten(tenant, queue, group);
  }
}
