import { ManualClock } from '../../src/base/clock/manual-clock.js';
import type { HintSink } from '../../src/hotlist/hint-sink.js';
import type { Holds } from '../../src/hotlist/holds.js';
import { defaultHotlistOptions, type HotlistOptions } from '../../src/hotlist/hotlist.options.js';
import { HotlistService } from '../../src/hotlist/hotlist.service.js';
import { planReseeds, ReseedSchedule } from '../../src/hotlist/reseed-schedule.js';
import { INFLIGHT, READY, Ring, WHEEL } from '../../src/hotlist/ring.js';
import { RevisitTicker } from '../../src/hotlist/revisit.ticker.js';

export const plainHolds: Holds = {
  delayedMs: 0,
  windowMs: 0,
  windowBatch: 100,
  padMs: 300,
  revisitCapMs: 1000,
};

export function newRing(): Ring {
  return new Ring(
    'tenant\u001fqueue',
    'group',
    new ReseedSchedule(planReseeds(defaultHotlistOptions).plan, 0),
  );
}

/** Every fault of a ring over entries 0 … size-1: counters against a recount, links, wheel order. Empty is sound. */
export function auditRing(ring: Ring, size: number): string[] {
  const faults: string[] = [];
  const counted = new Map<number, number>();
  let earliestMs = Infinity;
  for (let index = 0; index < size; index++) {
    const state = ring.stateOf(index);
    counted.set(state, (counted.get(state) ?? 0) + 1);
    if (state === WHEEL) earliestMs = Math.min(earliestMs, ring.revisitMsOf(index));
  }
  const listed = [...ring.readyIndexes()];
  if (new Set(listed).size !== listed.length) faults.push('an entry is linked twice');
  if (listed.some((index) => ring.stateOf(index) !== READY)) faults.push('a linked entry is not READY');
  const expectCount = (name: string, counter: number, state: number) => {
    const actual = counted.get(state) ?? 0;
    if (counter !== actual) faults.push(`${name} counter is ${counter}, ${actual} entries are`);
  };
  expectCount('ready', ring.readyCount, READY);
  expectCount('ready links', listed.length, READY);
  expectCount('wheel', ring.wheelCount, WHEEL);
  expectCount('inflight', ring.inflightCount, INFLIGHT);
  if (ring.nextRevisitMs !== earliestMs)
    faults.push(`wheel says ${ring.nextRevisitMs}, earliest is ${earliestMs}`);
  return faults;
}

export interface TestHotlist {
  clock: ManualClock;
  hotlist: HotlistService;
  ticker: RevisitTicker;
  /** Openings so far: `partition`, or `*` for everybody. */
  openings: { key: string; partition: string }[];
  /** Openings for pops without a ring only. */
  aside: { key: string; partition: string }[];
}

export function newHotlist(options: Partial<HotlistOptions> = {}, sink?: HintSink): TestHotlist {
  const clock = new ManualClock(1000);
  const openings: TestHotlist['openings'] = [];
  const aside: TestHotlist['aside'] = [];
  const waker = {
    open: (key: string, partition?: string) => void openings.push({ key, partition: partition ?? '*' }),
    openPartition: (key: string, partition: string) => void aside.push({ key, partition }),
  };
  const all = { ...defaultHotlistOptions, ...options };
  const hotlist = new HotlistService(all, clock, waker, sink);
  return { clock, hotlist, ticker: new RevisitTicker(hotlist, clock, all), openings, aside };
}
