import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../../base/clock/manual-clock.js';
import type { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import type { PopRequest } from '../pop.request.js';
import { SeedSlices } from './seed-slices.js';

const request = { key: 'k', group: 'g', queue: 'q', tenant: 't', timeoutMs: 1000 } as PopRequest;

describe('seeding a large queue', () => {
  let clock: ManualClock;
  let afters: (string | null)[];
  let answers: ((last: string | null) => void)[];
  let fail: (error: Error) => void;
  let slices: SeedSlices;

  beforeEach(() => {
    clock = new ManualClock();
    afters = [];
    answers = [];
    const rawSql = {
      callOne: (_: unknown, args: { after: string | null }) => {
        afters.push(args.after);
        return new Promise((resolve, reject) => {
          answers.push(resolve);
          fail = reject;
        });
      },
    };
    slices = new SeedSlices(rawSql as unknown as RawSqlService, clock);
  });

  const answer = async (last: string | null) => {
    answers.at(-1)!(last);
    await new Promise(setImmediate);
  };

  it('goes on after the last name of a slice, until none is left', async () => {
    const ready = slices.ready(request);
    await answer('a');
    await answer('b');
    await answer(null);
    expect(await ready).toBe(true);
    expect(afters).toEqual([null, 'a', 'b']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is one walk for all pops of the group, and another for another group', async () => {
    const both = [slices.ready(request), slices.ready(request)];
    expect(afters).toHaveLength(1);
    await answer(null);
    expect(await Promise.all(both)).toEqual([true, true]);
    void slices.ready({ ...request, group: 'h' });
    expect(afters).toHaveLength(2);
  });

  it('outlives a pop whose time is up: the next one joins it', async () => {
    const first = slices.ready(request);
    clock.advance(1000);
    expect(await first).toBe(false);
    const second = slices.ready(request);
    await answer(null);
    expect(await second).toBe(true);
    expect(afters).toEqual([null]);
  });

  it('that fails fails its pops and is begun anew by the next', async () => {
    const first = slices.ready(request);
    fail(new Error('the database is away'));
    await expect(first).rejects.toThrow('away');
    const second = slices.ready(request);
    await answer(null);
    expect(await second).toBe(true);
  });
});
