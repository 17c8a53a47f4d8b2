import { Global, Module, type DynamicModule } from '@nestjs/common';
import { Logger } from '@nestjs/common';
import type { Environment } from '../base/config/environment.js';
import { WORKER_GROUP, type WorkerGroup } from '../base/worker-group/worker-group.js';
import { defaultHotlistOptions, HOTLIST_OPTIONS, type HotlistOptions } from '../hotlist/hotlist.options.js';
import { fitLanesToPool } from '../limiter/fit-lanes.js';
import { LIMITER_OPTIONS, type LimiterOptions } from '../limiter/limiter.options.js';
import { DATABASE_OPTIONS, type DatabaseOptions } from '../raw-sql/database-options.js';

/** The environment as the option objects that memory modules and the SQL seam take; they read no variable themselves. */
@Global()
@Module({})
export class OptionsModule {
  static with(environment: Environment, database: DatabaseOptions, group: WorkerGroup): DynamicModule {
    const providers = [
      { provide: DATABASE_OPTIONS, useValue: database },
      { provide: WORKER_GROUP, useValue: group },
      // Made when it is injected: by then the application's logger is in place for its warnings.
      { provide: LIMITER_OPTIONS, useFactory: () => limiterOptions(environment, database.poolSize) },
      { provide: HOTLIST_OPTIONS, useValue: hotlistOptions(environment) },
    ];
    return { module: OptionsModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}

function limiterOptions(environment: Environment, poolSize: number): LimiterOptions {
  const wanted: LimiterOptions = {
    lanes: {
      push: {
        init: environment.QUEEN_SEG_PUSH_INIT,
        min: environment.QUEEN_SEG_PUSH_MIN,
        max: environment.QUEEN_SEG_PUSH_MAX,
      },
      pop: {
        init: environment.QUEEN_SEG_POP_INIT,
        min: environment.QUEEN_SEG_POP_MIN,
        max: environment.QUEEN_SEG_POP_MAX,
      },
      ack: {
        init: environment.QUEEN_SEG_ACK_INIT,
        min: environment.QUEEN_SEG_ACK_MIN,
        max: environment.QUEEN_SEG_ACK_MAX,
      },
      maintenance: { init: 2, min: 2, max: 2 },
    },
    alpha: environment.QUEEN_VEGAS_ALPHA,
    beta: environment.QUEEN_VEGAS_BETA,
    maxWaiters: environment.QUEEN_LANE_WAITERS_MAX,
    maxWaitMs: environment.QUEEN_LANE_WAIT_MS,
  };
  const { lanes, warnings } = fitLanesToPool(wanted, poolSize, environment.QUEEN_POOL_RESERVE);
  const logger = new Logger('Limiter');
  for (const warning of warnings) logger.warn(warning);
  return { ...wanted, lanes };
}

function hotlistOptions(environment: Environment): HotlistOptions {
  return {
    ...defaultHotlistOptions,
    enabled: environment.QUEEN_HOTLIST,
    candidateFactor: environment.QUEEN_HOTLIST_FACTOR,
    candidateMin: environment.QUEEN_HOTLIST_CANDIDATES_MIN,
    candidateMax: environment.QUEEN_HOTLIST_CANDIDATES_MAX,
    windowBatch: environment.QUEEN_HOTLIST_WINDOW_BATCH,
    padMs: environment.QUEEN_HOTLIST_PAD_MS,
    revisitCapMs: environment.QUEEN_HOTLIST_REVISIT_CAP_MS,
    reseedMs: environment.QUEEN_HOTLIST_RESEED_MS,
    reseedFullMs: environment.QUEEN_HOTLIST_RESEED_FULL_MS,
    reseedWindowMs: environment.QUEEN_HOTLIST_RESEED_WINDOW_MS,
    idleSweepMs: environment.QUEEN_HOTLIST_IDLE_SWEEP_MS,
    unservedTrimMs: environment.QUEEN_HOTLIST_UNSERVED_TRIM_MS,
    ticketMaxAgeMs: environment.QUEEN_STMT_TIMEOUT_MS + 5000,
  };
}
