import { describe, expect, it } from '@jest/globals';
import { planReseeds, ReseedSchedule } from './reseed-schedule.js';

const plan = { intervalMs: 30_000, fullMs: 300_000, windowMs: 120_000 };

/** A schedule whose first full walk ended well at 0 ms. */
function warm(phase = 0, of = plan): ReseedSchedule {
  const schedule = new ReseedSchedule(of, phase);
  schedule.begin(0);
  schedule.finish(true, 0);
  return schedule;
}

function walk(schedule: ReseedSchedule, atMs: number, ok = true): string {
  const { mode } = schedule.begin(atMs);
  schedule.finish(ok, atMs);
  return mode;
}

describe('planReseeds', () => {
  const given = { reseedMs: 30_000, reseedFullMs: 300_000, reseedWindowMs: 0 };

  it('derives a window of four intervals, at least two minutes, at most a week', () => {
    expect(planReseeds(given).plan.windowMs).toBe(120_000);
    expect(planReseeds({ ...given, reseedMs: 100_000 }).plan.windowMs).toBe(400_000);
    expect(planReseeds({ ...given, reseedMs: 7 * 86_400_000 }).plan.windowMs).toBe(7 * 86_400_000);
  });

  it('takes a given window that covers the time between two walks', () => {
    expect(planReseeds({ ...given, reseedWindowMs: 45_000 })).toMatchObject({
      plan: { windowMs: 45_000 },
      warnings: [],
    });
  });

  it('widens a shorter one and says so', () => {
    const { plan: corrected, warnings } = planReseeds({ ...given, reseedWindowMs: 44_999 });
    expect(corrected.windowMs).toBe(45_000);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('44999');
  });

  it('cuts one longer than a week and says so', () => {
    const { plan: corrected, warnings } = planReseeds({ ...given, reseedWindowMs: 8 * 86_400_000 });
    expect([corrected.windowMs, warnings.length]).toEqual([7 * 86_400_000, 1]);
  });
});

describe('ReseedSchedule', () => {
  it('cold: due for a pop, not for the background loop', () => {
    const schedule = new ReseedSchedule(plan, 0);
    expect([schedule.isDue(0), schedule.isFloorDue(1e9), schedule.mode(0)]).toEqual([true, false, 'full']);
    expect(schedule.fullWalkAgeMs(0)).toBeUndefined();
  });

  it('walks everything until a full walk succeeded', () => {
    const schedule = new ReseedSchedule(plan, 0);
    expect(walk(schedule, 0, false)).toBe('full');
    expect(walk(schedule, 1000, false)).toBe('full');
    expect(walk(schedule, 3000, true)).toBe('full');
    expect(walk(schedule, 40_000)).toBe('window');
  });

  it('is due for a pop after the interval, for the background loop after its share of the jitter too', () => {
    const schedule = warm(0.5);
    expect([schedule.isDue(29_999), schedule.isDue(30_000)]).toEqual([false, true]);
    expect([schedule.isFloorDue(37_499), schedule.isFloorDue(37_500)]).toEqual([false, true]);
  });

  it('spreads long intervals over a fifth of them', () => {
    const schedule = warm(0.5, { ...plan, intervalMs: 1_000_000 });
    expect([schedule.isFloorDue(1_099_999), schedule.isFloorDue(1_100_000)]).toEqual([false, true]);
  });

  it('asks for the window, and for no bound when it walks everything', () => {
    expect(new ReseedSchedule(plan, 0).begin(0)).toEqual({ mode: 'full', windowMs: null });
    expect(warm().begin(40_000)).toEqual({ mode: 'window', windowMs: 120_000 });
  });

  it('window walks never put off the full one', () => {
    const schedule = warm();
    const modes: string[] = [];
    for (let atMs = 30_000; atMs <= 330_000; atMs += 30_000) modes.push(walk(schedule, atMs));
    expect(modes).toEqual([...new Array(9).fill('window'), 'full', 'window']);
    expect(schedule.fullWalkAgeMs(330_000)).toBe(30_000);
  });

  it('jitters the full walk by a fifth of its interval', () => {
    expect(warm(0.5).mode(329_999)).toBe('window');
    expect(warm(0.5).mode(330_000)).toBe('full');
  });

  it('walks everything always when the full interval is 0', () => {
    expect(walk(warm(0, { ...plan, fullMs: 0 }), 30_000)).toBe('full');
  });

  it('runs one walk at a time', () => {
    const schedule = new ReseedSchedule(plan, 0);
    schedule.begin(0);
    expect([schedule.isDue(1e9), schedule.isFloorDue(1e9), schedule.isWalking]).toEqual([false, false, true]);
    schedule.finish(true, 10);
    expect(schedule.isWalking).toBe(false);
    expect(schedule.finish(false, 20)).toBeUndefined();
    expect(schedule.isDue(30_010)).toBe(true);
  });

  it('pauses after a failure, longer each time, never longer than the interval', () => {
    const schedule = new ReseedSchedule(plan, 0);
    const pauses: number[] = [];
    for (let failure = 0, nowMs = 0; failure < 7; failure++) {
      walk(schedule, nowMs, false);
      let pauseMs = 0;
      while (!schedule.isDue(nowMs + pauseMs)) pauseMs += 500;
      expect(schedule.isFloorDue(nowMs + pauseMs)).toBe(true);
      pauses.push(pauseMs);
      nowMs += pauseMs;
    }
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('warns at three failures in a row and at powers of two after that', () => {
    const schedule = new ReseedSchedule(plan, 0);
    const warned: (number | undefined)[] = [];
    for (let failure = 1; failure <= 16; failure++) {
      schedule.begin(0);
      warned.push(schedule.finish(false, 0));
    }
    expect(warned.filter((count) => count !== undefined)).toEqual([3, 4, 8, 16]);
    walk(schedule, 0, true);
    schedule.begin(0);
    expect(schedule.finish(false, 0)).toBeUndefined();
  });

  describe('a demanded full walk', () => {
    it('is due at once for everybody, before all others', () => {
      const schedule = warm(0.9);
      schedule.demandFull();
      expect([schedule.isDue(1), schedule.isFloorDue(1), schedule.mode(1)]).toEqual([true, true, 'full']);
      expect(schedule.overdueMs(1)).toBe(Infinity);
      expect(walk(schedule, 1)).toBe('full');
      expect([schedule.isDue(2), schedule.mode(2)]).toEqual([false, 'window']);
    });

    it('stays owed when it fails', () => {
      const schedule = warm();
      schedule.demandFull();
      walk(schedule, 1, false);
      expect([schedule.isDue(500), schedule.isDue(1001), schedule.mode(1001)]).toEqual([false, true, 'full']);
    });

    it('is not answered by a walk that had begun before', () => {
      const schedule = new ReseedSchedule(plan, 0);
      schedule.begin(0);
      schedule.demandFull();
      schedule.finish(true, 10);
      expect([schedule.isDue(11), schedule.mode(11)]).toEqual([true, 'full']);
    });
  });

  it('walks at once when marks may have been lost, in whatever mode is owed', () => {
    const { plan } = planReseeds({ reseedMs: 30_000, reseedFullMs: 300_000, reseedWindowMs: 0 });
    const schedule = new ReseedSchedule(plan, 0);
    schedule.begin(0);
    schedule.finish(true, 0);
    expect(schedule.isFloorDue(10)).toBe(false);
    schedule.demandWalk();
    expect([schedule.isFloorDue(10), schedule.mode(10)]).toEqual([true, 'window']);
  });
});
