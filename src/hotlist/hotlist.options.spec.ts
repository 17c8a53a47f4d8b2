import { describe, expect, it } from '@jest/globals';
import { candidateCount } from './hotlist.options.js';

describe('candidateCount', () => {
  it('is eight for each partition, between 16 and 256', () => {
    const counts = [1, 2, 3, 31, 32, 33, 100].map((partitions) => candidateCount(partitions));
    expect(counts).toEqual([16, 16, 24, 248, 256, 256, 256]);
  });

  it('follows its options', () => {
    const options = { candidateFactor: 2, candidateMin: 2, candidateMax: 64 };
    expect([1, 10, 100].map((partitions) => candidateCount(partitions, options))).toEqual([2, 20, 64]);
  });
});
