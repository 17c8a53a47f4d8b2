import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { Loop } from '../base/loop/loop.js';
import { PushMaintenance } from '../base/maintenance/maintenance-switch.js';
import { PushReplay } from '../base/spool/push-spool.js';
import { DISK, type Disk } from './disk.js';
import { DrainBreaker } from './drain-breaker.js';
import { FileReplay } from './file-replay.js';
import { keepApart } from './quarantine.js';
import { SPOOL_OPTIONS, type SpoolOptions } from './spool.options.js';
import { SpoolService } from './spool.service.js';

/** A broker that leaves gives its last attempt so long; with it gone, nobody stores what is on its disk. */
const LAST_ATTEMPT_MS = 5000;
/** What an earlier run left behind does not wait for the period. */
const FIRST_DELAY_MS = 100;
/** A file with messages that cannot be stored is tried this often; then they are set aside and newer files go on. */
const ATTEMPTS_MAX = 5;
/** The dedup window of a queue that nobody configured; what waited longer may be stored twice. */
const DEDUP_WINDOW_MS = 3_600_000;

/**
 * The way out of the spool: file by file, oldest first, as long as pushes may go to the database. Half a file sent
 * again does no harm, since each message is looked for by its transactionId before it is stored.
 */
@Injectable()
export class DrainLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Spool');
  private readonly breaker = new DrainBreaker();
  private readonly loop: Loop;
  private replay: PushReplay | null = null;
  private current: FileReplay | null = null;
  /** Of a broker that leaves: how long it may still store what is in the spool. */
  private leavesAtMs: number | null = null;

  constructor(
    private readonly spool: SpoolService,
    private readonly maintenance: PushMaintenance,
    private readonly modules: ModuleRef,
    @Inject(DISK) private readonly disk: Disk,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SPOOL_OPTIONS) private readonly options: SpoolOptions,
  ) {
    const firstMs = Math.min(FIRST_DELAY_MS, options.drainEveryMs);
    this.loop = new Loop('spool drain', options.drainEveryMs, () => this.cycle(), firstMs);
    spool.onDatabaseBack(() => this.breaker.succeeded());
  }

  onApplicationBootstrap(): void {
    // From wherever it is provided: push needs the spool, and its module would need this one in turn.
    this.replay = this.modules.get(PushReplay, { strict: false });
    this.loop.start();
  }

  /**
   * The last request has its answer, so nothing comes in any more; what is there goes to the database if that is back.
   * In a container the disk may go with the broker.
   */
  async beforeApplicationShutdown(): Promise<void> {
    this.leavesAtMs = this.clock.monoMs() + LAST_ATTEMPT_MS;
    await this.loop.stop();
    if (this.spool.stats().pending === 0) return;
    this.breaker.succeeded();
    await this.cycle().catch((error: Error) => this.logger.warn(`the last attempt failed: ${error.message}`));
  }

  private get mayGoOn(): boolean {
    // Not known right after the start: what was spooled in maintenance must not come out before its end.
    const isTime = this.leavesAtMs === null || this.clock.monoMs() < this.leavesAtMs;
    return this.maintenance.isKnown && !this.maintenance.isOn && isTime;
  }

  /** Until nothing is left, or something stands in the way. */
  private async cycle(): Promise<void> {
    if (!this.breaker.mayTry(this.clock.monoMs())) return;
    while (this.mayGoOn) {
      const file = await this.spool.nextFile();
      if (file === null || this.replay === null) return;
      if (this.current?.file !== file)
        this.current = this.begin(new FileReplay(file, this.replay, this.options.batchMax));
      if (!(await this.attempt(this.current))) return;
      this.current = null;
    }
  }

  private begin(current: FileReplay): FileReplay {
    const ageMs = this.clock.wallMs() - current.file.writtenAtMs;
    if (ageMs > DEDUP_WINDOW_MS) {
      this.logger.warn(
        `messages have waited ${Math.round(ageMs / 1000)} s in the spool: where the dedup window of a queue is shorter, ` +
          'those that had been stored before they were spooled are stored twice',
      );
    }
    return current;
  }

  /** True when the file is done with. */
  private async attempt(current: FileReplay): Promise<boolean> {
    const { file } = current;
    const outcome = await current.attempt({
      goOn: () => this.mayGoOn,
      onStored: (message) => this.spool.stored(message),
    });
    if (outcome === 'stored') {
      this.breaker.succeeded();
      this.spool.databaseAnswered();
      await this.spool.finished(file);
      return true;
    }
    if (outcome === 'away') {
      this.breaker.failed(this.clock.monoMs());
      this.spool.databaseAway();
    }
    if (outcome !== 'poisoned' || current.attempts < ATTEMPTS_MAX) return false;
    const kept = await keepApart(file, current.poison, await this.spool.directory, this.disk);
    this.logger.error(`${kept.events} messages cannot be stored and are kept in ${kept.path}`);
    await this.spool.setAside(file, kept, current.poison.values());
    return true;
  }
}
