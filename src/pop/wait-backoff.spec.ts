import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { WaitBackoff } from './wait-backoff.js';

const defaults = { initialMs: 100, threshold: 3, multiplier: 2, maxMs: 1_000 };

describe('WaitBackoff', () => {
  it('waits 100, 100, 100, 800, 1000, 1000 ms with the default settings', () => {
    const backoff = new WaitBackoff(defaults);
    const series = Array.from({ length: 6 }, () => backoff.next(30_000, 0));
    expect(series).toEqual([100, 100, 100, 800, 1_000, 1_000]);
  });

  it('begins anew after a wake', () => {
    const backoff = new WaitBackoff(defaults);
    for (let i = 0; i < 5; i++) backoff.next(30_000, 0);
    backoff.reset();
    const series = Array.from({ length: 4 }, () => backoff.next(30_000, 0));
    expect(series).toEqual([100, 100, 100, 800]);
  });

  it('does not reach beyond the deadline', () => {
    const backoff = new WaitBackoff(defaults);
    expect(backoff.next(40, 0)).toBe(40);
    expect(backoff.next(0, 0)).toBe(0);
    expect(backoff.next(-5, 0)).toBe(0);
  });

  it('lets long waits of many end together, and none later than it would', () => {
    const ends = [0, 1.5, 7, 24, 24.9].map((nowMs) => {
      const backoff = new WaitBackoff({ ...defaults, threshold: 0, multiplier: 10 });
      const waitMs = backoff.next(30_000, nowMs);
      expect(waitMs).toBeLessThanOrEqual(1_000);
      expect(waitMs).toBeGreaterThan(1_000 - 25);
      return Math.floor(nowMs + waitMs);
    });
    expect(new Set(ends)).toEqual(new Set([1_000]));
    expect(new WaitBackoff({ ...defaults, threshold: 0, multiplier: 10 }).next(700, 7)).toBe(700);
  });

  it('grows from the first wait with a threshold of 0', () => {
    const backoff = new WaitBackoff({ ...defaults, threshold: 0 });
    expect([1, 2, 3].map(() => backoff.next(30_000, 0))).toEqual([200, 400, 600]);
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
            const intervalMs = backoff.next(1e9, 0);
            expect(intervalMs).toBeGreaterThanOrEqual(last);
            expect(intervalMs).toBeLessThanOrEqual(options.maxMs);
            last = intervalMs;
          }
        },
      ),
    );
  });
});
