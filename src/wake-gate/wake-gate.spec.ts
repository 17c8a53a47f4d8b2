import { describe, expect, it } from '@jest/globals';
import type { WaitList } from './wait-list.js';
import { WakeGate } from './wake-gate.js';

function opened(gate: WakeGate, partition?: string): WaitList[] {
  const lists: WaitList[] = [];
  gate.open(partition, false, (list) => lists.push(list));
  return lists;
}

describe('WakeGate', () => {
  it('opens everyone and the named partition, or with none named everything', () => {
    const gate = new WakeGate();
    const [a, b] = [gate.partition('a'), gate.partition('b')];
    expect(opened(gate, 'a')).toEqual([gate.everyone, a]);
    expect(opened(gate, 'never asked for')).toEqual([gate.everyone]);
    expect(opened(gate)).toEqual([gate.everyone, a, b]);
    expect([gate.everyone.seq, a.seq, b.seq]).toEqual([3, 2, 1]);
  });

  it('does not make a list for a partition nobody waits for', () => {
    const gate = new WakeGate();
    for (let i = 0; i < 1_000; i++) opened(gate, `p${i}`);
    expect(gate.isUnused).toBe(true);
  });

  describe('hints', () => {
    it('keeps the newest 64 of 100', () => {
      const gate = new WakeGate();
      for (let i = 0; i < 100; i++) opened(gate, `p${i}`);
      expect(gate.drainHints(1_000)).toEqual(Array.from({ length: 64 }, (_, i) => `p${i + 36}`));
    });

    it('gives each name once, first in first out, and no more than asked for', () => {
      const gate = new WakeGate();
      for (const partition of ['a', 'b', 'a', 'c', 'b']) opened(gate, partition);
      expect(gate.drainHints(2)).toEqual(['a', 'c']);
      expect(gate.drainHints(2)).toEqual(['b']);
      expect(gate.drainHints(2)).toEqual([]);
      expect(gate.drainHints(0)).toEqual([]);
    });

    it('keeps none for openings without a partition', () => {
      const gate = new WakeGate();
      opened(gate);
      expect(gate.drainHints(10)).toEqual([]);
    });
  });
});
