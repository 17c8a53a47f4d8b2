import { describe, expect, it } from '@jest/globals';
import { auditRing, newRing, plainHolds } from '../../test/support/hotlist.js';
import { mark } from './ring-marks.js';
import { IDLE, INFLIGHT, READY, type Ring, WHEEL } from './ring.js';

const nowMs = 5000;

function ringWithReady(counts: number[]): Ring {
  const ring = newRing();
  counts.forEach((count, index) => mark(ring, index, count, nowMs, plainHolds));
  return ring;
}

const taken = (ring: Ring, k: number, want: number, atMs = nowMs) =>
  ring.take(k, want, atMs, 1).candidates.map(({ index }) => index);

describe('Ring', () => {
  it('hands out in the order of arrival, round after round', () => {
    const ring = ringWithReady([1, 1, 1, 1, 1]);
    const rounds: number[] = [];
    for (let turn = 0; turn < 15; turn++) {
      const [index] = taken(ring, 1, 10);
      rounds.push(index!);
      ring.toReady(index!, nowMs);
    }
    expect(rounds).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
  });

  it('takes one deep head alone when it fills the batch', () => {
    expect(taken(ringWithReady([500, 500, 500]), 8, 200)).toEqual([0]);
  });

  it('goes on until the estimates reach the batch', () => {
    expect(taken(ringWithReady([50, 50, 100, 50]), 8, 200)).toEqual([0, 1, 2]);
  });

  it('takes no more than k of a sparse ring', () => {
    expect(taken(ringWithReady(new Array(20).fill(1)), 8, 200)).toHaveLength(8);
  });

  it('takes one even when nothing is wanted', () => {
    expect(taken(ringWithReady([5, 5]), 8, 0)).toEqual([0]);
  });

  it('takes nothing from an empty ring', () => {
    expect(taken(newRing(), 8, 200)).toEqual([]);
  });

  it('forgets on taking that an earlier claim had drained the partition', () => {
    const ring = ringWithReady([1]);
    ring.entries.page(0).drained[0] = 1;
    taken(ring, 1, 1);
    expect(ring.entries.page(0).drained[0]).toBe(0);
  });

  it('brings forward what is due when it takes, behind those ready before', () => {
    const ring = ringWithReady([1, 1, 1]);
    taken(ring, 2, 10);
    ring.toWheel(0, nowMs + 50);
    ring.toWheel(1, nowMs + 40);
    expect(taken(ring, 8, 10, nowMs + 39)).toEqual([2]);
    expect(ring.take(8, 10, nowMs + 50, 1)).toMatchObject({
      promoted: 2,
      candidates: [{ index: 1, readyAgeMs: 0 }, { index: 0 }],
    });
  });

  it('says how long a taken entry was ready', () => {
    const ring = ringWithReady([1]);
    expect(ring.oldestReadyMs(nowMs + 70)).toBe(70);
    expect(ring.take(1, 1, nowMs + 70, 1).candidates[0]!.readyAgeMs).toBe(70);
    expect(ring.oldestReadyMs(nowMs + 70)).toBe(0);
  });

  it('has something ready only when it can be taken now, and looking changes nothing', () => {
    const ring = ringWithReady([1]);
    expect(ring.hasReady(nowMs)).toBe(true);
    taken(ring, 1, 1);
    expect(ring.hasReady(nowMs)).toBe(false);
    ring.toWheel(0, nowMs + 100);
    expect(ring.hasReady(nowMs + 99)).toBe(false);
    expect(ring.hasReady(nowMs + 100)).toBe(true);
    expect(ring.stateOf(0)).toBe(WHEEL);
  });

  it('is not made to look ready by an entry that left the wheel before its time', () => {
    const ring = ringWithReady([1]);
    taken(ring, 1, 1);
    ring.toWheel(0, nowMs + 100);
    ring.toIdle(0);
    expect(ring.hasReady(nowMs + 100)).toBe(false);
    expect(ring.nextRevisitMs).toBe(Infinity);
  });

  it('promotes no more than the limit', () => {
    const ring = newRing();
    for (let index = 0; index < 30; index++) {
      ring.assertPending(index, 1, nowMs);
      ring.toWheel(index, nowMs);
    }
    const promoted: number[] = [];
    expect(ring.promoteDue(nowMs, 20, (index) => promoted.push(index))).toBe(20);
    expect([promoted.length, ring.readyCount, ring.wheelCount]).toEqual([20, 20, 10]);
  });

  describe('estimate', () => {
    it('adds up what is ready and stops at the limit', () => {
      const ring = ringWithReady([10, 20, 30]);
      expect(ring.estimate(1000, nowMs)).toBe(60);
      expect(ring.estimate(25, nowMs)).toBe(30);
      expect(newRing().estimate(10, nowMs)).toBe(0);
    });

    it('is unbounded when something on the wheel is due, and only then', () => {
      const ring = ringWithReady([10, 20]);
      taken(ring, 1, 1);
      ring.toWheel(0, nowMs + 10);
      expect(ring.estimate(100, nowMs + 9)).toBe(20);
      expect(ring.estimate(100, nowMs + 10)).toBe(Infinity);
    });

    it('gives up on a long list', () => {
      expect(ringWithReady(new Array(1024).fill(1)).estimate(5000, nowMs)).toBe(1024);
      expect(ringWithReady(new Array(1025).fill(1)).estimate(5000, nowMs)).toBe(Infinity);
    });

    it('changes nothing', () => {
      const ring = ringWithReady([1, 2]);
      ring.estimate(100, nowMs);
      expect([...ring.readyIndexes()]).toEqual([0, 1]);
    });
  });

  it('counts its states through every move', () => {
    const ring = ringWithReady([1, 1, 1, 1]);
    ring.take(3, 100, nowMs, 7);
    ring.toWheel(0, nowMs + 10);
    ring.toIdle(1);
    expect([0, 1, 2, 3].map((index) => ring.stateOf(index))).toEqual([WHEEL, IDLE, INFLIGHT, READY]);
    expect([ring.readyCount, ring.wheelCount, ring.inflightCount]).toEqual([1, 1, 1]);
    expect(auditRing(ring, 4)).toEqual([]);
    expect([ring.isHeldBy(2, 7), ring.isHeldBy(2, 8), ring.isHeldBy(0, 7)]).toEqual([true, false, false]);
  });

  it('keeps entries apart across the growth of its pages', () => {
    const ring = newRing();
    const size = 20_000;
    for (let index = 0; index < size; index++) mark(ring, index, index + 1, nowMs, plainHolds);
    expect(auditRing(ring, size)).toEqual([]);
    const first = ring.take(size, Infinity, nowMs, 1).candidates.map(({ index }) => index);
    expect(first).toEqual(Array.from({ length: size }, (_, index) => index));
    expect(ring.entries.page(19_999).count[19_999 & 8191]).toBe(20_000);
  });

  it('saturates its estimate instead of wrapping', () => {
    const ring = ringWithReady([0xffff_fff0]);
    mark(ring, 0, 1000, nowMs, plainHolds);
    expect(ring.estimate(1, nowMs)).toBe(0xffff_ffff);
  });
});
