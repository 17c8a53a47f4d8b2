import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Generations } from './generations.js';

describe('Generations', () => {
  it('never holds more than its bound, and always what was set or used last', () => {
    const step = fc.record({ kind: fc.constantFrom('set', 'get', 'delete'), key: fc.nat(30).map(String) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const cache = new Generations<string>(8);
        const model = new Map<string, string>();
        let recent: string[] = [];
        steps.forEach(({ kind, key }, i) => {
          const isHit = kind === 'get' && cache.get(key) !== undefined;
          if (isHit) expect(cache.get(key)).toBe(model.get(key));
          if (kind === 'set') {
            cache.set(key, `${i}`);
            model.set(key, `${i}`);
          }
          recent = recent.filter((one) => one !== key);
          if (kind === 'set' || isHit) recent.unshift(key);
          if (kind === 'delete') {
            cache.delete(key);
            expect(cache.get(key)).toBeUndefined();
          }
          expect(cache.size).toBeLessThanOrEqual(9);
        });
        // Looking moves entries, so only the four used last are sure to be left.
        for (const key of recent.slice(0, 4).reverse()) expect(cache.get(key)).toBe(model.get(key));
      }),
    );
  });

  it('keeps an entry that is used while others come and go', () => {
    const cache = new Generations<number>(100);
    cache.set('used', 1);
    for (let i = 0; i < 1000; i++) {
      cache.set(`other-${i}`, i);
      expect(cache.get('used')).toBe(1);
    }
    expect(cache.get('other-0')).toBeUndefined();
  });
});
