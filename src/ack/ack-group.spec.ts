import { describe, expect, it } from '@jest/globals';
import { hashTransactionId } from '../segment/transaction-hash.js';
import { groupAcks } from './ack-group.js';
import type { AckItem } from './ack-item.js';

function item(transactionId: string, over: Partial<AckItem> = {}): AckItem {
  return {
    transactionId,
    partitionId: 'p1',
    status: 'completed',
    leaseId: 'w1',
    error: null,
    rawStatus: null,
    problem: null,
    ...over,
  };
}

describe('groupAcks', () => {
  it('groups by partition and lease, also when they alternate, and remembers where each item stood', async () => {
    const groups = await groupAcks(
      [
        item('a'),
        item('b', { partitionId: 'p2' }),
        item('c'),
        item('d', { leaseId: '' }),
        item('e', { problem: 'transactionId is required' }),
        item('f', { partitionId: 'p2' }),
      ],
      'g',
    );
    expect(groups.map(({ partitionId, worker, positions }) => [partitionId, worker, positions])).toEqual([
      ['p1', 'w1', [0, 2]],
      ['p2', 'w1', [1, 5]],
      ['p1', '', [3]],
    ]);
    expect(groups.every(({ group }) => group === 'g')).toBe(true);
  });

  it('knows whether a group holds nothing but completed items', async () => {
    const groups = await groupAcks(
      [item('a'), item('b', { status: 'retry' }), item('c', { partitionId: 'p2' })],
      'g',
    );
    expect(groups.map(({ isCompletion }) => isCompletion)).toEqual([false, true]);
  });

  it('loses nothing over many turns', async () => {
    const items = Array.from({ length: 20_000 }, (_, i) => item(`id-${i}`, { partitionId: `p${i % 7}` }));
    const groups = await groupAcks(items, 'g');
    expect(groups.map(({ items: of }) => of.length).reduce((a, b) => a + b)).toBe(20_000);
    expect(groups).toHaveLength(7);
    const { positions, items: of } = groups[3];
    expect(positions.every((position, i) => items[position] === of[i])).toBe(true);
  });
});

describe('AckGroup', () => {
  it('has the stored hash of each item, in order, also of a long group', async () => {
    const items = Array.from({ length: 10_000 }, (_, i) => item(`id-${i}`));
    const [group] = await groupAcks(items, 'g');
    const hashes = await group.hashes();
    expect(hashes).toHaveLength(160_000);
    for (const i of [0, 1, 8191, 8192, 9999]) {
      expect(hashes.subarray(i * 16, i * 16 + 16)).toEqual(hashTransactionId(`id-${i}`));
    }
  });

  it('has one fingerprint whatever the order', async () => {
    const items = Array.from({ length: 10_000 }, (_, i) => item(`id-${i}`));
    const [there] = await groupAcks(items, 'g');
    const [back] = await groupAcks([...items].reverse(), 'g');
    expect(await there.fingerprint()).toEqual(await back.fingerprint());
    expect((await there.fingerprint()).count).toBe(10_000);
  });
});
