import type { Verdict } from '../../hotlist/verdict.js';
import { batchEndOf, type ClaimedPartition } from '../claim.js';
import { partitionsOf, type PopRow } from '../pop.procedures.js';
import type { JobArgs, PopMultiRow } from './pop-multi.procedures.js';

/** What PostgreSQL said to one pop over listed partitions. */
export interface JobAnswer {
  /** In claim order. */
  readonly claimed: ClaimedPartition[];
  /** One for each candidate that was looked at; none at all when the pop's turn did not come. */
  readonly verdicts: readonly Verdict[];
}

/** Of `log_pop_list_v1`. */
export function answerOfList(rows: readonly PopRow[]): JobAnswer {
  const claimed = partitionsOf(rows);
  const ends = new Map(claimed.map((partition) => [partition.partition, batchEndOf(partition)]));
  const verdicts: Verdict[] = [];
  for (const row of rows) {
    if (row.kind === 'verdict') verdicts.push(verdictOf(row.partition, row, ends.get(row.partition)));
  }
  return { claimed, verdicts };
}

/**
 * Of `log_pop_multi_v1`: one answer for each job, in order. Rows of one candidate stand together, but candidates come wave
 * by wave: a job whose first ones had too little is looked at again after the others.
 */
export function answersOfMulti(jobs: readonly JobArgs[], rows: readonly PopMultiRow[]): JobAnswer[] {
  const answers = jobs.map(() => ({ claimed: [] as ClaimedPartition[], verdicts: [] as Verdict[] }));
  const candidates = jobs.flatMap(({ names }, job) => names.map((partition) => ({ job, partition })));
  for (let i = 0; i < rows.length;) {
    const { part } = rows[i];
    const { job, partition } = candidates[part];
    let said: PopMultiRow | null = null;
    let claimed: ClaimedPartition | null = null;
    for (; i < rows.length && rows[i].part === part; i++) {
      const row = rows[i];
      if (row.state !== null) said = row;
      if (row.segment === null) continue;
      if (claimed === null) {
        claimed = {
          queue: jobs[job].request.queue,
          partition,
          partitionId: row.partitionId!,
          attempt: row.attempt!,
          segments: [],
        };
        answers[job].claimed.push(claimed);
      }
      claimed.segments.push(row.segment);
    }
    if (said)
      answers[job].verdicts.push(verdictOf(partition, said, claimed ? batchEndOf(claimed) : undefined));
  }
  return answers;
}

type Said = Pick<PopMultiRow, 'partitionId' | 'state' | 'lastOffset' | 'waitMs'>;

/** A partition is drained when this claim's last offset is the allocator's mark just after the claim (Z10). */
function verdictOf(partition: string, said: Said, end: number | undefined): Verdict {
  return {
    partition,
    partitionId: said.partitionId ?? undefined,
    state: said.state!,
    drained: end !== undefined && said.lastOffset !== null && end >= said.lastOffset,
    waitMs: said.waitMs ?? undefined,
  };
}
