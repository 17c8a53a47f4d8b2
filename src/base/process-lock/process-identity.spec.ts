import { describe, expect, it } from '@jest/globals';
import { isAlive, parseProcStat, processAt } from './process-identity.js';

describe('parseProcStat', () => {
  it('finds state and start time behind a command that holds brackets and spaces', () => {
    const stat = '42 (a (b) c) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 2000';
    expect(parseProcStat(stat)).toEqual({ state: 'S', startTicks: '987654' });
  });

  it('gives nothing for a text of another shape', () => {
    expect(parseProcStat('')).toBeNull();
    expect(parseProcStat('42 (short) S 1')).toBeNull();
  });
});

describe('a process', () => {
  it('that runs is found, and is the same when asked again', () => {
    const self = processAt(process.pid);
    expect(self?.pid).toBe(process.pid);
    expect(isAlive(self!)).toBe(true);
  });

  it('that took over the number of another is not that other', () => {
    expect(isAlive({ pid: process.pid, startedAt: 'another-boot/1' })).toBe(process.platform !== 'linux');
  });

  it('is judged by its number where no start time was noted', () => {
    expect(isAlive({ pid: process.pid, startedAt: null })).toBe(true);
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 30])('does not exist with the number %s', (pid) => {
    expect(processAt(pid)).toBeNull();
  });
});
