import { Logger } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { newHotlist } from '../../test/support/hotlist.js';

const key = 't\u001fq';
const wide = { k: 1000, want: 1e9 };
const row = (name: string) => ({ id: `id-${name}`, name });

function newRinged(...args: Parameters<typeof newHotlist>) {
  const test = newHotlist(...args);
  test.hotlist.registerRing(key, 'g');
  return test;
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a reseed walk', () => {
  it('fills a cold ring, teaches it the ids and wakes the queue after each page', async () => {
    const { hotlist, openings, clock } = newRinged();
    expect(hotlist.needsReseed(key, 'g')).toBe(true);
    const walk = hotlist.beginReseed(key, 'g')!;
    expect([walk.mode, walk.windowMs]).toEqual(['full', null]);
    expect(await walk.apply([row('a'), row('b')])).toBe(true);
    expect(openings).toEqual([{ key, partition: '*' }]);
    clock.advance(10);
    expect(await walk.apply([row('b')])).toBe(true);
    walk.finish(true);
    expect(openings).toHaveLength(1);
    const names = hotlist.checkOut(key, 'g', wide);
    expect(names.list).toEqual(['a', 'b']);
    names.checkIn([{ partition: 'a', state: 'took' }], { autoAck: false, leaseMs: 1000 });
    hotlist.promote(key, 'g', { id: 'id-a' }, false);
    expect(hotlist.checkOut(key, 'g', wide).list).toEqual(['b', 'a']);
  });

  it('is one at a time for a ring', () => {
    const { hotlist, clock } = newRinged();
    const walk = hotlist.beginReseed(key, 'g')!;
    expect([hotlist.beginReseed(key, 'g'), hotlist.needsReseed(key, 'g')]).toEqual([null, false]);
    walk.finish(true);
    expect(hotlist.beginReseed(key, 'g')).toBeNull();
    clock.advance(30_000);
    expect(hotlist.beginReseed(key, 'g')).toMatchObject({ mode: 'window', windowMs: 120_000 });
  });

  it('left unfinished counts as failed and frees the ring', () => {
    const { hotlist, clock } = newRinged();
    {
      using walk = hotlist.beginReseed(key, 'g');
      expect(walk).not.toBeNull();
    }
    expect(hotlist.stats().reseeds.full).toEqual({ ok: 0, failed: 1 });
    expect(hotlist.needsReseed(key, 'g')).toBe(false);
    clock.advance(1000);
    expect(hotlist.beginReseed(key, 'g')!.mode).toBe('full');
  });

  it('finishes once', () => {
    const { hotlist } = newRinged();
    const walk = hotlist.beginReseed(key, 'g')!;
    walk.finish(true);
    walk.finish(false);
    walk[Symbol.dispose]();
    expect(hotlist.stats().reseeds.full).toEqual({ ok: 1, failed: 0 });
  });

  it('of a ring that was replaced fills nothing; the new ring still owes its full walk', async () => {
    const { hotlist } = newRinged();
    const walk = hotlist.beginReseed(key, 'g')!;
    hotlist.forgetGroup(key, 'g');
    hotlist.registerRing(key, 'g');
    expect(await walk.apply([row('a')])).toBe(false);
    walk.finish(true);
    expect(hotlist.hasReady(key, 'g')).toBe(false);
    expect([hotlist.needsReseed(key, 'g'), hotlist.beginReseed(key, 'g')!.mode]).toEqual([true, 'full']);
    expect(hotlist.stats().coldRings).toBe(1);
  });

  it('applies a page in slices, with turns between them for others', async () => {
    const { hotlist } = newRinged();
    const rows = Array.from({ length: 5000 }, (_, n) => row(`p${n}`));
    const applied: number[] = [];
    const walk = hotlist.beginReseed(key, 'g')!;
    let isDone = false;
    const done = walk.apply(rows).then(() => (isDone = true));
    while (!isDone) {
      applied.push(hotlist.stats().entries.ready);
      await new Promise(setImmediate);
    }
    await done;
    expect(new Set(applied)).toEqual(new Set([1000, 2000, 3000, 4000]));
    expect(hotlist.stats().entries.ready).toBe(5000);
  });

  it('does not clear an entry whose claim may have looked before the row was true', async () => {
    const { hotlist } = newRinged();
    hotlist.offer(key, 'a', 1);
    const names = hotlist.checkOut(key, 'g', wide);
    await hotlist.beginReseed(key, 'g')!.apply([row('a')]);
    names.checkIn([{ partition: 'a', state: 'empty' }], { autoAck: true, leaseMs: 0 });
    expect(hotlist.hasReady(key, 'g')).toBe(true);
  });

  it('warns when it fails again and again, naming queue and group', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const { hotlist, clock } = newRinged();
    for (let failure = 0; failure < 5; failure++) {
      hotlist.beginReseed(key, 'g')!.finish(false);
      clock.advance(30_000);
    }
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      'queue "q", group "g": 3 reseeds failed in a row',
      'queue "q", group "g": 4 reseeds failed in a row',
    ]);
  });

  it('warns at start about a window it had to correct', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    newHotlist({ reseedWindowMs: 1 });
    expect(warn).toHaveBeenCalledTimes(1);
  });
});

describe('dueRings', () => {
  it('names walked rings after interval and jitter, not cold ones, not those being walked', () => {
    const { hotlist, clock } = newRinged();
    hotlist.registerRing(key, 'cold');
    hotlist.beginReseed(key, 'g')!.finish(true);
    clock.advance(29_999);
    expect(hotlist.dueRings()).toEqual([]);
    clock.advance(15_001);
    expect(hotlist.dueRings()).toEqual([{ key, group: 'g' }]);
    using walk = hotlist.beginReseed(key, 'g');
    expect([walk?.mode, hotlist.dueRings()]).toEqual(['window', []]);
  });

  it('names demanded walks first, then the latest', () => {
    const { hotlist, clock } = newRinged();
    for (const group of ['a', 'b', 'c', 'd']) {
      hotlist.registerRing(key, group);
      hotlist.beginReseed(key, group)!.finish(true);
      clock.advance(20_000);
    }
    hotlist.forceFullReseed(key, 'd');
    clock.advance(20_000);
    expect(hotlist.dueRings().map(({ group }) => group)).toEqual(['d', 'a', 'b', 'c']);
  });

  it('names every ring of a queue whose full walk was demanded', () => {
    const { hotlist } = newRinged();
    hotlist.registerRing(key, 'h');
    for (const group of ['g', 'h']) hotlist.beginReseed(key, group)!.finish(true);
    hotlist.forceFullReseed(key);
    hotlist.forceFullReseed('t\u001funknown');
    expect(hotlist.dueRings().map(({ group }) => group)).toEqual(['g', 'h']);
    expect(hotlist.beginReseed(key, 'g')!.mode).toBe('full');
  });
});
