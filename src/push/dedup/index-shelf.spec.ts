import { describe, expect, it } from '@jest/globals';
import { ManualClock } from '../../base/clock/manual-clock.js';
import { hashTransactionIds } from '../../segment/transaction-hash.js';
import { SINCE_EVER } from './dedup-promise.js';
import { IndexShelf } from './index-shelf.js';
import { PartitionIndex } from './partition-index.js';

const EMPTY_BYTES = new PartitionIndex('p', 60, -1, SINCE_EVER).bytes;

function indexOf(messages: number): PartitionIndex {
  const index = new PartitionIndex('p', 60, -1, SINCE_EVER);
  if (messages > 0)
    index.extend(0, hashTransactionIds(Array.from({ length: messages }, (_, n) => `m${n}`)), 0);
  return index;
}

describe('IndexShelf', () => {
  it('counts the bytes of what it holds', () => {
    const clock = new ManualClock();
    const shelf = new IndexShelf(1_000_000, clock);
    const index = indexOf(0);
    expect(shelf.put('a', index)).toBe(true);
    expect(shelf.put('b', indexOf(0))).toBe(true);
    expect([shelf.size, shelf.bytes]).toEqual([2, 2 * EMPTY_BYTES]);
    index.extend(0, hashTransactionIds(['x']), 0);
    expect(shelf.weigh('a')).toBe(true);
    expect(shelf.bytes).toBe(EMPTY_BYTES + index.bytes);
    shelf.remove('a');
    shelf.removeAll('');
    shelf.remove('a');
    expect([shelf.size, shelf.bytes]).toEqual([0, 0]);
  });

  it('makes room by those that were used longest ago', () => {
    const clock = new ManualClock();
    const shelf = new IndexShelf(3 * EMPTY_BYTES, clock);
    for (const key of ['a', 'b', 'c']) shelf.put(key, indexOf(0));
    clock.advance(20_000);
    shelf.use('a');
    expect(shelf.put('d', indexOf(0))).toBe(true);
    expect(['a', 'b', 'c', 'd'].filter((key) => shelf.get(key))).toEqual(['a', 'c', 'd']);
    expect([shelf.bytes, shelf.evicted]).toEqual([3 * EMPTY_BYTES, 1]);
  });

  it('takes nothing new while all are in use, and leaves that partition alone for a while', () => {
    const clock = new ManualClock();
    const shelf = new IndexShelf(2 * EMPTY_BYTES, clock);
    for (const key of ['a', 'b']) shelf.put(key, indexOf(0));
    clock.advance(5_000);
    expect(shelf.put('c', indexOf(0))).toBe(false);
    expect([shelf.mayTake('c'), shelf.mayTake('d'), shelf.size]).toEqual([false, true, 2]);
    clock.advance(60_000);
    expect(shelf.mayTake('c')).toBe(true);
    expect(shelf.put('c', indexOf(0))).toBe(true);
  });

  it('gives one partition half of it at most', () => {
    const clock = new ManualClock();
    const large = indexOf(1000);
    const shelf = new IndexShelf(2 * large.bytes - 1, clock);
    shelf.put('small', indexOf(0));
    clock.advance(20_000);
    expect(shelf.put('large', large)).toBe(false);
    expect(shelf.get('small')).toBeDefined();
    expect(new IndexShelf(2 * large.bytes, clock).put('large', large)).toBe(true);
  });

  it('lets one go that has grown out of it', () => {
    const clock = new ManualClock();
    const index = indexOf(0);
    const shelf = new IndexShelf(6_000, clock);
    expect(shelf.put('a', index)).toBe(true);
    index.extend(0, hashTransactionIds(Array.from({ length: 1000 }, (_, n) => `m${n}`)), 0);
    expect(shelf.weigh('a')).toBe(false);
    expect([shelf.get('a'), shelf.bytes, shelf.mayTake('a')]).toEqual([undefined, 0, false]);
  });

  it('holds nothing without memory', () => {
    const shelf = new IndexShelf(0, new ManualClock());
    expect([shelf.mayTake('a'), shelf.put('a', indexOf(0)), shelf.size]).toEqual([false, false, 0]);
  });
});
