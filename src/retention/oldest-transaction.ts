import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { Loop } from '../base/loop/loop.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { oldestTransactionV1, type OpenTransaction } from './retention.procedures.js';

const PERIOD_MS = 10_000;
/** Ordinary statements end long before; one that is older is worth a line in the log, and another at each doubling. */
const WARN_AFTER_MS = 60_000;

/**
 * Knows the transaction that keeps vacuum from its work, whoever has left it open: a forgotten session, a dump, a prepared
 * transaction. It makes every table grow and every pop slower, and nothing else of the broker shows why.
 */
@Injectable()
export class OldestTransaction implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Retention');
  private readonly loop = new Loop('oldest transaction', PERIOD_MS, () => this.look());
  private found: { readonly ageMs: number; readonly seenMs: number } | null = null;
  private warnAtMs = WARN_AFTER_MS;

  constructor(
    private readonly rawSql: RawSqlService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  /** As last seen, and older by the time since; 0 when there was none. */
  get ageMs(): number {
    return this.found ? this.found.ageMs + this.clock.monoMs() - this.found.seenMs : 0;
  }

  async look(): Promise<void> {
    const [oldest] = await this.rawSql.call(oldestTransactionV1, undefined);
    this.found = oldest ? { ageMs: oldest.ageMs, seenMs: this.clock.monoMs() } : null;
    if (!oldest || oldest.ageMs < WARN_AFTER_MS) {
      this.warnAtMs = WARN_AFTER_MS;
      return;
    }
    if (oldest.ageMs < this.warnAtMs) return;
    this.warnAtMs = 2 * oldest.ageMs;
    this.logger.warn(lineOf(oldest));
  }
}

function lineOf({ pid, user, application, state, ageMs }: OpenTransaction): string {
  const who = pid === null ? `prepared as "${application}"` : `process ${pid}, "${application}", ${state}`;
  return (
    `a transaction of user ${user} (${who}) has been open for ${Math.round(ageMs / 1000)} s: ` +
    'vacuum cannot remove what has died since, so tables grow until it ends'
  );
}
