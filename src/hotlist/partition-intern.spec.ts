import { describe, expect, it } from '@jest/globals';
import { PartitionIntern } from './partition-intern.js';

const idA = '018f3a52-7b1c-7def-8abc-0123456789ab';
const idB = '018f3a52-7b1c-7def-8abc-0123456789ac';

describe('PartitionIntern', () => {
  it('gives a name the same index for ever', () => {
    const intern = new PartitionIntern();
    const [a, b] = [intern.intern('a'), intern.intern('b')];
    expect([intern.intern('a'), intern.intern('b')]).toEqual([a, b]);
    expect([intern.name(a), intern.name(b), intern.size]).toEqual(['a', 'b', 2]);
  });

  it('does not add what it is asked for', () => {
    const intern = new PartitionIntern();
    expect(intern.find('a')).toBeUndefined();
    expect(intern.findById(idA)).toBeUndefined();
    expect(intern.size).toBe(0);
  });

  it('finds a name by its id in any spelling', () => {
    const intern = new PartitionIntern();
    intern.intern('other');
    const index = intern.intern('a');
    intern.learn(index, idA);
    expect(intern.findById(idA)).toBe(index);
    expect(intern.findById(idA.toUpperCase())).toBe(index);
    expect(intern.findById(idB)).toBeUndefined();
  });

  it('follows a partition that was made anew under its old name', () => {
    const intern = new PartitionIntern();
    const index = intern.intern('a');
    intern.learn(index, idA);
    intern.learn(index, idB);
    expect(intern.findById(idB)).toBe(index);
    expect(intern.findById(idA)).toBeUndefined();
  });

  it('takes an id that is no UUID as it is', () => {
    const intern = new PartitionIntern();
    const index = intern.intern('a');
    intern.learn(index, 'not-a-uuid');
    expect(intern.findById('not-a-uuid')).toBe(index);
  });
});
