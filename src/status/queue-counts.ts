import { Injectable } from '@nestjs/common';
import { timestampText } from '../base/time/iso-micros.js';
import { LimiterService } from '../limiter/limiter.service.js';
import type { Procedure } from '../raw-sql/procedure.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import {
  statsCountV1,
  statsPrepareV1,
  statsTakeTurnV1,
  statsWeighV1,
  type WalkArgs,
  type WalkStep,
} from './stats.procedures.js';

/** What one statement may cost: some 30 ms, so that nobody waits long for a walk it has locked. */
const STEP_BUDGET = 2000;
const NEW_QUEUES_MAX = 5000;
const MINUTES_KEPT_DAYS = 90;

export interface Run {
  /** Queues whose counts were published. */
  finished: number;
  /** All of them were; false when the budget ended first. */
  done: boolean;
}

const nothingRun: Run = { finished: 0, done: false };

/**
 * Counts what queues hold, in bounded runs: see stats_count_v1. Whoever takes the turn runs; brokers that run at the
 * same time share the work and never do it twice.
 */
@Injectable()
export class QueueCounts {
  constructor(
    private readonly rawSql: RawSqlService,
    private readonly limiter: LimiterService,
  ) {}

  /**
   * Partitions, messages, cursors.
   * @param intervalMs the turn is due when the last one is so old; 0: in any case
   * @param budget partitions and queues, after which the run ends and the next goes on
   */
  async count(intervalMs: number, budget: number, mayGoOn: () => boolean = always): Promise<Run> {
    const runAt = await this.takeTurn('queue stats', intervalMs);
    if (runAt === null) return nothingRun;
    await this.permitted(statsPrepareV1, { keepDays: MINUTES_KEPT_DAYS, limit: NEW_QUEUES_MAX });
    return this.walk(statsCountV1, runAt, budget, mayGoOn);
  }

  /** Segments and bytes; as `count`, with segments in the budget as well. */
  async weigh(intervalMs: number, budget: number, mayGoOn: () => boolean = always): Promise<Run> {
    const runAt = await this.takeTurn('queue weights', intervalMs);
    return runAt === null ? nothingRun : this.walk(statsWeighV1, runAt, budget, mayGoOn);
  }

  private async takeTurn(name: string, intervalMs: number): Promise<string | null> {
    const micros = await this.permitted(statsTakeTurnV1, { name, intervalMs });
    return micros === null ? null : timestampText(micros);
  }

  private async walk(
    step: Procedure<WalkArgs, WalkStep>,
    runAt: string,
    budget: number,
    mayGoOn: () => boolean,
  ): Promise<Run> {
    const run = { finished: 0, done: false };
    for (let left = budget; left > 0 && !run.done && mayGoOn(); left -= STEP_BUDGET) {
      const { finished, done } = await this.permitted(step, { budget: STEP_BUDGET, runAt });
      run.finished += finished;
      run.done = done;
    }
    return run;
  }

  /** In the maintenance lane, and a connection for one statement at a time: serving comes first. */
  private permitted<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row> {
    return this.limiter.withPermit('maintenance', null, () => this.rawSql.callOne(procedure, args));
  }
}

function always(): boolean {
  return true;
}
