import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { queueKey } from '../base/queue-key.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { Backlogs } from './backlogs.js';

const KEY = queueKey('t', 'q');

describe('how full a bounded queue is', () => {
  let clock: ManualClock;
  let backlogs: Backlogs;
  let counted: number | null;
  let counts: number;
  let beforeAnswer: () => void;

  beforeEach(() => {
    clock = new ManualClock(1000);
    counted = 0;
    counts = 0;
    beforeAnswer = () => undefined;
    const rawSql = {
      callOne: (_procedure: unknown, args: unknown) => {
        expect(args).toEqual({ tenant: 't', queue: 'q' });
        counts += 1;
        const answer = counted;
        beforeAnswer();
        return Promise.resolve(answer);
      },
    } as unknown as RawSqlService;
    backlogs = new Backlogs(rawSql, clock);
  });

  it('is counted at most once a second, and in between known from what was let in', async () => {
    counted = 10;
    await backlogs.refresh(KEY);
    backlogs.reserve(KEY, 3)[Symbol.dispose]();
    await backlogs.refresh(KEY);
    expect([backlogs.level(KEY), counts]).toEqual([13, 1]);

    clock.advance(1000);
    counted = 4;
    await backlogs.refresh(KEY);
    expect([backlogs.level(KEY), counts]).toEqual([4, 2]);
  });

  it('keeps what was on its way during the count, since nobody knows whether it was seen', async () => {
    await backlogs.refresh(KEY);
    const onItsWay = backlogs.reserve(KEY, 5);
    clock.advance(1000);
    counted = 2;
    await backlogs.refresh(KEY);
    expect(backlogs.level(KEY)).toBe(7);

    onItsWay[Symbol.dispose]();
    expect(backlogs.level(KEY)).toBe(7);
    clock.advance(1000);
    counted = 7;
    await backlogs.refresh(KEY);
    expect(backlogs.level(KEY)).toBe(7);
  });

  it('keeps what was let in while the count ran', async () => {
    counted = 2;
    beforeAnswer = () => void backlogs.reserve(KEY, 4);
    await backlogs.refresh(KEY);
    expect(backlogs.level(KEY)).toBe(6);
  });

  it('is one count for all who ask at once', async () => {
    await Promise.all(Array.from({ length: 50 }, () => backlogs.refresh(KEY)));
    expect(counts).toBeLessThanOrEqual(2);
  });

  it('is nothing for a queue that is not there', async () => {
    counted = null;
    await backlogs.refresh(KEY);
    expect(backlogs.level(KEY)).toBe(0);
  });

  it('is counted anew after it was forgotten', async () => {
    counted = 9;
    await backlogs.refresh(KEY);
    backlogs.forget(KEY);
    counted = 0;
    await backlogs.refresh(KEY);
    expect([backlogs.level(KEY), counts]).toEqual([0, 2]);
  });
});
