import { describe, expect, it } from '@jest/globals';
import { NameIndex } from './name-index.js';

describe('NameIndex', () => {
  it('is a map, also beyond the size at which it is spread out', () => {
    const index = new NameIndex();
    const size = 40_000;
    for (let n = 0; n < size; n++) index.set(`p${n}`, n);
    for (const n of [0, 8191, 8192, 39_999]) {
      expect(index.get(`p${n}`)).toBe(n);
      index.set(`p${n}`, -n);
      expect(index.get(`p${n}`)).toBe(-n);
      index.delete(`p${n}`);
      expect(index.get(`p${n}`)).toBeUndefined();
      index.set(`p${n}`, n);
    }
    let found = 0;
    for (let n = 0; n < size; n++) if (index.get(`p${n}`) === n) found++;
    expect(found).toBe(size);
    expect([index.get('stranger'), index.get('')]).toEqual([undefined, undefined]);
  });

  it('spreads numbered names and ids evenly enough', () => {
    const index = new NameIndex();
    const names = Array.from({ length: 200_000 }, (_, n) => (n % 2 ? `customer-${n}` : `${n}-\u00ff\u0001`));
    for (const [n, name] of names.entries()) index.set(name, n);
    const sizes = index['shards'].map((shard) => shard.size);
    expect(Math.max(...sizes)).toBeLessThan(2000);
  });

  it('keeps one map while there are few', () => {
    const index = new NameIndex();
    for (let n = 0; n < 1000; n++) index.set(`p${n}`, n);
    expect(index['shards']).toEqual([]);
  });
});
