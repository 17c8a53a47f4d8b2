import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Loop } from './loop.js';

const NEVER_MS = 3_600_000;

describe('a loop that is told of news', () => {
  let begun: number;
  let onBegin: () => void;
  let endRun: () => void;
  let loop: Loop;

  beforeEach(() => {
    begun = 0;
    onBegin = () => undefined;
    endRun = () => undefined;
    loop = new Loop('spec', NEVER_MS, () => {
      begun += 1;
      onBegin();
      return new Promise((resolve) => (endRun = resolve));
    });
  });
  afterEach(async () => {
    const stopped = loop.stop();
    endRun();
    await stopped;
  });

  it('runs at once when it is at rest', () => {
    loop.nudge();
    expect(begun).toBe(1);
  });

  it('runs once more when it was running, since its reading may be older than the news', async () => {
    loop.nudge();
    loop.nudge();
    loop.nudge();
    expect(begun).toBe(1);
    const again = new Promise<void>((resolve) => (onBegin = resolve));
    endRun();
    await again;
    const second = loop.runNow(); // joins it
    endRun();
    await second;
    expect(begun).toBe(2);
  });

  it('does not begin anything when it is stopped', async () => {
    await loop.stop();
    loop.nudge();
    expect(begun).toBe(0);
  });
});
