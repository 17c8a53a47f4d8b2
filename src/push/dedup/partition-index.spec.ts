import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashTransactionIds } from '../../segment/transaction-hash.js';
import { SINCE_EVER } from './dedup-promise.js';
import { BLOCK_KEYS_MAX } from './hash-block.js';
import { PartitionIndex } from './partition-index.js';

const SECOND = 1_000_000;
const WINDOW_SECONDS = 64;

function indexFrom(verified = -1): PartitionIndex {
  return new PartitionIndex('partition', WINDOW_SECONDS, verified, SINCE_EVER);
}

function offsetsOf(index: PartitionIndex, id: string): number[] {
  const offsets: number[] = [];
  expect(index.find(hashTransactionIds([id]), 0, offsets)).toBe(true);
  return offsets;
}

describe('PartitionIndex', () => {
  it('names the offsets of an id', () => {
    const index = indexFrom(99);
    expect(index.extend(100, hashTransactionIds(['a', 'b', 'a']), SECOND)).toBe(true);
    expect([index.verified, index.knownEnd]).toEqual([102, 102]);
    expect([offsetsOf(index, 'a'), offsetsOf(index, 'b'), offsetsOf(index, 'c')]).toEqual([
      [100, 102],
      [101],
      [],
    ]);
  });

  it('refuses what does not follow, and passes over what it has', () => {
    const index = indexFrom();
    index.extend(0, hashTransactionIds(['a', 'b']), SECOND);
    expect(index.extend(3, hashTransactionIds(['d']), SECOND)).toBe(false);
    expect(index.extend(0, hashTransactionIds(['a', 'b']), SECOND)).toBe(true);
    expect(index.extend(1, hashTransactionIds(['b', 'c']), SECOND)).toBe(true);
    expect(index.verified).toBe(2);
    expect([offsetsOf(index, 'a'), offsetsOf(index, 'b'), offsetsOf(index, 'c')]).toEqual([[0], [1], [2]]);
  });

  it('keeps what came too early until the rest is there', () => {
    const index = indexFrom();
    index.keepAhead(2, hashTransactionIds(['c']), SECOND);
    index.keepAhead(3, hashTransactionIds(['d', 'e']), SECOND);
    index.keepAhead(9, hashTransactionIds(['j']), SECOND);
    expect([index.verified, offsetsOf(index, 'd')]).toEqual([-1, []]);
    index.extend(0, hashTransactionIds(['a', 'b', 'c']), SECOND);
    expect(index.verified).toBe(4);
    expect(['c', 'd', 'e', 'j'].map((id) => offsetsOf(index, id))).toEqual([[2], [3], [4], []]);
  });

  it('keeps little that came too early', () => {
    const index = indexFrom();
    const hashes = hashTransactionIds(Array.from({ length: 1000 }, (_, n) => `m${n}`));
    for (let base = 1; base < 1_000_000; base += 1000) index.keepAhead(base, hashes, SECOND);
    expect(index.bytes).toBeLessThan(300_000);
    index.extend(0, hashTransactionIds(['first']), SECOND);
    expect(index.verified).toBe(16_000);
  });

  it('forgets what has left the window, and says from when on it is complete', () => {
    const index = indexFrom();
    for (let n = 0; n < 100; n++) index.extend(n, hashTransactionIds([`m${n}`]), n * SECOND);
    index.forgetOlder(99 * SECOND);
    expect(offsetsOf(index, 'm34')).toEqual([]);
    expect(offsetsOf(index, 'm35')).toEqual([35]);
    expect(index.sinceMicros).toBe(35 * SECOND);
    index.forgetOlder(0); // a clock that was set back
    expect(index.sinceMicros).toBe(35 * SECOND);
  });

  it('gives the memory of what it forgot back', () => {
    const index = indexFrom();
    const ids = Array.from({ length: 4096 }, (_, n) => `m${n}`);
    const hashes = hashTransactionIds(ids);
    for (let base = 0; base < 4 * BLOCK_KEYS_MAX; base += ids.length)
      index.extend(base, hashes, (base / 4096) * SECOND);
    const full = index.bytes;
    expect(full).toBeGreaterThan(4 * BLOCK_KEYS_MAX * 16);
    index.forgetOlder(256 * SECOND);
    expect(index.bytes).toBeLessThan(full / 3);
    index.forgetOlder(1000 * SECOND);
    expect(index.bytes).toBeLessThan(2_000);
    expect(index.verified).toBe(4 * BLOCK_KEYS_MAX - 1);
  });

  it('keeps few marks of many messages that come close together', () => {
    const index = indexFrom();
    for (let n = 0; n < 10_000; n++) index.extend(n, hashTransactionIds([`m${n}`]), n * 1000);
    const perMessage = (index.bytes - 16 * 16_384) / 10_000;
    expect(perMessage).toBeLessThan(0.2);
  });

  it('finds every id inside the window and only ids that were stored', () => {
    const message = fc.record({ id: fc.constantFrom(...'abcdefgh'), afterSeconds: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 80 }), fc.nat(1000), (messages, first) => {
        const index = indexFrom(first - 1);
        const stored: { id: string; offset: number; at: number }[] = [];
        let at = 0;
        for (const [n, { id, afterSeconds }] of messages.entries()) {
          at += afterSeconds * SECOND;
          stored.push({ id, offset: first + n, at });
          index.forgetOlder(at);
          index.extend(first + n, hashTransactionIds([id]), at);
          expect(index.sinceMicros).toBeLessThanOrEqual(at - WINDOW_SECONDS * SECOND);
          for (const one of 'abcdefgh') {
            const all = stored.filter((other) => other.id === one);
            const live = all.filter((other) => other.at >= index.sinceMicros).map(({ offset }) => offset);
            const offsets: number[] = [];
            const isAll = index.find(hashTransactionIds([one]), 0, offsets);
            expect(all.map(({ offset }) => offset)).toEqual(expect.arrayContaining(offsets));
            if (isAll) expect(offsets).toEqual(expect.arrayContaining(live));
            else expect(offsets).not.toEqual([]);
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});
