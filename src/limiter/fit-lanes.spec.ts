import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fitLanesToPool } from './fit-lanes.js';
import { defaultLimiterOptions, laneNames, type LaneLimits } from './limiter.options.js';

function sumOfMaxima(lanes: Record<string, LaneLimits>): number {
  return laneNames.reduce((sum, name) => sum + lanes[name].max, 0);
}

describe('fitLanesToPool', () => {
  it('leaves the default lanes alone in the default pool', () => {
    const { lanes, warnings } = fitLanesToPool(defaultLimiterOptions, 48, 12);
    expect(lanes).toEqual(defaultLimiterOptions.lanes);
    expect(warnings).toEqual([]);
  });

  it('scales maxima down in proportion and says so', () => {
    const { lanes, warnings } = fitLanesToPool(defaultLimiterOptions, 30, 12);
    expect(sumOfMaxima(lanes)).toBe(18);
    expect(lanes.pop.max).toBeGreaterThan(lanes.push.max);
    expect(lanes.push.max).toBeGreaterThan(lanes.ack.max);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`pop 16 → ${lanes.pop.max}`);
  });

  it('gives every lane one permit in a pool that is too small, and warns twice', () => {
    const { lanes, warnings } = fitLanesToPool(defaultLimiterOptions, 6, 12);
    for (const name of laneNames) expect(lanes[name]).toEqual({ init: 1, min: 1, max: 1 });
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain('DB_POOL_SIZE to 16');
  });

  it('fits any lanes into any pool with one permit each, growing none', () => {
    const limits = fc
      .tuple(fc.integer({ min: 1, max: 60 }), fc.nat(60), fc.nat(60))
      .map(([min, a, b]) => ({ min, init: min + Math.min(a, b), max: min + Math.max(a, b) }));
    fc.assert(
      fc.property(
        fc.record({ push: limits, pop: limits, ack: limits, maintenance: limits }),
        fc.nat(300),
        fc.nat(40),
        (wanted, poolSize, reserve) => {
          const { lanes } = fitLanesToPool({ lanes: wanted }, poolSize, reserve);
          const available = Math.max(laneNames.length, poolSize - reserve);
          expect(sumOfMaxima(lanes)).toBe(Math.min(available, sumOfMaxima(wanted)));
          for (const name of laneNames) {
            const { init, min, max } = lanes[name];
            expect(max).toBeLessThanOrEqual(wanted[name].max);
            expect(1 <= min && min <= init && init <= max).toBe(true);
          }
        },
      ),
    );
  });
});
