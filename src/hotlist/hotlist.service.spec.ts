import { describe, expect, it } from '@jest/globals';
import { newHotlist, type TestHotlist } from '../../test/support/hotlist.js';
import type { HotlistOptions } from './hotlist.options.js';
import type { Verdict } from './verdict.js';

const key = 't\u001fq';
const lease = { autoAck: false, leaseMs: 60_000 };
const autoAck = { autoAck: true, leaseMs: 0 };
const wide = { k: 16, want: 1000 };
const endOfTurn = () => Promise.resolve();

/** A hot-list with one ring that has had its first walk. */
async function warm(options: Partial<HotlistOptions> = {}): Promise<TestHotlist> {
  const test = newHotlist(options);
  test.hotlist.registerRing(key, 'g');
  test.hotlist.beginReseed(key, 'g')!.finish(true);
  await endOfTurn();
  test.openings.length = 0;
  return test;
}

function takeAll({ hotlist }: TestHotlist, group = 'g'): string[] {
  const names = hotlist.checkOut(key, group, wide);
  names[Symbol.dispose]();
  return names.list;
}

const took = (partition: string, drained = true): Verdict => ({ partition, state: 'took', drained });

describe('offer', () => {
  it('reaches the ring before it opens the gate', async () => {
    const test = await warm();
    const seen: boolean[] = [];
    test.openings.push = (...opened) => {
      seen.push(test.hotlist.hasReady(key, 'g'));
      return opened.length;
    };
    test.hotlist.offer(key, 'a', 1);
    test.hotlist.offer(key, 'b', 1, { immediate: true });
    await endOfTurn();
    expect(seen).toEqual([true, true]);
  });

  it('opens once for what a flush wrote, by partition', async () => {
    const test = await warm();
    for (const partition of ['a', 'b', 'a']) test.hotlist.offer(key, partition, 1);
    await endOfTurn();
    test.clock.advance(100);
    expect(test.openings).toEqual([
      { key, partition: 'a' },
      { key, partition: 'b' },
    ]);
  });

  it('does not wake for an entry that is ready or out already', async () => {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1, { immediate: true });
    test.openings.length = 0;
    test.hotlist.offer(key, 'a', 1, { immediate: true });
    using names = test.hotlist.checkOut(key, 'g', wide);
    expect(names.list).toEqual(['a']);
    test.hotlist.offer(key, 'a', 1, { immediate: true });
    expect(test.openings).toEqual([]);
  });

  it('of a ready partition wakes those who wait for a full batch', async () => {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1, { immediate: true });
    test.hotlist.offer(key, 'a', 1, { immediate: true });
    expect(test.openings).toHaveLength(1);
    test.hotlist.setConfig(key, { delayedMs: 0, windowMs: 0, minPopWaitMs: 100 });
    test.hotlist.offer(key, 'a', 1, { immediate: true });
    expect(test.openings).toHaveLength(2);
  });

  it('wakes on a queue without rings and leaves no trace there (G7)', () => {
    const { hotlist, openings } = newHotlist();
    hotlist.offer('t\u001fother', 'a', 1, { immediate: true });
    expect(openings).toEqual([{ key: 't\u001fother', partition: 'a' }]);
    expect(hotlist.stats()).toMatchObject({ queues: 0, rings: 0, partitions: 0 });
  });

  it('for one group touches its ring alone and makes none', async () => {
    const test = await warm();
    test.hotlist.registerRing(key, 'h');
    test.hotlist.offer(key, 'a', 1, { group: 'h' });
    expect([test.hotlist.hasReady(key, 'g'), test.hotlist.hasReady(key, 'h')]).toEqual([false, true]);
    test.hotlist.offer(key, 'b', 1, { group: 'stranger', immediate: true });
    expect(test.hotlist.hasRing(key, 'stranger')).toBe(false);
    expect(test.hotlist.stats().partitions).toBe(1);
    expect(test.openings).toContainEqual({ key, partition: 'b' });
  });

  it('without a group touches every ring of the queue', async () => {
    const test = await warm();
    test.hotlist.registerRing(key, 'h');
    test.hotlist.offer(key, 'a', 1);
    expect([takeAll(test, 'g'), takeAll(test, 'h')]).toEqual([['a'], ['a']]);
  });

  it('that tells the rings nothing new still wakes those who wait without a ring', async () => {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1, { immediate: true });
    test.hotlist.offer(key, 'a', 1, { immediate: true });
    expect(test.openings).toEqual([{ key, partition: 'a' }]);
    expect(test.aside).toEqual([{ key, partition: 'a' }]);
  });

  it('of the empty partition, a legal name, counts like any other', async () => {
    const test = await warm();
    test.hotlist.offer(key, '', 1, { immediate: true });
    expect(test.openings).toEqual([{ key, partition: '' }]);
    expect(takeAll(test, 'g')).toEqual(['']);
  });

  it('only opens the gate when the hot-list is off', async () => {
    const { hotlist, openings } = newHotlist({ enabled: false });
    hotlist.registerRing(key, 'g');
    hotlist.offer(key, 'a', 1);
    hotlist.offer(key, 'a', 1, { immediate: true });
    await endOfTurn();
    expect(openings).toEqual([
      { key, partition: 'a' },
      { key, partition: 'a' },
    ]);
    expect(hotlist.hasReady(key, 'g')).toBe(false);
  });

  it('collects marks for other brokers only where somebody carries them', () => {
    let told = 0;
    const { hotlist } = newHotlist({}, { onDirty: () => told++ });
    hotlist.offer(key, 'a', 1, { broadcast: true });
    hotlist.offer(key, 'b', 1, { broadcast: true, group: 'g' });
    hotlist.offer(key, 'c', 1);
    expect(told).toBe(1);
    expect(hotlist.drainDirty(10)).toEqual([
      { key, partition: 'a' },
      { key, partition: 'b', group: 'g' },
    ]);
    const alone = newHotlist().hotlist;
    alone.offer(key, 'a', 1, { broadcast: true });
    expect(alone.drainDirty(10)).toEqual([]);
  });
});

describe('looking', () => {
  it('creates nothing', () => {
    const { hotlist } = newHotlist();
    hotlist.learn(key, 'id', 'a');
    hotlist.setConfig(key, { delayedMs: 1, windowMs: 1, minPopWaitMs: 1 });
    hotlist.promote(key, 'g', { id: 'id' }, true);
    hotlist.forceFullReseed(key);
    expect([
      hotlist.hasReady(key, 'g'),
      hotlist.hasRing(key, 'g'),
      hotlist.needsReseed(key, 'g'),
      hotlist.needsConfig(key),
      hotlist.estimate(key, 'g', 10),
      hotlist.config(key),
      hotlist.beginReseed(key, 'g'),
      hotlist.checkOut(key, 'g', wide).list,
    ]).toEqual([false, false, false, false, 0, undefined, null, []]);
    expect(hotlist.stats().queues).toBe(0);
  });
});

describe('check-out', () => {
  it('goes back as it was when nobody checked in, exactly once (G4)', async () => {
    const test = await warm();
    for (const partition of ['a', 'b', 'c']) test.hotlist.offer(key, partition, 7);
    {
      using names = test.hotlist.checkOut(key, 'g', { k: 2, want: 1000 });
      expect(names.list).toEqual(['a', 'b']);
      expect(test.hotlist.stats()).toMatchObject({ openTickets: 1, entries: { ready: 1, inflight: 2 } });
    }
    expect(test.hotlist.stats()).toMatchObject({ openTickets: 0, entries: { ready: 3, inflight: 0 } });
    expect(test.hotlist.estimate(key, 'g', 1000)).toBe(21);
    expect(takeAll(test)).toEqual(['c', 'a', 'b']);
  });

  it('is checked in once; what follows is ignored', async () => {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1);
    const names = test.hotlist.checkOut(key, 'g', wide);
    names.checkIn([took('a')], autoAck);
    test.hotlist.offer(key, 'a', 1);
    names.checkIn([{ partition: 'a', state: 'empty' }], autoAck);
    names[Symbol.dispose]();
    expect(takeAll(test)).toEqual(['a']);
  });

  it('given up as lost does not act any more, also not on its successor', async () => {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1);
    const lost = test.hotlist.checkOut(key, 'g', wide);
    test.clock.advance(35_000);
    test.hotlist.sweepTickets();
    expect(test.hotlist.stats().ticketsExpired).toBe(0);
    test.clock.advance(1);
    test.hotlist.sweepTickets();
    expect(test.hotlist.stats()).toMatchObject({ ticketsExpired: 1, openTickets: 0, entries: { ready: 1 } });
    using names = test.hotlist.checkOut(key, 'g', wide);
    lost.checkIn([{ partition: 'a', state: 'empty' }], autoAck);
    expect(names.list).toEqual(['a']);
    expect(test.hotlist.stats().entries.inflight).toBe(1);
  });

  it('does not touch entries that moved on', async () => {
    const test = await warm();
    for (const partition of ['a', 'b']) test.hotlist.offer(key, partition, 1);
    const names = test.hotlist.checkOut(key, 'g', wide);
    const ring = test.hotlist['book'].ring(key, 'g')!;
    ring.toReady(0, 0);
    ring.take(1, 1, 0, 999);
    ring.toReady(1, 0);
    names.checkIn([took('a'), took('b')], autoAck);
    expect(ring.isHeldBy(0, 999)).toBe(true);
    expect([...ring.readyIndexes()]).toEqual([1]);
  });

  it('puts those nobody looked at before those just served, so that none is passed over for ever (A33)', async () => {
    const test = await warm();
    const lanes = ['a', 'b', 'c', 'd', 'e'];
    for (const lane of lanes) test.hotlist.offer(key, lane, 1);
    const served: string[] = [];
    for (let pop = 0; pop < 10; pop++) {
      using names = test.hotlist.checkOut(key, 'g', { k: 16, want: 10 });
      served.push(names.list[0]!);
      names.checkIn([took(names.list[0]!, false)], autoAck);
    }
    expect(served).toEqual([...lanes, ...lanes]);
  });

  it('wakes pops that found nothing while the names were out', async () => {
    const test = await warm();
    for (const partition of ['a', 'b']) test.hotlist.offer(key, partition, 1);
    await endOfTurn();
    const names = test.hotlist.checkOut(key, 'g', wide);
    test.clock.advance(100);
    test.openings.length = 0;
    names.checkIn([took('a')], autoAck);
    await endOfTurn();
    expect(test.openings).toEqual([{ key, partition: 'b' }]);
  });

  it('wakes for a mark that came while an empty claim was out', async () => {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1);
    await endOfTurn();
    const names = test.hotlist.checkOut(key, 'g', wide);
    test.clock.advance(100);
    test.hotlist.offer(key, 'a', 1);
    test.openings.length = 0;
    names.checkIn([{ partition: 'a', state: 'empty' }], autoAck);
    await endOfTurn();
    expect(test.openings).toEqual([{ key, partition: 'a' }]);
  });

  it('does not wake when nothing turned ready, or something was ready all the time', async () => {
    const test = await warm();
    for (const partition of ['a', 'b', 'c']) test.hotlist.offer(key, partition, 1);
    await endOfTurn();
    test.clock.advance(100);
    test.openings.length = 0;
    const two = test.hotlist.checkOut(key, 'g', { k: 2, want: 100 });
    two.checkIn([], autoAck);
    const all = test.hotlist.checkOut(key, 'g', wide);
    all.checkIn(
      all.list.map((name) => took(name)),
      autoAck,
    );
    await endOfTurn();
    expect(test.openings).toEqual([]);
  });

  it('learns ids, so that an ack finds the entry', async () => {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1);
    using names = test.hotlist.checkOut(key, 'g', wide);
    names.checkIn([{ ...took('a'), partitionId: '018f3a52-7b1c-7def-8abc-0123456789ab' }], lease);
    expect(test.hotlist.hasReady(key, 'g')).toBe(false);
    test.hotlist.promote(key, 'g', { id: '018F3A52-7B1C-7DEF-8ABC-0123456789AB' }, false);
    expect(test.hotlist.hasReady(key, 'g')).toBe(true);
  });

  it('of a ring that was forgotten meanwhile changes nothing', async () => {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1);
    const names = test.hotlist.checkOut(key, 'g', wide);
    test.hotlist.forgetGroup(key, 'g');
    test.hotlist.registerRing(key, 'g');
    names.checkIn([took('a')], lease);
    expect(test.hotlist.stats()).toMatchObject({
      openTickets: 0,
      entries: { ready: 0, wheel: 0, inflight: 0 },
    });
    expect(test.hotlist.nextRevisitMs).toBe(Infinity);
  });

  it('wakes for entries it brought forward and left', async () => {
    const test = await warm();
    for (const partition of ['a', 'b']) test.hotlist.offer(key, partition, 1);
    const names = test.hotlist.checkOut(key, 'g', wide);
    names.checkIn([took('a'), took('b')], lease);
    await endOfTurn();
    test.clock.advance(1000);
    test.openings.length = 0;
    using one = test.hotlist.checkOut(key, 'g', { k: 1, want: 1 });
    await endOfTurn();
    expect(test.openings).toHaveLength(1);
    expect(one.list).not.toContain(test.openings[0]!.partition);
  });
});

describe('promote', () => {
  async function leased(): Promise<TestHotlist> {
    const test = await warm();
    test.hotlist.offer(key, 'a', 1);
    const names = test.hotlist.checkOut(key, 'g', wide);
    names.checkIn([took('a')], lease);
    await endOfTurn();
    test.clock.advance(100);
    test.openings.length = 0;
    return test;
  }

  it('of a failed batch makes it ready and wakes', async () => {
    const test = await leased();
    test.hotlist.promote(key, 'g', { name: 'a' }, false);
    await endOfTurn();
    expect(test.openings).toEqual([{ key, partition: 'a' }]);
    expect(takeAll(test)).toEqual(['a']);
  });

  it('of a completed batch that left nothing clears the entry and wakes nobody', async () => {
    const test = await leased();
    test.hotlist.promote(key, 'g', { name: 'a' }, true);
    await endOfTurn();
    expect([test.openings, test.hotlist.hasReady(key, 'g')]).toEqual([[], false]);
    expect(test.hotlist.stats()).toMatchObject({ promotes: { cleared: 1 }, entries: { wheel: 0 } });
    expect(test.hotlist.nextRevisitMs).toBe(Infinity);
  });

  it('of an unknown partition does nothing', async () => {
    const test = await leased();
    test.hotlist.promote(key, 'g', { name: 'stranger' }, false);
    test.hotlist.promote(key, 'g', { id: 'stranger' }, false);
    expect(test.hotlist.stats()).toMatchObject({ promotes: { ignored: 2 }, partitions: 1 });
  });

  it('of a group without a ring wakes those who wait for the partition', async () => {
    const test = await leased();
    test.hotlist.promote(key, 'ringless', { name: 'a' }, false);
    await endOfTurn();
    expect(test.openings).toEqual([{ key, partition: 'a' }]);
  });
});

describe('settings', () => {
  const config = { delayedMs: 0, windowMs: 2000, minPopWaitMs: 30 };

  it('are needed when never read and again after half a minute', async () => {
    const { hotlist, clock } = await warm();
    expect([hotlist.needsConfig(key), hotlist.config(key)]).toEqual([true, undefined]);
    hotlist.setConfig(key, config);
    expect([hotlist.needsConfig(key), hotlist.config(key)]).toEqual([false, config]);
    clock.advance(29_999);
    expect(hotlist.needsConfig(key)).toBe(false);
    clock.advance(1);
    expect(hotlist.needsConfig(key)).toBe(true);
  });

  it('are read by one pop at a time, and again soon when that failed', async () => {
    const { hotlist, clock } = await warm();
    hotlist.expectConfig(key);
    expect(hotlist.needsConfig(key)).toBe(false);
    clock.advance(5000);
    expect(hotlist.needsConfig(key)).toBe(true);
  });

  it('hold marks back from then on', async () => {
    const { hotlist, clock } = await warm();
    hotlist.setConfig(key, config);
    hotlist.offer(key, 'a', 1);
    expect(hotlist.hasReady(key, 'g')).toBe(false);
    clock.advance(2000);
    expect(hotlist.hasReady(key, 'g')).toBe(true);
  });

  it('that change the holds start the rings afresh, unchanged ones do not', async () => {
    const { hotlist } = await warm();
    hotlist.setConfig(key, { ...config, delayedMs: 3_600_000 });
    hotlist.offer(key, 'a', 1);
    hotlist.setConfig(key, { ...config, delayedMs: 3_600_000, minPopWaitMs: 0 });
    expect([hotlist.needsReseed(key, 'g'), hotlist.stats().entries.wheel]).toEqual([false, 1]);
    hotlist.setConfig(key, { ...config, windowMs: 0 });
    expect([hotlist.needsReseed(key, 'g'), hotlist.stats().entries.wheel]).toEqual([true, 0]);
    expect(hotlist.nextRevisitMs).toBe(Infinity);
    await hotlist.beginReseed(key, 'g')!.apply([{ id: 'id', name: 'a' }]);
    expect(hotlist.hasReady(key, 'g')).toBe(true);
  });
});

describe('leaving memory', () => {
  it('an idle queue leaves at the second sweep without a use between', async () => {
    const { hotlist } = await warm();
    hotlist.sweepIdle();
    hotlist.hasReady(key, 'g');
    hotlist.sweepIdle();
    expect(hotlist.hasRing(key, 'g')).toBe(true);
    hotlist.sweepIdle();
    expect([hotlist.hasRing(key, 'g'), hotlist.stats().evictions.idle]).toEqual([false, 1]);
  });

  it('a queue with entries, names out or a walk under way stays at every sweep', async () => {
    const steps: ((test: TestHotlist) => unknown)[] = [
      ({ hotlist }) => hotlist.offer(key, 'a', 1),
      ({ hotlist }) => (hotlist.offer(key, 'a', 1), hotlist.checkOut(key, 'g', wide)),
      ({ hotlist }) => (
        hotlist.offer(key, 'a', 1),
        hotlist.checkOut(key, 'g', wide).checkIn([took('a')], lease)
      ),
      ({ hotlist, clock }) => (clock.advance(30_000), hotlist.beginReseed(key, 'g')),
    ];
    for (const step of steps) {
      const test = await warm();
      step(test);
      for (let sweep = 0; sweep < 3; sweep++) test.hotlist.sweepIdle();
      expect(test.hotlist.hasRing(key, 'g')).toBe(true);
    }
  });

  it('a queue nobody pops leaves however much is ready there', async () => {
    const { hotlist, clock } = await warm();
    hotlist.offer(key, 'a', 1);
    clock.advance(29_999);
    hotlist.offer(key, 'b', 1);
    hotlist.trimUnserved();
    expect(hotlist.hasRing(key, 'g')).toBe(true);
    clock.advance(1);
    hotlist.trimUnserved();
    expect(hotlist.stats()).toMatchObject({ queues: 0, evictions: { unserved: 1 }, oldestReadyMs: 0 });
  });

  it('a backlog that is served stays however old it is', async () => {
    const { hotlist, clock } = await warm();
    hotlist.offer(key, 'old', 1);
    for (let second = 0; second < 120; second++) {
      clock.advance(1000);
      hotlist.hasReady(key, 'g');
      hotlist.trimUnserved();
    }
    expect(hotlist.stats()).toMatchObject({ rings: 1, oldestReadyMs: 120_000 });
  });

  it('a queue with names out or a walk under way is not trimmed', async () => {
    const out = await warm();
    out.hotlist.offer(key, 'a', 1);
    using names = out.hotlist.checkOut(key, 'g', wide);
    const walked = await warm();
    walked.clock.advance(30_000);
    using walk = walked.hotlist.beginReseed(key, 'g');
    for (const { hotlist, clock } of [out, walked]) {
      clock.advance(60_000);
      hotlist.trimUnserved();
      expect(hotlist.hasRing(key, 'g')).toBe(true);
    }
    expect([names.list, walk?.mode]).toEqual([['a'], 'window']);
  });

  it('a forgotten group and a dropped queue wake their pops', async () => {
    const test = await warm();
    test.hotlist.forgetGroup(key, 'g');
    test.hotlist.forgetGroup(key, 'g');
    test.hotlist.dropQueue(key);
    expect(test.openings).toEqual([
      { key, partition: '*' },
      { key, partition: '*' },
    ]);
    expect(test.hotlist.stats().queues).toBe(0);
  });
});

it('stats are a copy', async () => {
  const { hotlist } = await warm();
  const before = hotlist.stats();
  hotlist.offer(key, 'a', 1);
  hotlist.checkOut(key, 'g', wide);
  expect(before).toMatchObject({ marks: { quiet: 0 }, readyAge: { count: 0 }, readySources: { mark: 0 } });
  expect(hotlist.stats()).toMatchObject({
    marks: { quiet: 1, immediate: 0 },
    readyAge: { count: 1, sumMs: 0 },
    readySources: { mark: 1 },
    coldRings: 0,
  });
});
