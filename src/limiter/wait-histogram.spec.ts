import { describe, expect, it } from '@jest/globals';
import { WaitHistogram, waitBucketsMs } from './wait-histogram.js';

describe('WaitHistogram', () => {
  it('counts cumulatively, and waits beyond the last bound in the count only', () => {
    const waits = new WaitHistogram();
    for (const waitMs of [0, 1, 1.5, 99, 60_000]) waits.record(waitMs);
    const { count, sumMs, buckets } = waits.stats();
    const upTo = (bound: (typeof waitBucketsMs)[number]) => buckets[waitBucketsMs.indexOf(bound)];
    expect({ count, sumMs }).toEqual({ count: 5, sumMs: 60_101.5 });
    expect([upTo(1), upTo(2), upTo(50), upTo(100), upTo(5_000)]).toEqual([2, 3, 3, 4, 4]);
  });
});
