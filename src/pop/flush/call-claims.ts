import type { SqlConnection } from '../../raw-sql/connection-lease.js';
import { logPopListV1 } from '../pop.procedures.js';
import { answerOfList, answersOfMulti, type JobAnswer } from './job-answer.js';
import { type JobArgs, logPopMultiV1 } from './pop-multi.procedures.js';

/** Candidates from which on one pop alone is cheaper in the procedure that claims them together (measured). */
const TOGETHER_FROM = 4;

/** The claims of some pops in one statement: one answer for each, in order. */
export async function callClaims(connection: SqlConnection, jobs: readonly JobArgs[]): Promise<JobAnswer[]> {
  if (jobs.length === 1 && mostServed(jobs[0]) < TOGETHER_FROM) {
    const [{ request, names, skipWindow }] = jobs;
    return [answerOfList(await connection.call(logPopListV1, { ...request, names, skipWindow }))];
  }
  return answersOfMulti(jobs, await connection.call(logPopMultiV1, jobs));
}

function mostServed({ request, names }: JobArgs): number {
  return Math.min(names.length, request.partitions, request.batch);
}
