import { beforeEach, describe, expect, it } from '@jest/globals';
import { newRing, plainHolds } from '../../test/support/hotlist.js';
import { applyReseedRow, mark, promote, writeTimeLagMs } from './ring-marks.js';
import { IDLE, INFLIGHT, READY, type Ring, WHEEL } from './ring.js';

const nowMs = 50_000;
const plain = plainHolds;
const delayed = { ...plainHolds, delayedMs: 5000 };
const windowed = { ...plainHolds, windowMs: 2000 };
const both = { ...plainHolds, delayedMs: 5000, windowMs: 2000 };

let ring: Ring;
beforeEach(() => {
  ring = newRing();
});

const page = () => ring.entries.page(0);
const state = () => ring.stateOf(0);

function entryIn(wanted: number, revisitMs = nowMs + 900): void {
  ring.assertPending(0, 0, nowMs - 10_000);
  if (wanted === READY) ring.toReady(0, nowMs);
  if (wanted === WHEEL) ring.toWheel(0, revisitMs);
  if (wanted === INFLIGHT) {
    ring.toReady(0, nowMs);
    ring.take(1, 1, nowMs, 7);
  }
}

describe('mark', () => {
  it('counts and dates in every state', () => {
    for (const wanted of [IDLE, READY, WHEEL, INFLIGHT]) {
      ring = newRing();
      entryIn(wanted);
      const epoch = page().epoch[0]!;
      mark(ring, 0, 3, nowMs, plain);
      expect([page().epoch[0], page().count[0], page().pendingSinceMs[0]]).toEqual([epoch + 1, 3, nowMs]);
    }
  });

  it('IDLE on a plain queue turns ready', () => {
    expect(mark(ring, 0, 1, nowMs, plain)).toBe(true);
    expect(state()).toBe(READY);
  });

  it('IDLE on a delayed queue rests for the delay and the padding, also when a window is set', () => {
    for (const holds of [delayed, both]) {
      ring = newRing();
      expect(mark(ring, 0, 1000, nowMs, holds)).toBe(false);
      expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 5300]);
    }
  });

  it('IDLE on a window queue rests for the window from the first mark', () => {
    expect(mark(ring, 0, 1, nowMs, windowed)).toBe(false);
    expect(mark(ring, 0, 1, nowMs + 1500, windowed)).toBe(false);
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 2000]);
  });

  it('a window ends early once enough messages came', () => {
    expect(mark(ring, 0, 99, nowMs, windowed)).toBe(false);
    expect(mark(ring, 0, 1, nowMs + 10, windowed)).toBe(true);
    expect(state()).toBe(READY);
  });

  it('a window that one mark fills does not begin', () => {
    expect(mark(ring, 0, 100, nowMs, windowed)).toBe(true);
    expect(state()).toBe(READY);
  });

  it('a delay does not end early, however many messages come', () => {
    mark(ring, 0, 1, nowMs, both);
    expect(mark(ring, 0, 100_000, nowMs + 10, both)).toBe(false);
    expect(ring.revisitMsOf(0)).toBe(nowMs + 5300);
  });

  it('WHEEL on a plain queue turns ready when only the padding is left', () => {
    entryIn(WHEEL, nowMs + 300);
    expect(mark(ring, 0, 1, nowMs, plain)).toBe(true);
    expect(state()).toBe(READY);
  });

  it('WHEEL on a plain queue stays while the lease is well alive', () => {
    entryIn(WHEEL, nowMs + 301);
    expect(mark(ring, 0, 1, nowMs, plain)).toBe(false);
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 301]);
  });

  it('WHEEL near its end stays on a delayed and on a window queue', () => {
    for (const holds of [delayed, windowed]) {
      ring = newRing();
      entryIn(WHEEL, nowMs + 10);
      expect(mark(ring, 0, 1, nowMs, holds)).toBe(false);
    }
  });

  it('READY and INFLIGHT stay: the epoch tells the check-in', () => {
    for (const wanted of [READY, INFLIGHT]) {
      ring = newRing();
      entryIn(wanted);
      expect(mark(ring, 0, 1, nowMs, plain)).toBe(false);
      expect(state()).toBe(wanted);
    }
  });

  it('survives the wrap of the epoch', () => {
    entryIn(INFLIGHT);
    page().epoch[0] = 0xffff_ffff;
    mark(ring, 0, 1, nowMs, plain);
    expect(page().epoch[0]).toBe(0);
  });
});

describe('applyReseedRow', () => {
  const alive = () => true;
  const dead = () => false;

  it('IDLE turns ready', () => {
    expect(applyReseedRow(ring, 0, nowMs, plain, alive)).toBe(true);
    expect([state(), page().pendingSinceMs[0]]).toEqual([READY, nowMs]);
  });

  it('IDLE on a window queue rests until nothing can have been written for the window', () => {
    const quietMs = windowed.windowMs + writeTimeLagMs;
    expect(applyReseedRow(ring, 0, nowMs, windowed, alive, quietMs - 1)).toBe(false);
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 1]);
    expect(applyReseedRow(ring, 1, nowMs, windowed, alive, quietMs)).toBe(true);
  });

  it('IDLE on a delayed queue rests for the delay', () => {
    expect(applyReseedRow(ring, 0, nowMs, delayed, alive)).toBe(false);
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 5300]);
  });

  it('IDLE on a delayed queue rests for what is left of the delay when the age of the write is known', () => {
    applyReseedRow(ring, 0, nowMs, delayed, alive, 4000);
    expect(ring.revisitMsOf(0)).toBe(nowMs + 1300);
    applyReseedRow(ring, 1, nowMs, delayed, alive, 60_000);
    expect(ring.revisitMsOf(1)).toBe(nowMs + 300);
  });

  it('WHEEL turns ready on a plain queue and stays on one with holds', () => {
    entryIn(WHEEL);
    expect(applyReseedRow(ring, 0, nowMs, plain, alive)).toBe(true);
    expect(state()).toBe(READY);
    for (const holds of [delayed, windowed]) {
      ring = newRing();
      entryIn(WHEEL);
      expect(applyReseedRow(ring, 0, nowMs, holds, alive)).toBe(false);
      expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 900]);
    }
  });

  it('keeps the ack of a drained claim from clearing what the row may be about', () => {
    entryIn(WHEEL);
    page().drained[0] = 1;
    applyReseedRow(ring, 0, nowMs, delayed, alive);
    expect(promote(ring, 0, true, nowMs, delayed)).toBe('ready');
    ring.take(1, 1, nowMs, 7);
    applyReseedRow(ring, 0, nowMs, plain, alive);
    expect(page().count[0]).toBe(1);
  });

  it('READY stays where it is in the line', () => {
    for (const index of [0, 1]) mark(ring, index, 1, nowMs, plain);
    expect(applyReseedRow(ring, 0, nowMs, plain, alive)).toBe(false);
    expect([...ring.readyIndexes()]).toEqual([0, 1]);
  });

  it('INFLIGHT stays with a living check-out, which learns of the row by the epoch', () => {
    entryIn(INFLIGHT);
    const epoch = page().epoch[0]!;
    expect(applyReseedRow(ring, 0, nowMs, plain, (owner) => owner === 7)).toBe(false);
    expect([state(), page().epoch[0]]).toEqual([INFLIGHT, epoch + 1]);
  });

  it('INFLIGHT is taken from a check-out that is gone', () => {
    entryIn(INFLIGHT);
    expect(applyReseedRow(ring, 0, nowMs, plain, dead)).toBe(true);
    expect([state(), ring.inflightCount]).toEqual([READY, 0]);
  });
});

describe('promote', () => {
  it('WHEEL turns ready when the batch was not known to be completed', () => {
    entryIn(WHEEL);
    page().drained[0] = 1;
    expect(promote(ring, 0, false, nowMs, plain)).toBe('ready');
    expect(state()).toBe(READY);
  });

  it('WHEEL goes idle when the batch was completed, emptied the partition and nothing came since', () => {
    entryIn(WHEEL);
    page().drained[0] = 1;
    expect(promote(ring, 0, true, nowMs, plain)).toBe('cleared');
    expect(state()).toBe(IDLE);
  });

  it('WHEEL turns ready when the completed batch left something behind', () => {
    entryIn(WHEEL);
    expect(promote(ring, 0, true, nowMs, plain)).toBe('ready');
  });

  it('WHEEL turns ready when marks came while the batch was out', () => {
    entryIn(WHEEL);
    page().drained[0] = 1;
    mark(ring, 0, 1, nowMs, plain);
    expect(promote(ring, 0, true, nowMs, plain)).toBe('ready');
  });

  it('WHEEL on a window queue holds back what came while the batch was out', () => {
    entryIn(WHEEL);
    page().drained[0] = 1;
    mark(ring, 0, 1, nowMs, windowed);
    expect(promote(ring, 0, true, nowMs + 500, windowed)).toBe('held');
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 2000]);
  });

  it('WHEEL on a window queue turns ready when the window passed, is full, or the batch failed', () => {
    const cases = [
      { messages: 1, covered: true, atMs: nowMs + 2000 },
      { messages: 100, covered: true, atMs: nowMs },
      { messages: 1, covered: false, atMs: nowMs },
    ];
    for (const { messages, covered, atMs } of cases) {
      ring = newRing();
      entryIn(WHEEL);
      page().drained[0] = 1;
      ring.assertPending(0, messages, nowMs);
      expect(promote(ring, 0, covered, atMs, windowed)).toBe('ready');
    }
  });

  it('INFLIGHT stays; both races are noted for the check-in', () => {
    entryIn(INFLIGHT);
    const epoch = page().epoch[0]!;
    expect(promote(ring, 0, true, nowMs, plain)).toBe('noted');
    expect([state(), page().epoch[0], page().releases[0]]).toEqual([INFLIGHT, epoch + 1, 1]);
  });

  it('READY, IDLE and entries never seen are left alone', () => {
    for (const wanted of [READY, IDLE]) {
      ring = newRing();
      entryIn(wanted);
      expect(promote(ring, 0, false, nowMs, plain)).toBe('ignored');
      expect(state()).toBe(wanted);
    }
    expect(promote(newRing(), 500, false, nowMs, plain)).toBe('ignored');
  });
});
