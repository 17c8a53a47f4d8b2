import { describe, expect, it } from '@jest/globals';
import { StepSize } from './step-size.js';

describe('StepSize', () => {
  it('starts with everything, halves after slow steps and grows back after quick ones', () => {
    const size = new StepSize(1000);
    expect(size.value).toBe(1000);
    size.took(101);
    expect(size.value).toBe(500);
    size.took(50);
    expect(size.value).toBe(500);
    size.took(24);
    expect(size.value).toBe(1000);
    size.took(1);
    expect(size.value).toBe(1000);
  });

  it('reaches one row within a few timeouts, and says when it cannot go lower', () => {
    const size = new StepSize(1000);
    const seen: number[] = [];
    while (size.timedOut()) seen.push(size.value);
    expect(seen).toEqual([125, 15, 1]);
    size.took(5000);
    expect(size.value).toBe(1);
    size.took(5);
    expect(size.value).toBe(2);
  });
});
