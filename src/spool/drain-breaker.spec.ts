import { describe, expect, it } from '@jest/globals';
import { DrainBreaker } from './drain-breaker.js';

describe('DrainBreaker', () => {
  it('pauses for five seconds after ten failures in a row, and again after one more', () => {
    const breaker = new DrainBreaker();
    for (let i = 0; i < 9; i++) breaker.failed(i * 100);
    expect(breaker.mayTry(900)).toBe(true);
    breaker.failed(900);
    expect(breaker.mayTry(901)).toBe(false);
    expect(breaker.mayTry(5899)).toBe(false);
    expect(breaker.mayTry(5900)).toBe(true);
    breaker.failed(5900);
    expect(breaker.mayTry(5901)).toBe(false);
    expect(breaker.mayTry(10_900)).toBe(true);
  });

  it('starts anew after a success, which also ends a pause', () => {
    const breaker = new DrainBreaker();
    for (let i = 0; i < 10; i++) breaker.failed(0);
    breaker.succeeded();
    expect(breaker.mayTry(1)).toBe(true);
    for (let i = 0; i < 9; i++) breaker.failed(1);
    expect(breaker.mayTry(1)).toBe(true);
  });
});
