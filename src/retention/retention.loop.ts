import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { Loop } from '../base/loop/loop.js';
import { Leadership } from './leadership.js';
import { RETENTION_OPTIONS, type RetentionOptions } from './retention.options.js';
import { Sweep, type SweepStats } from './sweep.js';

export interface RetentionStats extends SweepStats {
  /** Sweeps made by this broker. */
  sweeps: number;
  isLeader: boolean;
  lastSweepMs: number;
  /** Since a sweep, or the finding that another broker leads, last went well. */
  ageMs: number;
}

/** Partitions and history age by days; looking for dead ones once a minute is enough. */
const CLEANUP_EVERY_MS = 60_000;

/**
 * Removes what the queues' rules no longer keep: messages, then hash rows, and once a minute dead partitions and old
 * history. In steps that are small, each a transaction of its own, by one broker at a time.
 */
@Injectable()
export class RetentionLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Retention');
  private readonly loop: Loop;
  private readonly state = { sweeps: 0, isLeader: false, lastSweepMs: 0 };
  private cleanedAtMs = -Infinity;

  constructor(
    private readonly leadership: Leadership,
    private readonly sweep: Sweep,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RETENTION_OPTIONS) options: RetentionOptions,
  ) {
    this.loop = new Loop('retention', options.intervalMs, () => this.cycle());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  /** Before the pool closes; what is left can wait for the next leader. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    await this.leadership.release().catch((error: unknown) => {
      this.logger.warn(`the leadership could not be given up, it ends by time: ${(error as Error).message}`);
    });
  }

  stats(): RetentionStats {
    return { ...this.state, ...this.sweep.stats(), ageMs: this.loop.ageMs };
  }

  private async cycle(): Promise<void> {
    this.state.isLeader = await this.leadership.hold();
    if (!this.state.isLeader) return;
    const startedMs = this.clock.monoMs();
    const goOn = async () => {
      if (this.loop.isStopping) return false;
      this.state.isLeader = await this.leadership.hold();
      return this.state.isLeader;
    };
    await this.sweep.deleteMessages(goOn);
    await this.sweep.purgeHashes(goOn);
    if (startedMs - this.cleanedAtMs >= CLEANUP_EVERY_MS) {
      this.cleanedAtMs = startedMs;
      await this.sweep.cleanPartitions(goOn);
      await this.sweep.purgeHistory(goOn);
    }
    this.state.sweeps += 1;
    this.state.lastSweepMs = this.clock.monoMs() - startedMs;
  }
}
