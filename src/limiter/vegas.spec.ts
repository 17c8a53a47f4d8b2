import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Vegas } from './vegas.js';

const alpha = 3;
const beta = 6;

/** Samples every `everyMs` with the lane full; returns the time after the last one. */
function run(vegas: Vegas, rttMs: number, count: number, fromMs: number, everyMs = 100): number {
  for (let i = 0; i < count; i++) vegas.sample(rttMs, Math.floor(vegas.limit), fromMs + i * everyMs);
  return fromMs + count * everyMs;
}

describe('Vegas', () => {
  it('grows to the maximum under a constant round trip', () => {
    const vegas = new Vegas({ init: 12, min: 8, max: 16 }, alpha, beta);
    run(vegas, 10, 20, 0);
    expect(vegas.limit).toBe(16);
  });

  it('shrinks when the round trip triples while the lane is full, and settles where the queue is small', () => {
    const vegas = new Vegas({ init: 16, min: 2, max: 16 }, alpha, beta);
    const nowMs = run(vegas, 10, 20, 0);
    run(vegas, 30, 200, nowMs);
    const queued = vegas.limit * (1 - 10 / vegas.rttMs);
    expect(vegas.limit).toBeLessThan(10);
    expect(queued).toBeLessThan(beta);
    expect(queued).toBeGreaterThan(alpha);
  });

  it('never goes below the minimum however slow things get', () => {
    const vegas = new Vegas({ init: 12, min: 8, max: 16 }, alpha, beta);
    const nowMs = run(vegas, 1, 1, 0);
    run(vegas, 5_000, 100, nowMs);
    expect(vegas.limit).toBe(8);
  });

  it('does not move while the lane is not used to its limit', () => {
    const vegas = new Vegas({ init: 12, min: 8, max: 16 }, alpha, beta);
    for (let i = 0; i < 50; i++) vegas.sample(10, 10, i * 100);
    expect(vegas.limit).toBe(12);
    vegas.sample(10, 11, 6_000); // one below the limit counts as used
    expect(vegas.limit).toBeGreaterThan(12);
  });

  it('lets the base rise 61 seconds after the last cheap sample, not earlier', () => {
    const vegas = new Vegas({ init: 8, min: 8, max: 8 }, alpha, beta);
    vegas.sample(1, 1, 0);
    for (let second = 1; second <= 59; second++) vegas.sample(10, 1, second * 1_000);
    expect(vegas.baseRttMs(59_999)).toBe(1);
    vegas.sample(10, 1, 61_000);
    expect(vegas.baseRttMs(61_000)).toBe(10);
  });

  it('lowers the base at once', () => {
    const vegas = new Vegas({ init: 8, min: 8, max: 8 }, alpha, beta);
    vegas.sample(10, 1, 0);
    vegas.sample(4, 1, 1);
    expect(vegas.baseRttMs(1)).toBe(4);
  });

  it('moves in logarithmic steps, at least 1', () => {
    const big = new Vegas({ init: 20, min: 1, max: 100 }, alpha, beta);
    big.sample(10, 20, 0);
    expect(big.limit).toBeCloseTo(20 + Math.log(20), 10);
    const small = new Vegas({ init: 2, min: 1, max: 100 }, alpha, beta);
    small.sample(10, 2, 0);
    expect(small.limit).toBe(3);
  });

  it('holds between alpha and beta', () => {
    const vegas = new Vegas({ init: 10, min: 1, max: 100 }, alpha, beta);
    vegas.sample(10, 1, 0); // below the limit: only remembered
    for (let i = 1; i <= 400; i++) vegas.sample(18, 1, i); // average 18: 10 * (1 - 10/18) = 4.4
    vegas.sample(18, 10, 1_000);
    expect(vegas.limit).toBe(10);
  });

  it('adjusts once in 100 ms', () => {
    const vegas = new Vegas({ init: 10, min: 1, max: 100 }, alpha, beta);
    vegas.sample(10, 100, 0);
    const once = vegas.limit;
    vegas.sample(10, 100, 99);
    expect(vegas.limit).toBe(once);
    vegas.sample(10, 100, 100);
    expect(vegas.limit).toBeGreaterThan(once);
  });

  it('cuts to 0.7 on a timeout, once a second, not below the minimum', () => {
    const vegas = new Vegas({ init: 16, min: 8, max: 16 }, alpha, beta);
    vegas.timedOut(0);
    expect(vegas.limit).toBeCloseTo(11.2, 10);
    vegas.timedOut(999);
    expect(vegas.limit).toBeCloseTo(11.2, 10);
    vegas.timedOut(1_000);
    expect(vegas.limit).toBe(8);
  });

  it('begins a new average after a silent minute', () => {
    const vegas = new Vegas({ init: 8, min: 8, max: 8 }, alpha, beta);
    run(vegas, 100, 100, 0);
    vegas.sample(2, 1, 10_000 + 70_000);
    expect(vegas.rttMs).toBe(2);
  });

  it('stays where it is when min equals max', () => {
    const vegas = new Vegas({ init: 2, min: 2, max: 2 }, alpha, beta);
    run(vegas, 10, 20, 0);
    vegas.timedOut(5_000);
    expect(vegas.limit).toBe(2);
  });

  it('keeps its limit finite and within bounds for any samples', () => {
    const event = fc.record({
      rttMs: fc.double(),
      inFlight: fc.nat(200),
      afterMs: fc.double({ min: 0, max: 100_000, noNaN: true }),
      timeout: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.nat(50),
        fc.nat(200),
        fc.array(event, { maxLength: 60 }),
        (min, span, init, events) => {
          const vegas = new Vegas({ init, min, max: min + span }, alpha, beta);
          let nowMs = 0;
          for (const { rttMs, inFlight, afterMs, timeout } of events) {
            nowMs += afterMs;
            if (timeout) vegas.timedOut(nowMs);
            else vegas.sample(rttMs, inFlight, nowMs);
            expect(vegas.limit).toBeGreaterThanOrEqual(min);
            expect(vegas.limit).toBeLessThanOrEqual(min + span);
            expect(Number.isFinite(vegas.rttMs)).toBe(true);
          }
        },
      ),
    );
  });
});
