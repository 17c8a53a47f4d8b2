import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { LimiterService } from '../limiter/limiter.service.js';
import type { Procedure } from '../raw-sql/procedure.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import {
  logEvictMaxWaitStepV1,
  logPartitionCleanupV1,
  logRetentionStepV1,
  logRetentionWorkV1,
  logTxnsPurgeStepV1,
  logTxnsWorkV1,
  retentionHistoryPurgeStepV1,
  WALK_START,
  type RetentionStep,
  type RetentionWork,
} from './retention.procedures.js';
import { RETENTION_OPTIONS, type RetentionOptions } from './retention.options.js';
import { StepSize } from './step-size.js';

/** Whether there may be another step: still leading, not shutting down. */
export type GoOn = () => Promise<boolean>;

/** Since the start. What is certain stands in retention_history: a step whose answer was lost is not counted here. */
export interface SweepStats {
  segments: number;
  messages: number;
  /** Of the messages, those that some existing group had not finished. */
  unreadMessages: number;
  hashRows: number;
  partitions: number;
  historyRows: number;
  /** Partitions given up for a sweep because a step of theirs failed. */
  failures: number;
}

const LOOKS_PER_PAGE = 1000;
/**
 * Partitions looked at in vain in one sweep. What a slow group holds back is found and left again in each; beyond this
 * the next sweep goes on where this one stopped.
 */
const VAIN_LOOKS_MAX = 10_000;
const HASH_PARTITIONS_PER_PAGE = 500;

/** What a sweep consists of. Each step is one transaction on one partition, and after each somebody may stop us. */
@Injectable()
export class Sweep {
  private readonly logger = new Logger('Retention');
  private readonly counters: SweepStats = {
    ...{
      segments: 0,
      messages: 0,
      unreadMessages: 0,
      hashRows: 0,
      partitions: 0,
      historyRows: 0,
      failures: 0,
    },
  };
  private readonly looks = new StepSize(LOOKS_PER_PAGE);
  private readonly segmentSteps: StepSize;
  private readonly hashSteps: StepSize;
  private readonly partitionSteps: StepSize;
  private readonly historySteps: StepSize;
  private position = WALK_START;

  constructor(
    private readonly rawSql: RawSqlService,
    private readonly limiter: LimiterService,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(RETENTION_OPTIONS) private readonly options: RetentionOptions,
  ) {
    this.segmentSteps = new StepSize(options.rowsMax);
    this.hashSteps = new StepSize(options.rowsMax);
    this.partitionSteps = new StepSize(options.rowsMax);
    this.historySteps = new StepSize(options.rowsMax);
  }

  stats(): SweepStats {
    return { ...this.counters };
  }

  /** Retention by age, completed retention and eviction. Ends in time although a walk may be longer than a sweep. */
  async deleteMessages(goOn: GoOn): Promise<void> {
    for (let vainLooks = 0; vainLooks < VAIN_LOOKS_MAX;) {
      if (!(await goOn())) return;
      const page = await this.sized(this.looks, logRetentionWorkV1, (scan) => ({
        from: this.position,
        scan,
      }));
      for (const work of page.work) await this.deleteFrom(work, goOn);
      vainLooks += page.looked - page.work.length;
      this.position = page.next ?? WALK_START;
      if (page.next === null) return;
    }
  }

  /** Hash rows of deleted segments whose windows have passed. */
  async purgeHashes(goOn: GoOn): Promise<void> {
    for (;;) {
      if (!(await goOn())) return;
      const page = await this.call(logTxnsWorkV1, HASH_PARTITIONS_PER_PAGE);
      const failuresBefore = this.counters.failures;
      for (const work of page) {
        await this.untilDone(goOn, async () => {
          const step = await this.sized(this.hashSteps, logTxnsPurgeStepV1, (rows) => ({ ...work, rows }));
          this.counters.hashRows += step.deleted;
          return step;
        });
      }
      // One that failed stays at the head of the list: the next sweep meets it, this one must not go round with it.
      if (page.length < HASH_PARTITIONS_PER_PAGE || this.counters.failures > failuresBefore) return;
    }
  }

  /** Empty partitions that nobody has used for days. */
  async cleanPartitions(goOn: GoOn): Promise<void> {
    const { cleanupDays: days } = this.options;
    if (days === 0) return;
    await this.untilDone(goOn, async () => {
      const step = await this.sized(this.partitionSteps, logPartitionCleanupV1, (rows) => ({ days, rows }));
      this.counters.partitions += step.deleted;
      return step;
    });
  }

  async purgeHistory(goOn: GoOn): Promise<void> {
    const { historyDays: days } = this.options;
    if (days === 0) return;
    await this.untilDone(goOn, async () => {
      const deleted = await this.sized(this.historySteps, retentionHistoryPurgeStepV1, (rows) => ({
        days,
        rows,
      }));
      this.counters.historyRows += deleted;
      return { deleted, done: deleted === 0 };
    });
  }

  private async deleteFrom(
    { partitionId, all, completed, maxWait }: RetentionWork,
    goOn: GoOn,
  ): Promise<void> {
    if (all !== null || completed !== null) {
      await this.untilDone(goOn, async () =>
        this.count(
          await this.sized(this.segmentSteps, logRetentionStepV1, (rows) => ({
            ...{ partitionId, all, completed, rows },
          })),
        ),
      );
    }
    if (maxWait !== null) {
      await this.untilDone(goOn, async () =>
        this.count(
          await this.sized(this.segmentSteps, logEvictMaxWaitStepV1, (rows) => ({
            ...{ partitionId, cutoff: maxWait, rows },
          })),
        ),
      );
    }
  }

  private count(step: RetentionStep): RetentionStep {
    this.counters.segments += step.deleted;
    this.counters.messages += step.messages;
    this.counters.unreadMessages += step.unread;
    return step;
  }

  /**
   * Steps until nothing is left. What PostgreSQL refuses or does not finish in time costs this partition's share of the
   * sweep and not everybody's; without a database there is no point in going on.
   */
  private async untilDone(
    goOn: GoOn,
    step: () => Promise<{ deleted: number; done: boolean }>,
  ): Promise<void> {
    try {
      while (await goOn()) {
        const { deleted, done } = await step();
        if (done || deleted === 0) return;
      }
    } catch (error) {
      if (!isOfThisStep(error)) throw error;
      this.counters.failures += 1;
      this.logger.warn(`a step failed, and is tried again in the next sweep: ${(error as Error).message}`);
    }
  }

  /** A call whose size fits what one statement can do, here and now. */
  private async sized<Args, Row>(
    size: StepSize,
    procedure: Procedure<Args, Row>,
    args: (rows: number) => Args,
  ): Promise<Row> {
    for (;;) {
      try {
        return await this.limiter.withPermit('maintenance', null, () =>
          this.rawSql.withConnection(null, async (connection) => {
            const startedMs = this.clock.monoMs();
            const result = await connection.callOne(procedure, args(size.value));
            size.took(this.clock.monoMs() - startedMs);
            return result;
          }),
        );
      } catch (error) {
        const isTimeout = error instanceof BrokerError && error.code === 'statement_timeout';
        if (!isTimeout || !size.timedOut()) throw error;
      }
    }
  }

  private call<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row[]> {
    return this.limiter.withPermit('maintenance', null, () => this.rawSql.call(procedure, args));
  }
}

function isOfThisStep(error: unknown): boolean {
  return (
    error instanceof SqlStatementError || (error instanceof BrokerError && error.code === 'statement_timeout')
  );
}
