import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { WaitBackoff } from './wait-backoff.js';

const defaults = { initialMs: 100, threshold: 3, multiplier: 2, maxMs: 1_000 };

describe('WaitBackoff', () => {
  it('waits 100, 100, 100, 800, 1000, 1000 ms with the default settings', () => {
    const backoff = new WaitBackoff(defaults);
    const series = Array.from({ length: 6 }, () => backoff.next(30_000));
    expect(series).toEqual([100, 100, 100, 800, 1_000, 1_000]);
  });

  it('begins anew after a wake', () => {
    const backoff = new WaitBackoff(defaults);
    for (let i = 0; i < 5; i++) backoff.next(30_000);
    backoff.reset();
    const series = Array.from({ length: 4 }, () => backoff.next(30_000));
    expect(series).toEqual([100, 100, 100, 800]);
  });

  it('does not reach beyond the deadline', () => {
    const backoff = new WaitBackoff(defaults);
    expect(backoff.next(40)).toBe(40);
    expect(backoff.next(0)).toBe(0);
    expect(backoff.next(-5)).toBe(0);
  });

  it('grows from the first wait with a threshold of 0', () => {
    const backoff = new WaitBackoff({ ...defaults, threshold: 0 });
    expect([1, 2, 3].map(() => backoff.next(30_000))).toEqual([200, 400, 600]);
  });

  it('is never above the maximum or the remaining time once it grows, and never falls without a wake', () => {
    fc.assert(
      fc.property(
        fc.record({
          initialMs: fc.integer({ min: 1, max: 1_000 }),
          threshold: fc.nat(10),
          multiplier: fc.double({ min: 1, max: 10, noNaN: true }),
          maxMs: fc.integer({ min: 1_000, max: 10_000 }),
        }),
        (options) => {
          const backoff = new WaitBackoff(options);
          let last = 0;
          for (let i = 0; i < 30; i++) {
            const intervalMs = backoff.next(1e9);
            expect(intervalMs).toBeGreaterThanOrEqual(last);
            expect(intervalMs).toBeLessThanOrEqual(options.maxMs);
            last = intervalMs;
          }
        },
      ),
    );
  });
});
