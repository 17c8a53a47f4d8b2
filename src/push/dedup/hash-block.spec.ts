import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BLOCK_KEYS_MAX, EQUALS_MAX, HashBlock } from './hash-block.js';

function numbersOf(block: HashBlock, low: number, high: number): number[] {
  const numbers: number[] = [];
  block.find(low, high, numbers);
  return numbers;
}

describe('HashBlock', () => {
  it('finds every key by its number, and no other key', () => {
    const half = fc.integer({ min: 0, max: 0xffff_ffff });
    const key = fc.oneof(
      fc.tuple(fc.constantFrom(0, 1, 0xffff_ffff), fc.constantFrom(0, 1, 0xffff_ffff)),
      fc.tuple(half, half),
    );
    fc.assert(
      fc.property(fc.array(key, { maxLength: 200 }), fc.array(key, { maxLength: 20 }), (keys, others) => {
        const block = HashBlock.growing();
        const expected = new Map<string, number[]>();
        for (const [number, [low, high]] of keys.entries()) {
          block.append(low, high);
          expected.set(`${low} ${high}`, [...(expected.get(`${low} ${high}`) ?? []), number]);
        }
        expect(block.length).toBe(keys.length);
        for (const [low, high] of [...keys, ...others]) {
          const all = expected.get(`${low} ${high}`) ?? [];
          const numbers: number[] = [];
          const isAll = block.find(low, high, numbers);
          if (isAll) expect(numbers).toEqual(all);
          else expect(numbers.at(-1)).toBe(all.at(-1));
          if (all.length > EQUALS_MAX) expect(isAll).toBe(false);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('tells that it does not know all numbers of a key that comes without end, and stays quick', () => {
    const block = HashBlock.behind(BLOCK_KEYS_MAX);
    for (let n = 0; n < 100_000; n++) block.append(7, 7);
    block.append(8, 8);
    const numbers: number[] = [];
    expect(block.find(7, 7, numbers)).toBe(false);
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5, 6, 99_999]);
    expect(block.find(9, 9, [])).toBe(true);
    expect(numbersOf(block, 8, 8)).toEqual([100_000]);
  });

  it('spreads keys that differ in a few bits only', () => {
    // Were slots taken from bits of the key as it is, these would be one long row, and this would take minutes.
    for (const step of [1, 1 << 12]) {
      for (const [byLow, byHigh] of [
        [1, 0],
        [0, 1],
      ]) {
        const block = HashBlock.behind(BLOCK_KEYS_MAX);
        for (let n = 0; n < 100_000; n++) block.append(byLow * n * step, byHigh * n * step);
        expect(numbersOf(block, byLow * 99_999 * step, byHigh * 99_999 * step).at(-1)).toBe(99_999);
      }
    }
  });

  it('grows up to a size that can be copied quickly; the ones behind it have theirs from the start', () => {
    const first = HashBlock.growing();
    expect(first.bytes).toBeLessThan(600);
    for (let n = 0; !first.isFull; n++) first.append(n, n);
    expect(first.length).toBe(65_536);
    expect(numbersOf(first, 55_555, 55_555)).toEqual([55_555]);
    const sizes = [65_536, 131_072, 262_143, 262_144, 10_000_000].map(
      (held) => HashBlock.behind(held).bytes - 256,
    );
    expect(sizes.map((bytes) => bytes / 16)).toEqual([
      65_536,
      131_072,
      131_072,
      BLOCK_KEYS_MAX,
      BLOCK_KEYS_MAX,
    ]);
  });

  it('takes 16 bytes a key when it is full', () => {
    const block = HashBlock.behind(BLOCK_KEYS_MAX);
    for (let n = 0; n < BLOCK_KEYS_MAX; n++) block.append(n, n);
    expect(block.isFull).toBe(true);
    expect(block.bytes / BLOCK_KEYS_MAX).toBeLessThan(16.01);
    expect(numbersOf(block, 77_777, 77_777)).toEqual([77_777]);
  });
});
