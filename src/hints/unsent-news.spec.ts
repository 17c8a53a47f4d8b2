import { describe, expect, it } from '@jest/globals';
import type { Hint } from './hint.js';
import { UnsentNews } from './unsent-news.js';

const mark: Hint = { kind: 'dirty', key: 'q', partition: 'p' };
const dropped: Hint = { kind: 'dropped', key: 'q' };
const reconcile: Hint = { kind: 'reconcile' };

describe('hints that could not be sent', () => {
  it('are given up when they are marks, and kept when administration changed something', () => {
    const unsent = new UnsentNews();
    expect(unsent.keep([mark, dropped, { kind: 'hello' }, reconcile])).toBe(2);
    expect(unsent.take()).toEqual([dropped, reconcile]);
    expect(unsent.take()).toEqual([]);
  });

  it('are bounded, and beyond the bound become one call to read everything', () => {
    const unsent = new UnsentNews();
    expect(unsent.keep(Array.from({ length: 999 }, () => dropped))).toBe(0);
    expect(unsent.keep([dropped, dropped, dropped])).toBe(2);
    expect(unsent.keep([dropped, mark])).toBe(2);
    const kept = unsent.take();
    expect(kept).toHaveLength(1001);
    expect(kept.at(-1)).toEqual(reconcile);
    expect(unsent.take()).toEqual([]);
  });
});
