import { describe, expect, it, jest } from '@jest/globals';
import { newHotlist, type TestHotlist } from '../../test/support/hotlist.js';
import type { HotlistOptions } from './hotlist.options.js';

const key = 't\u001fq';
const endOfTurn = () => Promise.resolve();

/** A running ticker over one ring, without sweeps unless asked for. */
function running(options: Partial<HotlistOptions> = {}): TestHotlist {
  const test = newHotlist({ idleSweepMs: 0, unservedTrimMs: 0, ...options });
  test.hotlist.registerRing(key, 'g');
  test.ticker.onApplicationBootstrap();
  return test;
}

function park({ hotlist }: TestHotlist, partition: string, leaseMs = 60_000): void {
  hotlist.offer(key, partition, 1);
  const names = hotlist.checkOut(key, 'g', { k: 1, want: 1 });
  names.checkIn([{ partition, state: 'took' }], { autoAck: false, leaseMs });
}

async function settle({ openings, clock }: TestHotlist): Promise<void> {
  await endOfTurn();
  clock.advance(10);
  openings.length = 0;
}

describe('RevisitTicker', () => {
  it('makes due entries ready on time and wakes their queue', async () => {
    const test = running();
    park(test, 'a');
    await settle(test);
    test.clock.advance(989);
    expect(test.hotlist.stats().entries).toMatchObject({ wheel: 1, ready: 0 });
    test.clock.advance(1);
    expect(test.hotlist.stats().entries).toMatchObject({ wheel: 0, ready: 1 });
    await endOfTurn();
    expect(test.openings).toEqual([{ key, partition: 'a' }]);
  });

  it('stands earlier when an earlier time comes in', () => {
    const test = running();
    park(test, 'late');
    park(test, 'soon', 100);
    test.clock.advance(400);
    expect(test.hotlist.stats().entries).toMatchObject({ wheel: 1, ready: 1 });
  });

  it('keeps no timer of its own while nothing rests', () => {
    const test = running();
    const sweepsOnly = test.clock.pendingTimers;
    park(test, 'a');
    test.clock.advance(3);
    test.clock.advance(2000);
    expect(test.hotlist.stats().entries.ready).toBe(1);
    expect(test.clock.pendingTimers).toBe(sweepsOnly);
  });

  it('ticks at most every ten milliseconds', async () => {
    const test = running({ wakeCoalesceMs: 1 });
    for (let n = 0; n < 50; n++) {
      park(test, `p${n}`, 700 + n);
    }
    await settle(test);
    const sizes = new Set<number>();
    for (let ms = 0; ms < 1100; ms++) {
      test.clock.advance(1);
      sizes.add(test.hotlist.stats().entries.ready);
    }
    expect(Math.max(...sizes)).toBe(50);
    expect(sizes.size).toBeLessThanOrEqual(7);
  });

  it('promotes no more than its share in one turn, the rest in the next', async () => {
    const test = running();
    test.hotlist.setConfig(key, { delayedMs: 0, windowMs: 1000, minPopWaitMs: 0 });
    for (let n = 0; n < 12_000; n++) test.hotlist.offer(key, `p${n}`, 1);
    const ready = () => test.hotlist.stats().entries.ready;
    const steps: number[] = [];
    test.clock.advance(1000);
    for (let tick = 0; tick < 3; tick++) {
      steps.push(ready());
      test.clock.advance(10);
    }
    expect(steps).toEqual([5000, 10_000, 12_000]);
    await endOfTurn();
    // More names than are kept open the gate for everybody; the 2,000 of the last turn are named.
    expect(test.openings.slice(0, 2)).toEqual(new Array(2).fill({ key, partition: '*' }));
    expect(test.openings).toHaveLength(2 + 2000);
  });

  it('waits for times no single timer can hold', () => {
    const test = running();
    const after = jest.spyOn(test.clock, 'after');
    test.hotlist.setConfig(key, { delayedMs: 40 * 86_400_000, windowMs: 0, minPopWaitMs: 0 });
    test.hotlist.offer(key, 'a', 1);
    test.clock.advance(40 * 86_400_000 + 299);
    expect(test.hotlist.stats().entries.ready).toBe(0);
    test.clock.advance(1);
    expect(test.hotlist.stats().entries.ready).toBe(1);
    expect(after.mock.calls.every(([delayMs]) => delayMs < 2 ** 31)).toBe(true);
  });

  it('takes back names of pops that were lost', () => {
    const test = running();
    test.hotlist.offer(key, 'a', 1);
    test.hotlist.checkOut(key, 'g', { k: 1, want: 1 });
    test.clock.advance(40_000);
    expect(test.hotlist.stats()).toMatchObject({ ticketsExpired: 1, entries: { inflight: 0, ready: 1 } });
  });

  it('sweeps idle queues and trims unserved ones, each on its period', () => {
    const idle = running({ idleSweepMs: 300_000 });
    idle.clock.advance(599_999);
    expect(idle.hotlist.hasRing(key, 'g')).toBe(true);
    idle.clock.advance(1);
    expect(idle.hotlist.hasRing(key, 'g')).toBe(false);

    const unserved = running({ unservedTrimMs: 30_000 });
    unserved.hotlist.offer(key, 'a', 1);
    unserved.clock.advance(30_000);
    expect(unserved.hotlist.stats()).toMatchObject({ queues: 0, evictions: { unserved: 1, idle: 0 } });
  });

  it('never sweeps nor trims when these are off', () => {
    const test = running();
    test.hotlist.offer(key, 'a', 1);
    test.clock.advance(3_600_000);
    expect(test.hotlist.hasRing(key, 'g')).toBe(true);
  });

  it('leaves no timer after stopping, however often it was started and stopped', () => {
    const test = running({ idleSweepMs: 60_000, unservedTrimMs: 60_000 });
    test.ticker.onApplicationBootstrap();
    park(test, 'a');
    test.ticker.onModuleDestroy();
    test.ticker.onModuleDestroy();
    test.hotlist.onModuleDestroy();
    expect(test.clock.pendingTimers).toBe(0);
    park(test, 'b');
    expect(test.clock.pendingTimers).toBe(0);
    test.ticker.onApplicationBootstrap();
    test.clock.advance(1000);
    expect(test.hotlist.stats().entries.ready).toBe(2);
  });

  it('stops before it was started without harm', () => {
    const { ticker, clock } = newHotlist();
    ticker.onModuleDestroy();
    expect(clock.pendingTimers).toBe(0);
  });
});
