import { describe, expect, it } from '@jest/globals';
import { PopRequestParser } from '../pop.request.js';
import { answersOfMulti } from './job-answer.js';
import type { PopMultiRow } from './pop-multi.procedures.js';

const parser = new PopRequestParser(30_000);
const job = (queue: string, names: string[]) => ({
  request: { ...parser.parse({ scope: 'queue', queue }, ''), partition: '' },
  names,
  skipWindow: false,
});
const jobs = [job('a', ['a0', 'a1', 'a2']), job('b', ['b0']), job('c', ['c0', 'c1'])];

const nothing = {
  partitionId: null,
  segment: null,
  attempt: null,
  state: null,
  lastOffset: null,
  waitMs: null,
};

function segment(base: number, startIdx: number, take: number) {
  return { base, startIdx, take, messageCount: 10, createdAtMicros: 0, blob: Buffer.alloc(0) };
}

function row(part: number, values: Partial<PopMultiRow>): PopMultiRow {
  return { part, ...nothing, ...values };
}

describe('the answer of a shared claim', () => {
  it('is taken apart by job, and a job without a row was not looked at', () => {
    const answers = answersOfMulti(jobs, [
      row(0, { state: 'empty', partitionId: 'id-a0' }),
      row(1, { state: 'took', partitionId: 'id-a1', segment: segment(0, 4, 6), attempt: 1, lastOffset: 12 }),
      row(1, { partitionId: 'id-a1', segment: segment(10, 0, 3), attempt: 1 }),
      row(5, { state: 'leased', partitionId: 'id-c1', waitMs: 40 }),
    ]);
    expect(answers[0].verdicts).toEqual([
      { partition: 'a0', partitionId: 'id-a0', state: 'empty', drained: false, waitMs: undefined },
      { partition: 'a1', partitionId: 'id-a1', state: 'took', drained: true, waitMs: undefined },
    ]);
    expect(answers[0].claimed).toHaveLength(1);
    expect(answers[0].claimed[0]).toMatchObject({
      queue: 'a',
      partition: 'a1',
      partitionId: 'id-a1',
      attempt: 1,
    });
    expect(answers[0].claimed[0].segments.map(({ base }) => base)).toEqual([0, 10]);
    expect(answers[1]).toEqual({ claimed: [], verdicts: [] });
    expect(answers[2].verdicts).toMatchObject([{ partition: 'c1', state: 'leased', waitMs: 40 }]);
  });

  it('finds the job of a candidate of a later wave, which comes after those of other jobs', () => {
    const took = { state: 'took' as const, attempt: 1, lastOffset: 9 };
    const answers = answersOfMulti(jobs, [
      row(0, { ...took, partitionId: 'id-a0', segment: segment(0, 0, 1) }),
      row(3, { ...took, partitionId: 'id-b0', segment: segment(0, 0, 2) }),
      row(1, { ...took, partitionId: 'id-a1', segment: segment(0, 0, 3) }),
    ]);
    expect(answers.map(({ claimed }) => claimed.map(({ partition }) => partition))).toEqual([
      ['a0', 'a1'],
      ['b0'],
      [],
    ]);
    expect(answers[0].verdicts.map(({ partition }) => partition)).toEqual(['a0', 'a1']);
  });

  it('calls a partition drained only when the last message served is its last one', () => {
    const took = (lastOffset: number) => {
      const rows = [
        row(3, { segment: segment(5, 0, 2), attempt: 1, partitionId: 'id' }),
        row(3, { state: 'took', partitionId: 'id', lastOffset }),
      ];
      return answersOfMulti(jobs, rows)[1].verdicts[0].drained;
    };
    expect([took(6), took(7)]).toEqual([true, false]);
  });

  it('of nothing is nothing for everybody', () => {
    expect(answersOfMulti(jobs, [])).toEqual(jobs.map(() => ({ claimed: [], verdicts: [] })));
  });
});
