import { beforeEach, describe, expect, it } from '@jest/globals';
import { newRing, plainHolds } from '../../test/support/hotlist.js';
import type { Holds } from './holds.js';
import { applyVerdict } from './ring-checkin.js';
import { mark, promote } from './ring-marks.js';
import { type Candidate, IDLE, READY, type Ring, WHEEL } from './ring.js';
import type { Verdict } from './verdict.js';

const nowMs = 50_000;
const plain = plainHolds;
const delayed = { ...plainHolds, delayedMs: 5000 };
const windowed = { ...plainHolds, windowMs: 2000 };
const leaseTerms = { autoAck: false, leaseMs: 60_000 };
const autoAckTerms = { autoAck: true, leaseMs: 0 };

let ring: Ring;
let candidate: Candidate;
beforeEach(() => {
  ring = newRing();
  ring.assertPending(0, 5, nowMs);
  ring.toReady(0, nowMs);
  candidate = ring.take(1, 10, nowMs, 1).candidates[0]!;
});

const page = () => ring.entries.page(0);
const state = () => ring.stateOf(0);
const markNow = (holds: Holds, messages = 1) => mark(ring, 0, messages, nowMs + 10, holds);

function checkIn(
  verdict: Omit<Verdict, 'partition'>,
  terms: typeof leaseTerms,
  holds: Holds,
  atMs = nowMs + 20,
) {
  applyVerdict(ring, candidate, { partition: 'p', ...verdict }, terms, atMs, holds);
}

describe('took with a lease', () => {
  it('rests until the revisit cap, or the end of a shorter lease and the padding', () => {
    checkIn({ state: 'took' }, leaseTerms, plain, nowMs);
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 1000]);
    ring.toReady(0, nowMs);
    candidate = ring.take(1, 1, nowMs, 2).candidates[0]!;
    checkIn({ state: 'took' }, { autoAck: false, leaseMs: 500 }, plain, nowMs);
    expect(ring.revisitMsOf(0)).toBe(nowMs + 800);
  });

  it('starts the estimate anew and remembers whether the partition was drained', () => {
    checkIn({ state: 'took', drained: true }, leaseTerms, plain);
    expect([page().count[0], page().drained[0]]).toEqual([0, 1]);
  });

  it('keeps the count of a mark that came meanwhile, so that the ack does not clear the partition', () => {
    markNow(plain);
    checkIn({ state: 'took', drained: true }, leaseTerms, plain);
    expect(page().count[0]).toBe(6);
    expect(promote(ring, 0, true, nowMs + 30, plain)).toBe('ready');
  });

  it('counts a mark that came after it, so that the ack does not clear the partition', () => {
    checkIn({ state: 'took', drained: true }, leaseTerms, plain);
    mark(ring, 0, 1, nowMs + 30, plain);
    expect(promote(ring, 0, true, nowMs + 40, plain)).toBe('ready');
  });

  it('an earlier drained claim does not clear after a newer claim that was not', () => {
    checkIn({ state: 'took', drained: true }, leaseTerms, plain);
    ring.toReady(0, nowMs);
    candidate = ring.take(1, 1, nowMs, 2).candidates[0]!;
    checkIn({ state: 'leased', waitMs: 5000 }, leaseTerms, plain);
    expect(promote(ring, 0, true, nowMs + 30, plain)).toBe('ready');
  });
});

describe('took with auto-ack', () => {
  it('goes back to the line while something is left', () => {
    for (const holds of [plain, delayed, windowed]) {
      checkIn({ state: 'took', drained: false }, autoAckTerms, holds);
      expect(state()).toBe(READY);
      candidate = ring.take(1, 1, nowMs, 2).candidates[0]!;
    }
  });

  it('goes idle when nothing is left and nothing came', () => {
    checkIn({ state: 'took', drained: true }, autoAckTerms, plain);
    expect([state(), page().count[0]]).toEqual([IDLE, 0]);
  });

  it('goes back to the line when a mark came meanwhile', () => {
    markNow(plain);
    checkIn({ state: 'took', drained: true }, autoAckTerms, plain);
    expect(state()).toBe(READY);
  });

  it('on a window queue the window starts anew', () => {
    markNow(windowed);
    checkIn({ state: 'took', drained: true }, autoAckTerms, windowed, nowMs + 20);
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 2020]);
  });

  it('on a window queue the window starts anew with the next mark when none came', () => {
    checkIn({ state: 'took', drained: true }, autoAckTerms, windowed);
    mark(ring, 0, 1, nowMs + 500, windowed);
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 2500]);
  });

  it('on a window queue a full window is served at once', () => {
    markNow(windowed, 100);
    checkIn({ state: 'took', drained: true }, autoAckTerms, windowed);
    expect(state()).toBe(READY);
  });
});

describe('leased', () => {
  it('rests for the wait and the padding, at most until the revisit cap', () => {
    checkIn({ state: 'leased', waitMs: 250 }, leaseTerms, plain, nowMs);
    expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + 550]);
    ring.toReady(0, nowMs);
    candidate = ring.take(1, 1, nowMs, 2).candidates[0]!;
    checkIn({ state: 'leased', waitMs: 50_000 }, leaseTerms, plain, nowMs);
    expect(ring.revisitMsOf(0)).toBe(nowMs + 1000);
  });

  it('is looked at again soon when no wait was given', () => {
    checkIn({ state: 'leased' }, leaseTerms, plain, nowMs);
    expect(ring.revisitMsOf(0)).toBe(nowMs + 550);
  });

  it('goes back to the line when the lease ended while we looked', () => {
    expect(promote(ring, 0, true, nowMs, plain)).toBe('noted');
    checkIn({ state: 'leased', waitMs: 50_000 }, leaseTerms, plain);
    expect(state()).toBe(READY);
  });

  it('keeps the estimate', () => {
    checkIn({ state: 'leased', waitMs: 250 }, leaseTerms, plain);
    expect(page().count[0]).toBe(5);
  });
});

describe('empty', () => {
  it('goes idle', () => {
    checkIn({ state: 'empty' }, leaseTerms, plain);
    expect([state(), page().count[0], page().pendingSinceMs[0]]).toEqual([IDLE, 0, 0]);
  });

  it('goes back to the line when a mark or a release came meanwhile', () => {
    markNow(plain);
    checkIn({ state: 'empty' }, leaseTerms, plain);
    expect(state()).toBe(READY);
    candidate = ring.take(1, 1, nowMs, 2).candidates[0]!;
    promote(ring, 0, false, nowMs, plain);
    checkIn({ state: 'empty' }, leaseTerms, plain);
    expect(state()).toBe(READY);
  });

  it('a mark before the take does not keep it, one after the check-in brings it back', () => {
    checkIn({ state: 'empty' }, leaseTerms, plain);
    expect(state()).toBe(IDLE);
    markNow(plain);
    expect(state()).toBe(READY);
  });

  it('is asked again within a second on a queue with holds', () => {
    const cases: [Holds, number][] = [
      [delayed, 1000],
      [{ ...plain, delayedMs: 200 }, 200],
      [{ ...plain, delayedMs: 10 }, 50],
      [windowed, 50],
    ];
    for (const [holds, revisitMs] of cases) {
      checkIn({ state: 'empty' }, leaseTerms, holds, nowMs);
      expect([state(), ring.revisitMsOf(0)]).toEqual([WHEEL, nowMs + revisitMs]);
      ring.toReady(0, nowMs);
      candidate = ring.take(1, 1, nowMs, 2).candidates[0]!;
    }
  });

  it('is final on a queue with holds after the grace time, not before', () => {
    const graceMs = 2000 + 2 * 300 + 1000;
    checkIn({ state: 'empty' }, leaseTerms, windowed, nowMs + graceMs - 1);
    expect(state()).toBe(WHEEL);
    ring.toReady(0, nowMs);
    candidate = ring.take(1, 1, nowMs, 2).candidates[0]!;
    checkIn({ state: 'empty' }, leaseTerms, windowed, nowMs + graceMs);
    expect([state(), page().count[0], page().pendingSinceMs[0]]).toEqual([IDLE, 0, 0]);
  });
});
