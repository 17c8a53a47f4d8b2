import { procedure, scalarProcedure } from '../raw-sql/procedure.js';

/** Where the walk over partitions with old segments stands: queue, age of the oldest segment, partition. */
export interface Position {
  readonly queue: string;
  readonly at: string;
  readonly id: string;
}

export const WALK_START: Position = {
  queue: '00000000-0000-0000-0000-000000000000',
  at: '-infinity',
  id: '00000000-0000-0000-0000-000000000000',
};

/** A partition that a rule lets lose something. Cutoffs by the database's clock; null: the rule does not apply. */
export interface RetentionWork {
  readonly partitionId: string;
  readonly all: string | null;
  readonly completed: string | null;
  readonly maxWait: string | null;
}

export interface WorkPage {
  readonly work: readonly RetentionWork[];
  /** Partitions looked at for it. */
  readonly looked: number;
  readonly next: Position | null;
}

export const logRetentionWorkV1 = scalarProcedure<{ from: Position; scan: number }, WorkPage>({
  name: 'log_retention_work_v1',
  parameterTypes: ['uuid', 'timestamptz', 'uuid', 'int'],
  values: ({ from, scan }) => [from.queue, from.at, from.id, scan],
});

export interface RetentionStep {
  /** Segments. */
  readonly deleted: number;
  readonly done: boolean;
  readonly messages: number;
  /** Of them not finished by every existing group. */
  readonly unread: number;
}

export const logRetentionStepV1 = scalarProcedure<
  Pick<RetentionWork, 'partitionId' | 'all' | 'completed'> & { rows: number },
  RetentionStep
>({
  name: 'log_retention_step_v1',
  parameterTypes: ['uuid', 'timestamptz', 'timestamptz', 'int', 'text'],
  values: ({ partitionId, all, completed, rows }) => [partitionId, all, completed, rows, null],
});

export const logEvictMaxWaitStepV1 = scalarProcedure<
  { partitionId: string; cutoff: string; rows: number },
  RetentionStep
>({
  name: 'log_evict_max_wait_step_v1',
  parameterTypes: ['uuid', 'timestamptz', 'int'],
  values: ({ partitionId, cutoff, rows }) => [partitionId, cutoff, rows],
});

export interface HashWork {
  readonly partitionId: string;
  readonly cutoff: string;
}

export const logTxnsWorkV1 = procedure<number, HashWork>({
  name: 'log_txns_work_v1',
  parameterTypes: ['int'],
  values: (limit) => [limit],
  row: ([partitionId, cutoff]) => ({ partitionId: partitionId as string, cutoff: cutoff as string }),
});

export const logTxnsPurgeStepV1 = scalarProcedure<
  HashWork & { rows: number },
  { deleted: number; done: boolean }
>({
  name: 'log_txns_purge_step_v1',
  parameterTypes: ['uuid', 'timestamptz', 'int'],
  values: ({ partitionId, cutoff, rows }) => [partitionId, cutoff, rows],
});

export const logPartitionCleanupV1 = scalarProcedure<
  { days: number; rows: number },
  { deleted: number; done: boolean }
>({
  name: 'log_partition_cleanup_v1',
  parameterTypes: ['int', 'int'],
  values: ({ days, rows }) => [days, rows],
});

/** Rows deleted. */
export const retentionHistoryPurgeStepV1 = scalarProcedure<{ days: number; rows: number }, number>({
  name: 'retention_history_purge_step_v1',
  parameterTypes: ['int', 'int'],
  values: ({ days, rows }) => [days, rows],
});

export interface LeaseArgs {
  readonly name: string;
  readonly holder: string;
}

/** True when `holder` leads now, for that many seconds. */
export const leaderLeaseTakeV1 = scalarProcedure<LeaseArgs & { seconds: number }, boolean>({
  name: 'leader_lease_take_v1',
  parameterTypes: ['text', 'text', 'int'],
  values: ({ name, holder, seconds }) => [name, holder, seconds],
});

export const leaderLeaseReleaseV1 = scalarProcedure<LeaseArgs, boolean>({
  name: 'leader_lease_release_v1',
  parameterTypes: ['text', 'text'],
  values: ({ name, holder }) => [name, holder],
});

/** A transaction that holds back vacuum. */
export interface OpenTransaction {
  /** Null for a prepared transaction, which belongs to no session. */
  readonly pid: number | null;
  readonly user: string;
  /** What the session calls itself; the name of a prepared transaction. */
  readonly application: string;
  readonly state: string;
  readonly ageMs: number;
}

/** The oldest; no row when nothing holds back vacuum. */
export const oldestTransactionV1 = procedure<void, OpenTransaction>({
  name: 'oldest_transaction_v1',
  parameterTypes: [],
  values: () => [],
  row: ([pid, user, application, state, ageMs]) => ({
    pid: pid as number | null,
    user: user as string,
    application: application as string,
    state: state as string,
    ageMs: ageMs as number,
  }),
});
