import { boolArray, int4Array, textArray, uuidArray } from '../../raw-sql/binary-array.js';
import { procedure } from '../../raw-sql/procedure.js';
import type { ClaimedSegment } from '../claim.js';
import type { PopArgs, VerdictRow } from '../pop.procedures.js';

/** One pop among those of a statement. */
export interface JobArgs {
  readonly request: PopArgs;
  /** The candidates, in the order in which they are to be served. */
  readonly names: readonly string[];
  readonly skipWindow: boolean;
}

/** A segment, the verdict on a candidate, or both in one row. */
export interface PopMultiRow {
  /** The candidate's position among those of all jobs, from 0. */
  readonly part: number;
  readonly partitionId: string | null;
  readonly segment: ClaimedSegment | null;
  readonly attempt: number | null;
  readonly state: VerdictRow['state'] | null;
  readonly lastOffset: number | null;
  readonly waitMs: number | null;
}

export const logPopMultiV1 = procedure<readonly JobArgs[], PopMultiRow>({
  name: 'log_pop_multi_v1',
  parameterTypes: [
    ...['uuid[]', 'text[]', 'text[]', 'int[]', 'int[]', 'text[]', 'boolean[]', 'int[]'],
    ...['text[]', 'text[]', 'boolean[]', 'text[]', 'int[]'],
  ],
  values: (jobs) => [
    uuidArray(jobs.map(({ request }) => request.tenant)),
    textArray(jobs.map(({ request }) => request.queue)),
    textArray(jobs.map(({ request }) => request.group)),
    int4Array(jobs.map(({ request }) => request.batch)),
    // 0, like null, is the queue's own lease time.
    int4Array(jobs.map(({ request }) => request.leaseSeconds ?? 0)),
    textArray(jobs.map(({ request }) => request.workerId)),
    boolArray(jobs.map(({ request }) => request.autoAck)),
    int4Array(jobs.map(({ request }) => request.partitions)),
    textArray(jobs.map(({ request }) => request.subscriptionMode)),
    textArray(jobs.map(({ request }) => request.subscriptionFrom)),
    boolArray(jobs.map(({ skipWindow }) => skipWindow)),
    textArray(jobs.flatMap(({ names }) => names)),
    int4Array(jobs.flatMap(({ names }, job) => names.map(() => job + 1))),
  ],
  row: ([
    part,
    partitionId,
    base,
    startIdx,
    take,
    messageCount,
    createdAt,
    blob,
    attempt,
    state,
    lastOffset,
    waitMs,
  ]) => ({
    part: (part as number) - 1,
    partitionId: partitionId as string | null,
    segment:
      take === null
        ? null
        : {
            base: base as number,
            startIdx: startIdx as number,
            take: take as number,
            messageCount: messageCount as number,
            createdAtMicros: createdAt as number,
            blob: blob as Buffer,
          },
    attempt: attempt as number | null,
    state: state as PopMultiRow['state'],
    lastOffset: lastOffset as number | null,
    waitMs: waitMs as number | null,
  }),
});
