import { popMultiCall, run, type PopJob, type Row, type Target } from './calls.js';
import { sliceOf } from './pops.js';

/** What one pop got and was told, in a form that both procedures can be brought to. */
export interface SharedAnswer {
  batches: { partition: string; attempt: number; texts: string[] }[];
  verdicts: { partition: string; state: string; lastOffset: number | null; wait: 'short' | 'long' | null }[];
}

const SHORT_WAIT_MS = 250;

function verdictOf(partition: string, row: Row): SharedAnswer['verdicts'][number] {
  const waitMs = row.r_wait_ms as number | null;
  return {
    partition,
    state: row.r_state as string,
    lastOffset: row.r_last_off === null ? null : Number(row.r_last_off),
    // The length of a lease is compared in the cursors; here it passes from one call to the other.
    wait: waitMs === null ? null : waitMs === SHORT_WAIT_MS ? 'short' : 'long',
  };
}

/** Decodes the rows of one pop. */
export function answerOf(rows: readonly Row[], nameOf: (row: Row) => string): SharedAnswer {
  const answer: SharedAnswer = { batches: [], verdicts: [] };
  for (const row of rows) {
    const partition = nameOf(row);
    if (row.r_take !== null) {
      let batch = answer.batches.at(-1);
      if (batch?.partition !== partition) {
        batch = { partition, attempt: row.r_attempt as number, texts: [] };
        answer.batches.push(batch);
      }
      batch.texts.push(...sliceOf(row).texts);
    }
    if (row.r_state !== null) answer.verdicts.push(verdictOf(partition, row));
  }
  return answer;
}

export async function popMulti(on: Target, jobs: readonly PopJob[]): Promise<SharedAnswer[]> {
  return sharedAnswers(jobs, await run(on, popMultiCall(jobs)));
}

/** Decodes the rows of log_pop_multi_v1: one answer a job. */
export function sharedAnswers(jobs: readonly PopJob[], rows: readonly Row[]): SharedAnswer[] {
  const names = jobs.flatMap((job, i) => job.names.map((name) => ({ name, job: i })));
  const of = (row: Row) => names[(row.r_part as number) - 1];
  return jobs.map((_, i) =>
    answerOf(
      rows.filter((row) => of(row).job === i),
      (row) => of(row).name,
    ),
  );
}

/** `p0 took` for each name that was looked at. */
export const statesOf = ({ verdicts }: SharedAnswer) =>
  verdicts.map(({ partition, state }) => `${partition} ${state}`);
