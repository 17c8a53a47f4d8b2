import { describe, expect, it } from '@jest/globals';
import { RecentValues } from './recent-values.js';

describe('recent values', () => {
  it('have no quantile but 0 before the first', () => {
    expect(new RecentValues().quantile(0.99)).toBe(0);
  });

  it('give quantiles by nearest rank, in whatever order they came', () => {
    const values = new RecentValues(100);
    for (let i = 100; i >= 1; i--) values.add(i);
    expect([0, 0.5, 0.99, 1].map((q) => values.quantile(q))).toEqual([1, 50, 99, 100]);
  });

  it('forget the oldest when they are full', () => {
    const values = new RecentValues(3);
    for (const value of [1000, 1, 2, 3]) values.add(value);
    expect(values.quantile(1)).toBe(3);
    values.add(7);
    expect([0, 1].map((q) => values.quantile(q))).toEqual([2, 7]);
  });
});
