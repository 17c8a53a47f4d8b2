import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { PendingWakes } from './pending-wakes.js';

let clock: ManualClock;
let openings: string[];
let wakes: PendingWakes;
beforeEach(() => {
  clock = new ManualClock();
  openings = [];
  wakes = new PendingWakes(
    clock,
    {
      open: (key, partition) => openings.push(`${key}/${partition ?? '*'}`),
      openPartition: (key, partition) => openings.push(`${key}/=${partition}`),
    },
    5,
  );
});

const endOfTurn = () => Promise.resolve();

describe('PendingWakes', () => {
  it('opens for a lone mark at the end of the turn, not after the interval', async () => {
    wakes.openSoon('q', 'p');
    expect(openings).toEqual([]);
    await endOfTurn();
    expect(openings).toEqual(['q/p']);
  });

  it('opens once for ten thousand marks of a turn', async () => {
    for (let n = 0; n < 10_000; n++) wakes.openSoon('q', 'p');
    await endOfTurn();
    clock.advance(1000);
    expect(openings).toEqual(['q/p']);
  });

  it('opens once for ten thousand marks of a turn that lasts longer than the interval', () => {
    for (let n = 0; n < 10_000; n++) wakes.openSoon('q', 'p');
    clock.advance(5);
    expect(openings).toEqual(['q/p']);
  });

  it('opens for later marks at most once an interval, and never forgets the last', async () => {
    for (let ms = 0; ms < 100; ms++) {
      wakes.openSoon('q', `at ${ms}`);
      await endOfTurn();
      clock.advance(1);
    }
    clock.advance(5);
    const turns = openings.filter((opening) => opening.startsWith('q/'));
    expect(turns).toContain('q/at 99');
    expect(new Set(turns).size).toBe(100);
  });

  it('lets one opening an interval through under a steady stream', async () => {
    for (let ms = 0; ms < 100; ms++) {
      wakes.openSoon('q', 'p');
      await endOfTurn();
      clock.advance(1);
    }
    expect(openings.length).toBeLessThanOrEqual(21);
    expect(openings.length).toBeGreaterThanOrEqual(19);
  });

  it('does not let one queue hold back another', async () => {
    wakes.openSoon('a', 'p');
    await endOfTurn();
    clock.advance(2);
    wakes.openSoon('b', 'p');
    await endOfTurn();
    expect(openings).toEqual(['a/p', 'b/p']);
  });

  it('names each partition once, and everybody when there are too many', async () => {
    for (let n = 0; n < 4096; n++) wakes.openSoon('few', `p${n}`);
    for (let n = 0; n < 4097; n++) wakes.openSoon('many', `p${n}`);
    wakes.openSoon('any', 'p');
    wakes.openSoon('any');
    await endOfTurn();
    expect(openings.filter((opening) => opening.startsWith('few/'))).toHaveLength(4096);
    expect(openings.filter((opening) => !opening.startsWith('few/'))).toEqual(['many/*', 'any/*']);
  });

  it('opens now when told so, without a timer', () => {
    wakes.openNow('q', 'p');
    expect(openings).toEqual(['q/p']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('keeps no timer for quiet queues', async () => {
    expect(clock.pendingTimers).toBe(0);
    wakes.openSoon('q', 'p');
    expect(clock.pendingTimers).toBe(1);
    await endOfTurn();
    clock.advance(10);
    expect(clock.pendingTimers).toBe(0);
    expect(openings).toEqual(['q/p']);
  });

  it('opens what is pending when stopped, and at once from then on', () => {
    wakes.openSoon('q', 'p');
    wakes.stop();
    wakes.openSoon('q', 'r');
    expect(openings).toEqual(['q/p', 'q/r']);
    expect(clock.pendingTimers).toBe(0);
  });
});
