import { describe, expect, it } from '@jest/globals';
import { StrictOrder } from './strict-order.js';

const at = (partition: string, queue = 'q') => ({ tenant: 't', queue, partition });

describe('StrictOrder', () => {
  it('holds a partition from its first message to its last', () => {
    const order = new StrictOrder();
    expect(order.holds(at('p'))).toBe(false);
    order.added(at('p'));
    order.added(at('p'));
    expect([order.holds(at('p')), order.holds(at('other'))]).toEqual([true, false]);
    order.left(at('p'));
    expect(order.holds(at('p'))).toBe(true);
    order.left(at('p'));
    expect(order.holds(at('p'))).toBe(false);
  });

  it('lets go of a message that could not be written', () => {
    const order = new StrictOrder();
    order.added(at('p'));
    order.undone(at('p'));
    expect(order.holds(at('p'))).toBe(false);
  });

  it('does not mix up names that look alike when put together', () => {
    const order = new StrictOrder();
    order.added(at('b","c', 'a'));
    expect(order.holds(at('c', 'a","b'))).toBe(false);
  });

  it('holds everything while messages of an earlier run wait, which leave first', () => {
    const order = new StrictOrder();
    order.begin(2);
    order.added(at('p'));
    expect(order.holds(at('any'))).toBe(true);
    order.left(at('p')); // the one of the earlier run
    order.left(null);
    expect([order.holds(at('any')), order.holds(at('p'))]).toEqual([false, true]);
    order.left(at('p'));
    expect(order.holds(at('p'))).toBe(false);
  });

  it('holds everything when there are more partitions than it keeps, until the spool is empty', () => {
    const order = new StrictOrder(2);
    for (const partition of ['a', 'b', 'c']) order.added(at(partition));
    expect(order.holds(at('any'))).toBe(true);
    for (const partition of ['a', 'b', 'c']) order.left(at(partition));
    expect(order.holds(at('any'))).toBe(true);
    order.clear();
    expect(order.holds(at('any'))).toBe(false);
  });
});
