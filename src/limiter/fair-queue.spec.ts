import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FifoItem } from '../base/fifo.js';
import { FairQueue, type Queued } from './fair-queue.js';

class Item extends FifoItem<Item> implements Queued {
  constructor(
    readonly order: number,
    readonly key: string | null,
  ) {
    super();
  }
}

const capped =
  (...keys: string[]) =>
  (key: string) =>
    keys.includes(key);

function queueOf(...keys: (string | null)[]): { queue: FairQueue<Item>; items: Item[] } {
  const queue = new FairQueue<Item>();
  const items = keys.map((key, order) => new Item(order, key));
  for (const item of items) queue.push(item);
  return { queue, items };
}

describe('FairQueue', () => {
  it('gives in order of arrival while nobody is capped', () => {
    const { queue } = queueOf('a', null, 'b', 'a');
    const orders = [1, 2, 3, 4].map(() => queue.next(capped())?.order);
    expect(orders).toEqual([0, 1, 2, 3]);
    expect(queue.next(capped())).toBeNull();
  });

  it('steps over waiters of a capped key and comes back to them in their order', () => {
    const { queue } = queueOf('a', 'a', 'b', null);
    expect(queue.next(capped('a'))?.order).toBe(2);
    expect(queue.next(capped())?.order).toBe(0);
    expect(queue.next(capped('a'))?.order).toBe(3);
    expect(queue.next(capped())?.order).toBe(1);
  });

  it('serves a capped key rather than nobody, oldest first over all of them', () => {
    const { queue } = queueOf('b', 'a', 'b');
    const orders = [1, 2, 3].map(() => queue.next(capped('a', 'b'))?.order);
    expect(orders).toEqual([0, 1, 2]);
  });

  it('forgets a waiter that leaves, also one that was set aside', () => {
    const { queue, items } = queueOf('a', 'a', 'b', 'b');
    expect(queue.next(capped('a'))).toBe(items[2]); // both of a are set aside now
    expect(queue.remove(items[0])).toBe(true);
    expect(queue.remove(items[0])).toBe(false);
    expect(queue.size).toBe(2);
    expect(queue.next(capped())).toBe(items[1]);
    expect(queue.next(capped())).toBe(items[3]);
    expect(queue.size).toBe(0);
  });

  it('always chooses the oldest uncapped waiter, else the oldest (random operations against a plain list)', () => {
    const keys = fc.constantFrom<string | null>('a', 'b', 'c', null);
    const step = fc.oneof(
      keys.map((key) => ({ kind: 'push' as const, key, at: 0, over: [] as string[] })),
      fc.subarray(['a', 'b', 'c']).map((over) => ({ kind: 'next' as const, key: null, at: 0, over })),
      fc.nat(20).map((at) => ({ kind: 'remove' as const, key: null, at, over: [] as string[] })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const queue = new FairQueue<Item>();
        let model: Item[] = [];
        steps.forEach(({ kind, key, at, over }, order) => {
          if (kind === 'push') {
            const item = new Item(order, key);
            queue.push(item);
            model.push(item);
          } else if (kind === 'next') {
            const expected =
              model.find((item) => item.key === null || !over.includes(item.key)) ?? model[0] ?? null;
            expect(queue.next(capped(...over))).toBe(expected);
            model = model.filter((item) => item !== expected);
          } else if (model.length > 0) {
            const [item] = model.splice(at % model.length, 1);
            expect(queue.remove(item)).toBe(true);
          }
          expect(queue.size).toBe(model.length);
        });
      }),
    );
  });
});
