import { describe, expect, it } from '@jest/globals';
import { PopRequestParser } from '../pop.request.js';
import { ClaimJob } from './claim-job.js';
import { ClaimLine } from './claim-line.js';

const parser = new PopRequestParser(30_000);

function job(queue: string, gone = new AbortController().signal): ClaimJob {
  const request = parser.parse({ scope: 'queue', queue }, '');
  const claim = { request, gone, waitMs: undefined, isMoot: () => false };
  return new ClaimJob(
    claim,
    16,
    () => undefined,
    () => undefined,
  );
}

function drain(line: ClaimLine): string[] {
  const queues: string[] = [];
  for (let next = line.shift(); next; next = line.shift()) queues.push(next.request.queue);
  return queues;
}

describe('the line of pops that wait for the next claim', () => {
  it('is first come first served within a queue', () => {
    const line = new ClaimLine();
    const jobs = [job('a'), job('a'), job('a')];
    for (const one of jobs) line.push(one);
    expect([line.shift(), line.shift(), line.shift(), line.shift()]).toEqual([...jobs, null]);
  });

  it('lets queues take turns, so that five hundred consumers of one do not hold up the others', () => {
    const line = new ClaimLine();
    for (let i = 0; i < 500; i++) line.push(job('crowded'));
    line.push(job('b'));
    line.push(job('c'));
    expect(drain(line).slice(0, 5)).toEqual(['crowded', 'b', 'c', 'crowded', 'crowded']);
  });

  it('forgets those whose client left, and with the last one the queue', () => {
    const line = new ClaimLine();
    const client = new AbortController();
    line.push(job('a', client.signal));
    line.push(job('b'));
    expect(line.size).toBe(2);
    client.abort();
    expect(line.size).toBe(1);
    expect(drain(line)).toEqual(['b']);
    expect(line.size).toBe(0);
  });

  it('takes one back that was served in vain', () => {
    const line = new ClaimLine();
    line.push(job('a'));
    const again = line.shift()!;
    line.push(again);
    expect(line.shift()).toBe(again);
  });
});
