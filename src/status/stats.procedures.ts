import { procedure, scalarProcedure } from '../raw-sql/procedure.js';

/** When the turn began, by the database's clock in microseconds; null when it is not due. */
export const statsTakeTurnV1 = scalarProcedure<{ name: string; intervalMs: number }, number | null>({
  name: 'stats_take_turn_v1',
  parameterTypes: ['text', 'bigint'],
  values: ({ name, intervalMs }) => [name, intervalMs],
});

/** Queues that were added. */
export const statsPrepareV1 = scalarProcedure<{ keepDays: number; limit: number }, number>({
  name: 'stats_prepare_v1',
  parameterTypes: ['int', 'int'],
  values: ({ keepDays, limit }) => [keepDays, limit],
});

export interface WalkArgs {
  /** What one step may cost. */
  budget: number;
  /** When the run began, as the turn said. */
  runAt: string;
}

export interface WalkStep {
  /** Slices done, and queues finished, in this step. */
  visits: number;
  finished: number;
  /** The run is over: every queue was visited, and none is in the middle. */
  done: boolean;
}

const walk = (name: string) =>
  procedure<WalkArgs, WalkStep>({
    name,
    parameterTypes: ['int', 'timestamptz'],
    values: ({ budget, runAt }) => [budget, runAt],
    row: ([visits, finished, done]) => ({
      visits: visits as number,
      finished: finished as number,
      done: done as boolean,
    }),
  });

export const statsCountV1 = walk('stats_count_v1');
export const statsWeighV1 = walk('stats_weigh_v1');

export const statsReportV1 = scalarProcedure<string, Record<string, unknown>>({
  name: 'stats_report_v1',
  parameterTypes: ['uuid'],
  values: (tenant) => [tenant],
});
