import { describe, expect, it } from '@jest/globals';
import { LogSampler } from './log-sampler.js';

describe('a log sampler', () => {
  it('passes one line of a kind in its period, and says how many it held back', () => {
    let nowMs = 0;
    const sampler = new LogSampler(() => nowMs, 10_000);
    expect(sampler.pass('connect', 'cannot connect')).toBe('cannot connect');
    nowMs = 9_999;
    expect(sampler.pass('connect', 'cannot connect')).toBeNull();
    expect(sampler.pass('connect', 'cannot connect')).toBeNull();
    nowMs = 10_000;
    expect(sampler.pass('connect', 'still away')).toBe('still away (2 more like it since the last line)');
    nowMs = 20_000;
    expect(sampler.pass('connect', 'still away')).toBe('still away');
  });

  it('keeps kinds apart', () => {
    const sampler = new LogSampler(() => 0);
    expect(sampler.pass('a', 'one')).toBe('one');
    expect(sampler.pass('b', 'two')).toBe('two');
    expect(sampler.pass('a', 'three')).toBeNull();
  });

  it('remembers a bounded number of kinds', () => {
    const sampler = new LogSampler(() => 0);
    for (let i = 0; i < 500; i++) sampler.pass(`kind ${i}`, 'line');
    expect(sampler.pass('kind 7', 'line')).toBeNull();
    sampler.pass('one too many', 'line');
    expect(sampler.pass('kind 7', 'line')).toBe('line');
  });
});
