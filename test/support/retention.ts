import { run, scalar, type Call, type Target } from './calls.js';
import { ageSegments } from './make.js';
import { countRows, partitionId, THIS_PARTITION } from './rows.js';

/** Cutoffs for steps: everything is older than the first, nothing older than the second. */
export const ALL = '2100-01-01T00:00:00Z';
export const NOTHING = '2000-01-01T00:00:00Z';

export interface StepResult {
  deleted: number;
  new_log_start: number | null;
  done: boolean;
  messages: number;
  unread: number;
}

export interface StepInput {
  all?: string | null;
  completed?: string | null;
  rows?: number | null;
  type?: string | null;
}

export function retentionStepCall(pid: string, input: StepInput = {}): Call {
  const { all = null, completed = null, rows = 1000, type = null } = input;
  return [
    'select queen.log_retention_step_v1($1, $2, $3, $4, $5) as result',
    [pid, all, completed, rows, type],
  ];
}

export async function retentionStep(
  on: Target,
  queue: string,
  partition: string,
  input: StepInput = {},
): Promise<StepResult> {
  return scalar<StepResult>(on, retentionStepCall(await partitionId(on, queue, partition), input));
}

export interface PurgeResult {
  deleted: number;
  new_txns_start: number | null;
  done: boolean;
}

export function purgeStepCall(pid: string, cutoff: string | null = ALL, rows = 1000): Call {
  return ['select queen.log_txns_purge_step_v1($1, $2, $3) as result', [pid, cutoff, rows]];
}

export async function purgeStep(
  on: Target,
  queue: string,
  partition: string,
  cutoff: string | null = ALL,
  rows = 1000,
): Promise<PurgeResult> {
  return scalar<PurgeResult>(on, purgeStepCall(await partitionId(on, queue, partition), cutoff, rows));
}

export function cleanupStepCall(cutoff: string | null = ALL, rows = 1000): Call {
  return ['select queen.log_partition_cleanup_step_v1($1, $2) as result', [cutoff, rows]];
}

export interface Work {
  partitionId: string;
  all: string | null;
  completed: string | null;
  maxWait: string | null;
}

export interface Position {
  queue: string;
  at: string;
  id: string;
}

export const START: Position = {
  queue: '00000000-0000-0000-0000-000000000000',
  at: '-infinity',
  id: '00000000-0000-0000-0000-000000000000',
};

export function retentionWork(
  on: Target,
  scan = 1000,
  { queue, at, id }: Position = START,
): Promise<{ work: Work[]; looked: number; next: Position | null }> {
  return scalar(on, ['select queen.log_retention_work_v1($1, $2, $3, $4) as result', [queue, at, id, scan]]);
}

/** As if all of the partition, or its segments from `from` to `to`, had been written so many seconds earlier. */
export async function age(
  on: Target,
  queue: string,
  partition: string,
  seconds: number,
  range: { from?: number; to?: number } = {},
): Promise<void> {
  await ageSegments(on, queue, partition, seconds, range);
  const mark = `update queen.log_partitions p
    set oldest_live_at = (
          select s.created_at from queen.log_segments s where s.partition_id = p.id order by base_offset limit 1),
        txns_due_at = p.txns_due_at - make_interval(secs => $3)
    where p.id = ${THIS_PARTITION}`;
  await run(on, [mark, [queue, partition, seconds]]);
}

/** Nobody has used the partition for so many days. */
export async function abandon(on: Target, queue: string, partition: string, days: number): Promise<void> {
  const since = `make_interval(days => $3)`;
  const update = `update queen.log_partitions
    set created_at = created_at - ${since}, last_write_at = last_write_at - ${since} where id = ${THIS_PARTITION}`;
  await run(on, [update, [queue, partition, days]]);
  const cursors = `update queen.log_consumers
    set created_at = created_at - ${since}, lease_acquired_at = lease_acquired_at - ${since},
        lease_expires_at = lease_expires_at - ${since}
    where partition_id = ${THIS_PARTITION}`;
  await run(on, [cursors, [queue, partition, days]]);
}

export interface HistoryRow {
  type: string;
  messages: number;
  unread: number;
}

/** What the history says of a partition, oldest first. */
export async function history(on: Target, pid: string): Promise<HistoryRow[]> {
  const select = `select retention_type as type, messages_deleted::int as messages, unread_deleted::int as unread
    from queen.retention_history where partition_id = $1 order by executed_at, id`;
  return (await run(on, [select, [pid]])) as unknown as HistoryRow[];
}

/** Hash rows without a partition, of which there must never be one (I9). */
export function orphans(on: Target): Promise<number> {
  return countRows(
    on,
    'log_txns t',
    'not exists (select from queen.log_partitions p where p.id = t.partition_id)',
  );
}
