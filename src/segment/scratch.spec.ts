import { describe, expect, it } from '@jest/globals';
import { Scratch } from './scratch.js';

describe('Scratch', () => {
  it('hands out the same memory as long as it is large enough', () => {
    const scratch = new Scratch(1024);
    const first = scratch.take(100);
    expect(first.length).toBeGreaterThanOrEqual(100);
    expect(scratch.take(50)).toBe(first);
    expect(scratch.take(first.length)).toBe(first);
  });

  it('grows up to what it may keep', () => {
    const scratch = new Scratch(1024);
    scratch.take(600);
    expect(scratch.take(601).length).toBe(1024);
  });

  it('does not keep what is larger', () => {
    const scratch = new Scratch(1024);
    const kept = scratch.take(1024);
    const large = scratch.take(5000);
    expect(large.length).toBe(5000);
    expect(large).not.toBe(kept);
    expect(scratch.take(1024)).toBe(kept);
  });
});
