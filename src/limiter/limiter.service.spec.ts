import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { ManualClock } from '../base/clock/manual-clock.js';
import { CLOCK } from '../base/clock/clock.js';
import { AbortedError } from '../base/errors/aborted-error.js';
import { defaultLimiterOptions, LIMITER_OPTIONS } from './limiter.options.js';
import { LimiterService } from './limiter.service.js';
import type { Permit } from './permit.js';

function limiterOf(clock = new ManualClock()): LimiterService {
  return new LimiterService(defaultLimiterOptions, clock);
}

describe('LimiterService', () => {
  it('is built from its two tokens', async () => {
    const module = await Test.createTestingModule({
      providers: [
        LimiterService,
        { provide: LIMITER_OPTIONS, useValue: defaultLimiterOptions },
        { provide: CLOCK, useValue: new ManualClock() },
      ],
    }).compile();
    const { push, pop, ack, maintenance } = module.get(LimiterService).stats();
    expect([push, pop, ack, maintenance].map((lane) => lane.limit)).toEqual([8, 12, 4, 2]);
  });

  it('gives the permit back when the run returns and when it throws', async () => {
    const limiter = limiterOf();
    const inside = await limiter.withPermit('pop', null, async () => limiter.stats().pop.inFlight);
    expect(inside).toBe(1);
    await expect(limiter.withPermit('pop', null, () => Promise.reject(new Error('boom')))).rejects.toThrow(
      'boom',
    );
    await expect(
      limiter.withPermit('pop', null, () => {
        throw new Error('at once');
      }),
    ).rejects.toThrow('at once');
    expect(limiter.stats().pop.inFlight).toBe(0);
  });

  it('lets a begun run finish when the client leaves', async () => {
    const limiter = limiterOf();
    const gone = new AbortController();
    const result = await limiter.withPermit('pop', gone.signal, async () => {
      gone.abort();
      await Promise.resolve();
      return 'done';
    });
    expect(result).toBe('done');
    expect(limiter.stats().pop.inFlight).toBe(0);
  });

  it('does not run for a client that has left', async () => {
    const limiter = limiterOf();
    let ran = false;
    const run = async () => {
      ran = true;
    };
    await expect(limiter.withPermit('pop', AbortSignal.abort(), run)).rejects.toBeInstanceOf(AbortedError);
    expect(ran).toBe(false);
  });

  it('passes samples and timeouts of the permit to its lane alone', async () => {
    const limiter = limiterOf();
    await limiter.withPermit('pop', null, async (permit) => permit.sample(7));
    await limiter.withPermit('push', null, async (permit) => permit.timedOut());
    const { pop, push } = limiter.stats();
    expect(pop).toMatchObject({ rttMs: 7, baseRttMs: 7, timeouts: 0 });
    expect(push).toMatchObject({ rttMs: 0, timeouts: 1 });
  });

  it('serves acks while the pop lane is full of one queue’s consumers (L4)', async () => {
    const limiter = limiterOf();
    const held: Permit[] = [];
    for (let permit = limiter.tryAcquire('pop'); permit; permit = limiter.tryAcquire('pop'))
      held.push(permit);
    expect(held).toHaveLength(12);
    const queued = Array.from({ length: 500 }, () =>
      limiter.withPermit('pop', null, async () => undefined, { key: 'crowded' }),
    );
    expect(await limiter.withPermit('ack', null, async () => 'acked')).toBe('acked');
    for (const permit of held) permit.release();
    await Promise.all(queued);
    expect(limiter.stats().pop).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it('lets one queue among five hundred waiters of another through within one permit time', async () => {
    const limiter = limiterOf();
    const finished: string[] = [];
    const gate: (() => void)[] = [];
    const claim = (key: string) =>
      limiter.withPermit(
        'pop',
        null,
        async () => {
          await new Promise<void>((resolve) => gate.push(resolve));
          finished.push(key);
        },
        { key },
      );
    const crowd = Array.from({ length: 500 }, () => claim('crowded'));
    const quiet = claim('quiet');
    const nextRound = async () => {
      await new Promise<void>((resolve) => setImmediate(resolve));
      for (const finish of gate.splice(0)) finish();
    };
    await nextRound();
    await nextRound();
    await quiet;
    expect(finished.length).toBeLessThanOrEqual(24); // two rounds of twelve
    expect(finished).toContain('quiet');

    while (limiter.stats().pop.inFlight > 0) await nextRound();
    await Promise.all(crowd);
  });
});
