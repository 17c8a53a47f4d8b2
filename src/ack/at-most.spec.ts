import { describe, expect, it } from '@jest/globals';
import { AtMost, eachAtMost } from './at-most.js';

function deferred() {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe('AtMost', () => {
  it('lets in the next when one leaves, in order, also when it fails', async () => {
    const gates = Array.from({ length: 4 }, deferred);
    const started: number[] = [];
    const atMost = new AtMost(2);
    const runs = gates.map((gate, i) =>
      atMost.run(() => {
        started.push(i);
        return gate.promise;
      }),
    );
    const outcomes = Promise.allSettled(runs);
    await turn();
    expect(started).toEqual([0, 1]);
    gates[1].reject(new Error('no'));
    await turn();
    expect(started).toEqual([0, 1, 2]);
    gates[0].resolve();
    await turn();
    expect(started).toEqual([0, 1, 2, 3]);
    gates[2].resolve();
    gates[3].resolve();
    expect((await outcomes).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
  });

  it('lets nobody slip in before those who wait', async () => {
    const atMost = new AtMost(1);
    const started: string[] = [];
    const first = deferred();
    const one = atMost.run(() => first.promise);
    const two = atMost.run(async () => void started.push('waiting'));
    first.resolve();
    await one;
    await Promise.all([two, atMost.run(async () => void started.push('late'))]);
    expect(started).toEqual(['waiting', 'late']);
  });
});

describe('eachAtMost', () => {
  it('runs every item once, at most so many at once', async () => {
    let running = 0;
    let runningMax = 0;
    const seen: number[] = [];
    await eachAtMost(
      Array.from({ length: 20 }, (_, i) => i),
      3,
      async (item) => {
        runningMax = Math.max(runningMax, ++running);
        await turn();
        seen.push(item);
        running -= 1;
      },
    );
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(runningMax).toBe(3);
  });

  it('has nothing to do for no items', async () => {
    await eachAtMost([], 3, () => Promise.reject(new Error('no item')));
  });
});
