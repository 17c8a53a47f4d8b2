import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { Loop } from '../base/loop/loop.js';
import { PopMaintenance, PushMaintenance } from '../base/maintenance/maintenance-switch.js';
import { Reconcile } from '../base/reconcile.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { maintenanceFlagsV1, setMaintenanceFlagV1, type MaintenanceFlags } from './maintenance.procedures.js';

const FIRST_DELAY_MS = 5000;

/**
 * Keeps the switches of maintenance in memory as they stand in the database, where all brokers find them: at start,
 * when they are asked for, when another broker announces news, and now and then in any case.
 */
@Injectable()
export class MaintenanceService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Maintenance');
  private readonly loop: Loop;
  /** Counts what was set here: a reading that began before may still show the old switches. */
  private changes = 0;

  constructor(
    private readonly rawSql: RawSqlService,
    private readonly pushMaintenance: PushMaintenance,
    private readonly popMaintenance: PopMaintenance,
    private readonly gates: WakeGateService,
    private readonly news: Reconcile,
    @Inject(environmentConfig.KEY) environment: Environment,
  ) {
    const periodMs = environment.QUEEN_CACHE_REFRESH_INTERVAL_MS;
    this.loop = new Loop('maintenance', periodMs, () => this.read(), Math.min(FIRST_DELAY_MS, periodMs));
    news.onDue(() => this.loop.nudge());
  }

  /** Before the port opens: a broker that starts during maintenance must not serve a single request without it. */
  async onApplicationBootstrap(): Promise<void> {
    await this.current();
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  /** As they are in the database, or as last known when that cannot be asked. Never rejects. */
  async current(): Promise<MaintenanceFlags> {
    await this.read().catch((error: unknown) => {
      this.logger.warn(`the switches could not be read: ${(error as Error).message}`);
    });
    return { push: this.pushMaintenance.isOn, pop: this.popMaintenance.isOn };
  }

  /** The answer of a client that set it finds it set here; other brokers follow by hint, or within the period. */
  async setPush(enabled: boolean): Promise<void> {
    await this.rawSql.callOne(setMaintenanceFlagV1, { key: 'maintenance_mode', enabled });
    this.changes += 1;
    this.applyPush(enabled);
    this.news.announce();
  }

  async setPop(enabled: boolean): Promise<void> {
    await this.rawSql.callOne(setMaintenanceFlagV1, { key: 'pop_maintenance_mode', enabled });
    this.changes += 1;
    this.applyPop(enabled);
    this.news.announce();
  }

  private async read(): Promise<void> {
    const before = this.changes;
    const [flags] = await this.rawSql.call(maintenanceFlagsV1, undefined);
    if (!flags) return;
    if (this.changes !== before) return this.read();
    this.applyPush(flags.push);
    this.applyPop(flags.pop);
  }

  private applyPush(on: boolean): void {
    const isNews = this.pushMaintenance.isOn !== on;
    this.pushMaintenance.set(on);
    if (!isNews) return;
    this.logger.log(`push maintenance is ${on ? 'on: pushes go to the spool' : 'off'}`);
  }

  /** Parked pops look again at once: they leave with 204, or stay parked as before. */
  private applyPop(on: boolean): void {
    const isNews = this.popMaintenance.isOn !== on;
    this.popMaintenance.set(on);
    if (!isNews) return;
    this.gates.wakeAll();
    this.logger.log(`pop maintenance is ${on ? 'on: pops answer 204' : 'off'}`);
  }
}
