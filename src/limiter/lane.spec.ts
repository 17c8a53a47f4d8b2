import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { AbortedError } from '../base/errors/aborted-error.js';
import { Lane, WaitExpiredError, type LaneOptions } from './lane.js';
import type { Permit } from './permit.js';

const overloaded = expect.objectContaining({ code: 'overloaded', status: 503, retryAfterSeconds: 1 });

/** Lets everything that is already decided run. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('Lane', () => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = new ManualClock();
  });

  function laneOf(permits: number, options: Partial<LaneOptions> = {}): Lane {
    const limits = { init: permits, min: permits, max: permits };
    return new Lane({ limits, alpha: 3, beta: 6, maxWaiters: 100, maxWaitMs: 1_000, ...options }, clock);
  }

  async function take(lane: Lane, count: number, key?: string): Promise<Permit[]> {
    return Promise.all(Array.from({ length: count }, () => lane.acquire(null, { key })));
  }

  it('grants up to the limit at once, then first come first served', async () => {
    const lane = laneOf(2);
    const [first, second] = await take(lane, 2);
    const granted: string[] = [];
    const waiting = ['a', 'b', 'c'].map((name) =>
      lane.acquire(null).then((permit) => {
        granted.push(name);
        return permit;
      }),
    );
    await settled();
    expect(granted).toEqual([]);
    expect(lane.stats()).toMatchObject({ inFlight: 2, waiting: 3 });

    first.release();
    second.release();
    (await waiting[0]).release();
    await Promise.all(waiting.slice(1));
    expect(granted).toEqual(['a', 'b', 'c']);
    expect(lane.stats()).toMatchObject({ inFlight: 2, waiting: 0 });
  });

  it('takes a permit back once', async () => {
    const lane = laneOf(2);
    const [permit] = await take(lane, 2);
    permit.release();
    permit.release();
    expect(lane.stats().inFlight).toBe(1);
  });

  it('does not let tryAcquire overtake or exceed', async () => {
    const lane = laneOf(1);
    const permit = lane.tryAcquire();
    expect(permit).not.toBeNull();
    expect(lane.tryAcquire()).toBeNull();
    permit?.release();
    expect(lane.stats().inFlight).toBe(0);
  });

  it('lets a waiter whose client left go, without a timer, listener or grant left behind', async () => {
    const lane = laneOf(1);
    const [held] = await take(lane, 1);
    const gone = new AbortController();
    const leaving = lane.acquire(gone.signal);
    const staying = lane.acquire(null);
    gone.abort();
    await expect(leaving).rejects.toBeInstanceOf(AbortedError);
    expect(lane.stats()).toMatchObject({ waiting: 1, aborts: 1 });

    held.release();
    const permit = await staying;
    expect(lane.stats()).toMatchObject({ inFlight: 1, waiting: 0 });
    expect(clock.pendingTimers).toBe(0);
    permit.release();
    expect(lane.stats().inFlight).toBe(0);
  });

  it('refuses at once when the client had left before', async () => {
    const lane = laneOf(1);
    await expect(lane.acquire(AbortSignal.abort())).rejects.toBeInstanceOf(AbortedError);
    expect(lane.stats().inFlight).toBe(0);
  });

  it('hands a grant on when the client leaves in the instant of it', async () => {
    const lane = laneOf(1);
    const [held] = await take(lane, 1);
    const gone = new AbortController();
    const leaving = lane.acquire(gone.signal);
    const next = lane.acquire(null);
    held.release(); // grants to `leaving`, which has not run yet
    gone.abort();
    await expect(leaving).rejects.toBeInstanceOf(AbortedError);
    (await next).release();
    expect(lane.stats()).toMatchObject({ inFlight: 0, waiting: 0 });
  });

  it('bounds the number of waiters', async () => {
    const lane = laneOf(1, { maxWaiters: 2 });
    const [held] = await take(lane, 1);
    const waiting = [lane.acquire(null), lane.acquire(null)];
    await expect(lane.acquire(null)).rejects.toEqual(overloaded);
    held.release();
    (await waiting[0]).release();
    (await waiting[1]).release();
    expect(lane.stats()).toMatchObject({ inFlight: 0, waiting: 0, overloads: 1 });
  });

  it('bounds the wait, and tells the caller’s own bound from the lane’s', async () => {
    const lane = laneOf(1);
    const [held] = await take(lane, 1);
    const impatient = lane.acquire(null, { waitMs: 200 });
    const patient = lane.acquire(null, { waitMs: 30_000 });
    clock.advance(200);
    await expect(impatient).rejects.toBeInstanceOf(WaitExpiredError);
    clock.advance(799);
    expect(lane.stats().waiting).toBe(1);
    clock.advance(1);
    await expect(patient).rejects.toEqual(overloaded);
    await expect(lane.acquire(null, { waitMs: 0 })).rejects.toBeInstanceOf(WaitExpiredError);
    held.release();
    expect(lane.stats()).toMatchObject({ inFlight: 0, waiting: 0, overloads: 1 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives a free permit to a caller without patience', async () => {
    const lane = laneOf(1);
    (await lane.acquire(null, { waitMs: 0 })).release();
    expect(lane.stats().waits.count).toBe(1);
  });

  it('holds one key to half of the permits while others wait', async () => {
    const lane = laneOf(4);
    const crowd = await take(lane, 4, 'crowded'); // nobody else wanted them
    const granted: string[] = [];
    const ask = (key: string) => lane.acquire(null, { key }).then(() => granted.push(key));
    const all = [ask('crowded'), ask('crowded'), ask('quiet'), ask('other')];
    for (const permit of crowd) permit.release();
    await Promise.all(all);
    // 3, 2 left to the crowd: over or at its half, so the others go first although they came later.
    expect(granted).toEqual(['quiet', 'other', 'crowded', 'crowded']);
  });

  it('gives all permits to one key when nobody else waits', async () => {
    const lane = laneOf(4);
    const first = await take(lane, 4, 'crowded');
    const more = take(lane, 4, 'crowded');
    for (const permit of first) permit.release();
    await more;
    expect(lane.stats()).toMatchObject({ inFlight: 4, waiting: 0 });
  });

  it('grants to waiters as soon as the limit grows, and revokes nothing when it falls', async () => {
    const lane = laneOf(0, { limits: { init: 4, min: 2, max: 5 } });
    const held = await take(lane, 4);
    const waiting = lane.acquire(null);
    held[0].sample(10);
    const fifth = await waiting;
    expect(lane.stats()).toMatchObject({ limit: 5, inFlight: 5 });

    held[0].timedOut();
    expect(lane.stats()).toMatchObject({ limit: 3.5, inFlight: 5, timeouts: 1 });
    fifth.release();
    held[0].release();
    expect(lane.tryAcquire()).toBeNull();
    held[1].release();
    expect(lane.tryAcquire()).not.toBeNull();
  });

  it('measures nothing with a permit that was given back', async () => {
    const lane = laneOf(1);
    const [permit] = await take(lane, 1);
    permit.release();
    permit.sample(10);
    permit.timedOut();
    expect(lane.stats()).toMatchObject({ rttMs: 0, baseRttMs: 0, timeouts: 0 });
  });

  it('counts the waits', async () => {
    const lane = laneOf(1);
    const [held] = await take(lane, 1);
    const waiting = lane.acquire(null);
    clock.advance(40);
    held.release();
    await waiting;
    expect(lane.stats().waits).toMatchObject({ count: 2, sumMs: 40 });
  });
});
