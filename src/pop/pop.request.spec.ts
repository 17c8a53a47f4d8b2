import { describe, expect, it } from '@jest/globals';
import { DEFAULT_TENANT } from '../base/names/names.js';
import { PopRequestParser } from './pop.request.js';

const OTHER_TENANT = '0190b1c2-aaaa-7bbb-8ccc-1234567890ab';
const target = { scope: 'queue' as const, queue: 'orders' };
const url = '/api/v1/pop/queue/orders?consumerGroup=g&batch=7';

describe('a pop that is asked for again and again', () => {
  it('is what parsing its query gives, with a worker of its own each time', () => {
    const parser = new PopRequestParser(30_000);
    const { workerId, ...first } = parser.of(url, target, DEFAULT_TENANT);
    const { workerId: other, ...second } = parser.of(url, target, DEFAULT_TENANT);
    const { workerId: _, ...parsed } = parser.parse(target, 'consumerGroup=g&batch=7');
    expect(first).toEqual(parsed);
    expect(second).toEqual(first);
    expect(other).not.toBe(workerId);
    expect(parser.remembered).toBe(1);
  });

  it('is told apart by tenant, by path and by every letter of the query', () => {
    const parser = new PopRequestParser(30_000);
    const asked = [
      parser.of(url, target, DEFAULT_TENANT),
      parser.of(url, target, OTHER_TENANT),
      parser.of(url.replace('orders', 'bills'), { ...target, queue: 'bills' }, DEFAULT_TENANT),
      parser.of(url.replace('batch=7', 'batch=8'), target, DEFAULT_TENANT),
    ];
    expect(asked.map(({ tenant, queue, batch }) => [tenant, queue, batch])).toEqual([
      [DEFAULT_TENANT, 'orders', 7],
      [OTHER_TENANT, 'orders', 7],
      [DEFAULT_TENANT, 'bills', 7],
      [DEFAULT_TENANT, 'orders', 8],
    ]);
  });

  it('is refused each time when it is wrong, and takes no room', () => {
    const parser = new PopRequestParser(30_000);
    for (let n = 0; n < 2; n++) {
      expect(() => parser.of('/api/v1/pop/queue/orders?batch=many', target, DEFAULT_TENANT)).toThrow(/batch/);
    }
    expect(parser.remembered).toBe(0);
  });

  it('takes bounded room, whatever is asked for', () => {
    const parser = new PopRequestParser(30_000);
    for (let n = 0; n < 10_000; n++) parser.of(`${url}&n=${n}`, target, DEFAULT_TENANT);
    expect(parser.remembered).toBeGreaterThan(0);
    expect(parser.remembered).toBeLessThanOrEqual(2001);
    const before = parser.remembered;
    parser.of(`${url}&n=${'9'.repeat(2000)}`, target, DEFAULT_TENANT);
    expect(parser.remembered).toBe(before);
  });
});
