import { describe, expect, it } from '@jest/globals';
import { restartDelayMs } from './restart-delay.js';

describe('the pause before a worker is replaced', () => {
  it('is none for one that had served, doubles for those that end soon, and has an end', () => {
    expect([0, 1, 2, 3, 4].map(restartDelayMs)).toEqual([0, 200, 400, 800, 1600]);
    expect(restartDelayMs(8)).toBe(15_000);
    expect(restartDelayMs(5000)).toBe(15_000);
  });
});
