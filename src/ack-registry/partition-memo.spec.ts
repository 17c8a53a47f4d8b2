import { describe, expect, it } from '@jest/globals';
import { PartitionMemo } from './partition-memo.js';

describe('PartitionMemo', () => {
  it('finds what it was told and nothing else', () => {
    const memo = new PartitionMemo();
    memo.remember('p-1', 'tenant\u001forders', 'eu');
    expect(memo.find('p-1')).toEqual({ key: 'tenant\u001forders', partition: 'eu' });
    expect(memo.find('p-2')).toBeUndefined();
  });

  it('keeps one entry for a partition that is handed out again and again', () => {
    const memo = new PartitionMemo();
    const first = memo.remember('p-1', 'key', 'eu');
    expect(memo.remember('p-1', 'key', 'eu')).toBe(first);
    expect(memo.size).toBe(1);
  });

  it('is bounded: what was not used for longest goes first', () => {
    const memo = new PartitionMemo();
    for (let i = 0; i < 120_000; i++) memo.remember(`p-${i}`, 'key', 'name');
    expect(memo.size).toBeLessThanOrEqual(100_001);
    expect(memo.find('p-0')).toBeUndefined();
    expect(memo.find('p-119999')).toBeDefined();
  });
});
