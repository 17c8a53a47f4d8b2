import { describe, expect, it } from '@jest/globals';
import { DirtySet } from './dirty-set.js';

describe('DirtySet', () => {
  it('holds each mark once and says when it begins to fill', () => {
    const dirty = new DirtySet(10);
    expect(dirty.add('k', 'p')).toBe(true);
    expect(dirty.add('k', 'p')).toBe(false);
    expect(dirty.add('k', 'p', 'g')).toBe(false);
    expect(dirty.size).toBe(2);
  });

  it('drops and counts beyond the cap, but not what it has already', () => {
    const dirty = new DirtySet(2);
    for (const partition of ['a', 'b', 'c', 'a', 'd']) dirty.add('k', partition);
    expect([dirty.size, dirty.dropped]).toEqual([2, 2]);
    expect(dirty.drain(10).map((mark) => mark.partition)).toEqual(['a', 'b']);
  });

  it('drains in portions and says again when it begins to fill', () => {
    const dirty = new DirtySet(10);
    dirty.add('k', 'a');
    dirty.add('k', 'b', 'g');
    dirty.add('l', 'c');
    expect(dirty.drain(2)).toEqual([
      { key: 'k', partition: 'a' },
      { key: 'k', partition: 'b', group: 'g' },
    ]);
    expect(dirty.drain(2)).toEqual([{ key: 'l', partition: 'c' }]);
    expect(dirty.drain(2)).toEqual([]);
    expect(dirty.add('k', 'a')).toBe(true);
  });
});
