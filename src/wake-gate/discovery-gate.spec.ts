import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { DiscoveryGate } from './discovery-gate.js';

describe('DiscoveryGate', () => {
  function gateWithTimes(): { clock: ManualClock; gate: DiscoveryGate; times: number[] } {
    const clock = new ManualClock();
    const times: number[] = [];
    const gate = new DiscoveryGate(clock, () => times.push(clock.monoMs()));
    return { clock, gate, times };
  }

  it('opens at once on the first push, and once more for all pushes of the next 50 ms', () => {
    const { clock, gate, times } = gateWithTimes();
    gate.pushed();
    for (let i = 0; i < 10; i++) {
      clock.advance(4);
      gate.pushed();
    }
    clock.advance(1_000);
    expect(times).toEqual([0, 50]);
    expect(gate.list.seq).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('opens 20 times a second under a steady stream', () => {
    const { clock, gate, times } = gateWithTimes();
    for (let i = 0; i < 1_000; i++) {
      gate.pushed();
      clock.advance(1);
    }
    expect(times.filter((atMs) => atMs < 1_000)).toHaveLength(20);
  });

  it('never leaves a push without an opening after it', () => {
    const { clock, gate, times } = gateWithTimes();
    for (const pauseMs of [0, 1, 49, 50, 51, 3, 120, 7]) {
      clock.advance(pauseMs);
      const pushedAtMs = clock.monoMs();
      gate.pushed();
      clock.advance(50);
      expect(times.some((atMs) => atMs >= pushedAtMs)).toBe(true);
    }
  });

  it('arms no timer without a push, and drops it when stopped', () => {
    const { clock, gate } = gateWithTimes();
    expect(clock.pendingTimers).toBe(0);
    gate.pushed();
    gate.pushed();
    expect(clock.pendingTimers).toBe(1);
    gate.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
