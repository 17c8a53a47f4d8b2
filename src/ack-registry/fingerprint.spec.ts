import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fingerprintOf } from './fingerprint.js';
import { IdHashes } from './id-hashes.js';

function fingerprint(ids: readonly string[]) {
  const hashes = new IdHashes(ids.length);
  for (const id of ids) hashes.addText(id);
  return fingerprintOf(hashes.view);
}

describe('fingerprintOf', () => {
  it('counts distinct ids', () => {
    expect(fingerprint(['a', 'b', 'a', 'a']).count).toBe(2);
    expect(fingerprint([]).count).toBe(0);
  });

  it('does not depend on order or repetition', () => {
    expect(fingerprint(['b', 'a', 'b', 'c'])).toEqual(fingerprint(['c', 'b', 'a']));
  });

  it('tells apart sets that differ by one id', () => {
    const ids = Array.from({ length: 1000 }, (_, i) => `id-${i}`);
    const whole = fingerprint(ids).digest;
    expect(fingerprint(ids.slice(1)).digest).not.toBe(whole);
    expect(fingerprint([...ids, 'id-1000']).digest).not.toBe(whole);
    expect(fingerprint([...ids.slice(1), 'id-1000']).digest).not.toBe(whole);
  });

  it('keeps its table clean between batches of any size', () => {
    const small = fingerprint(['x', 'y']);
    fingerprint(Array.from({ length: 20_000 }, (_, i) => `big-${i}`));
    expect(fingerprint(['x', 'y'])).toEqual(small);
  });

  it('agrees with comparing sets, over many pairs of small and close sets', () => {
    const ids = fc.array(fc.constantFrom(...'abcdefgh'), { maxLength: 8 });
    fc.assert(
      fc.property(ids, ids, (left, right) => {
        const equal = isSameSet(new Set(left), new Set(right));
        expect(fingerprint(left).digest === fingerprint(right).digest).toBe(equal);
      }),
      { numRuns: 5_000 },
    );
  });

  it('gives every subset of twelve ids a digest of its own: eight million pairs of sets', () => {
    const ids = Array.from({ length: 12 }, (_, i) => `message-${i}`);
    const digests = new Set<string>();
    for (let members = 0; members < 1 << ids.length; members++) {
      const subset = ids.filter((_, i) => members & (1 << i));
      const { digest } = fingerprint(subset);
      expect(fingerprint(subset.reverse()).digest).toBe(digest);
      digests.add(digest);
    }
    expect(digests.size).toBe(4096);
  });
});

function isSameSet(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  return left.size === right.size && [...left].every((id) => right.has(id));
}
