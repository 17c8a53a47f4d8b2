import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { Supervisor } from './supervisor.js';

describe('the supervisor of the server', () => {
  let clock: ManualClock;
  let alive: Set<number>;
  let starts: () => Promise<number>;
  let started: number;
  let lines: string[];
  let givenUp: string[];
  let supervisor: Supervisor<number>;

  beforeEach(() => {
    clock = new ManualClock(1000);
    alive = new Set([1]);
    started = 0;
    lines = [];
    givenUp = [];
    starts = () => {
      started += 1;
      alive.add(started + 1);
      return Promise.resolve(started + 1);
    };
    supervisor = new Supervisor(
      1,
      {
        isAlive: (server) => alive.has(server),
        start: () => starts(),
        log: (line) => void lines.push(line),
        onGivenUp: (reason) => void givenUp.push(reason),
      },
      clock,
    );
    supervisor.begin();
  });

  /** Timers and what they set off, step by step. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(500);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    }
  }

  it('leaves one that runs alone', async () => {
    await pass(600_000);
    expect([started, lines]).toEqual([0, []]);
  });

  it('starts one that ended again, and looks after the new one', async () => {
    alive.clear();
    await pass(2000);
    expect([started, supervisor.current]).toEqual([1, 2]);
    alive.clear();
    await pass(3000);
    expect([started, supervisor.current]).toEqual([2, 3]);
    expect(lines.filter((line) => line === 'PostgreSQL runs again')).toHaveLength(2);
  });

  it('waits longer each time, and gives up when it does not stay', async () => {
    starts = () => {
      started += 1;
      return Promise.reject(new Error('the disk is full'));
    };
    alive.clear();
    await pass(60_000);
    const pauses = lines.map((line) => Number(/in (\d+) ms/.exec(line)?.[1]));
    expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
    expect([started, givenUp]).toEqual([
      6,
      ['the disk is full, and 6 attempts to start it again were in vain'],
    ]);
    await pass(60_000);
    expect([started, givenUp.length]).toEqual([6, 1]);
  });

  it('counts anew after a long life', async () => {
    for (let life = 1; life <= 10; life++) {
      alive.clear();
      await pass(70_000);
    }
    expect([started, givenUp]).toEqual([10, []]);
  });

  it('gives up one that starts and dies at once, over and over', async () => {
    starts = () => {
      started += 1;
      return Promise.resolve(started + 1);
    };
    alive.clear();
    await pass(120_000);
    expect([started, givenUp.length]).toEqual([6, 1]);
  });

  it('ends with the server that is to be stopped, and starts none any more', async () => {
    alive.clear();
    await pass(500);
    expect(await supervisor.end()).toBe(1);
    await pass(60_000);
    expect([started, givenUp]).toEqual([0, []]);
  });

  it('that is ended while it starts one waits for it, so that it can be stopped', async () => {
    let ready: (server: number) => void = () => undefined;
    starts = () => new Promise((resolve) => (ready = resolve));
    alive.clear();
    await pass(1500);
    const ended = supervisor.end();
    ready(7);
    expect(await ended).toBe(7);
  });
});
