import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from '../base/clock/manual-clock.js';
import { AckRegistry, type HandedBatch } from './ack-registry.js';
import { fingerprintOf } from './fingerprint.js';
import { IdHashes } from './id-hashes.js';
import { PartitionMemo } from './partition-memo.js';

const MB = 1024 * 1024;
const P1 = '00000000-0000-7000-8000-000000000001';
const P2 = '00000000-0000-7000-8000-000000000002';

let clock: ManualClock;
let memo: PartitionMemo;
let registry: AckRegistry;

function registryOf(bytesMax: number): AckRegistry {
  memo = new PartitionMemo();
  return new AckRegistry({ enabled: true, bytesMax }, clock, memo);
}

function hashesOf(ids: readonly string[]): IdHashes {
  const hashes = new IdHashes(ids.length);
  for (const id of ids) hashes.addText(id);
  return hashes;
}

function hand(ids: readonly string[] | null, over: Partial<HandedBatch> = {}): void {
  registry.register({
    partitionId: P1,
    partition: 'eu',
    key: 'tenant\u001forders',
    group: 'g',
    worker: 'w1',
    batchEnd: 9,
    messages: ids?.length ?? 3,
    hashes: ids && hashesOf(ids),
    leaseMs: 30_000,
    ...over,
  });
}

function take(ids: readonly string[], { partitionId = P1, group = 'g', worker = 'w1' } = {}) {
  return registry.take(partitionId, group, worker, fingerprintOf(hashesOf(ids).view));
}

beforeEach(() => {
  clock = new ManualClock(1000);
  registry = registryOf(32 * MB);
});

describe('a full batch', () => {
  it('is found by its transactionIds in any order, once', () => {
    hand(['a', 'b', 'c']);
    expect(take(['c', 'a', 'b'])).toEqual({ batchEnd: 9, count: 3 });
    expect(take(['c', 'a', 'b'])).toBeNull();
  });

  it('is found when the request names an id twice', () => {
    hand(['a', 'b', 'c']);
    expect(take(['a', 'b', 'b', 'c'])).toEqual({ batchEnd: 9, count: 3 });
  });

  it('counts messages, not ids, when the batch holds one id twice', () => {
    hand(['a', 'b', 'a']);
    expect(take(['a', 'b'])).toEqual({ batchEnd: 9, count: 3 });
  });

  it.each([
    ['a part of it', ['a', 'b']],
    ['more than it', ['a', 'b', 'c', 'd']],
    ['other ids', ['a', 'b', 'x']],
    ['one id three times', ['a', 'a', 'a']],
    ['nothing', []],
  ])('is not %s', (_, ids) => {
    hand(['a', 'b', 'c']);
    expect(take(ids)).toBeNull();
    expect(take(['a', 'b', 'c'])).not.toBeNull();
  });

  it('belongs to its worker, its group and its partition', () => {
    hand(['a']);
    expect(take(['a'], { worker: 'w2' })).toBeNull();
    expect(take(['a'], { group: 'other' })).toBeNull();
    expect(take(['a'], { partitionId: P2 })).toBeNull();
    expect(take(['a'])).not.toBeNull();
  });

  it('is not one any more after an ack of less', () => {
    hand(['a', 'b']);
    expect(registry.spoil(P1, 'g', 'w1')).toBe(9);
    expect(take(['a', 'b'])).toBeNull();
  });

  it('is spoiled by an ack without a lease, whoever holds it', () => {
    hand(['a']);
    expect(registry.spoil(P1, 'g', '')).toBe(9);
    expect(take(['a'])).toBeNull();
  });

  it("is not spoiled by another worker's ack", () => {
    hand(['a']);
    expect(registry.spoil(P1, 'g', 'w2')).toBeNull();
    expect(take(['a'])).not.toBeNull();
  });

  it('is not one when it was not handed out in full', () => {
    hand(null, { messages: 1 });
    expect(take([])).toBeNull();
    expect(take(['a'])).toBeNull();
    expect(registry.partitionsOf('w1')).toEqual([P1]);
  });

  it('two in one request are found each on its own', () => {
    hand(['a']);
    hand(['b', 'c'], { partitionId: P2, batchEnd: 4 });
    expect(take(['b'], { partitionId: P2 })).toBeNull();
    expect(take(['a'])).toEqual({ batchEnd: 9, count: 1 });
    expect(take(['b', 'c'], { partitionId: P2 })).toEqual({ batchEnd: 4, count: 2 });
  });
});

describe('time', () => {
  it('keeps a batch ten seconds longer than its lease', () => {
    hand(['a'], { leaseMs: 5000 });
    clock.advance(14_999);
    expect(registry.partitionsOf('w1')).toEqual([P1]);
    clock.advance(1);
    expect(take(['a'])).toBeNull();
    expect(registry.partitionsOf('w1')).toEqual([]);
  });

  it('takes 60 seconds for a lease of unknown length', () => {
    hand(['a'], { leaseMs: null });
    clock.advance(69_999);
    expect(take(['a'])).not.toBeNull();
  });

  it('is extended by a renewal, never shortened', () => {
    hand(['a'], { leaseMs: 5000 });
    registry.extend('w1', 60_000);
    registry.extend('w1', 1000);
    clock.advance(69_999);
    expect(take(['a'])).not.toBeNull();
  });

  it('frees what ran out when later batches come, at most every five seconds', () => {
    hand(['a'], { leaseMs: 1000 });
    clock.advance(12_000);
    hand(['b'], { partitionId: P2, worker: 'w2' });
    expect(registry.stats()).toMatchObject({ entries: 1, leases: 1, expired: 1 });
  });

  it('looks for what ran out at most every five seconds', () => {
    const sweepWith = (worker: string) => hand(['x'], { partitionId: P2, worker });
    hand(['a'], { leaseMs: 0 });
    clock.advance(9999);
    sweepWith('w2');
    clock.advance(4999);
    sweepWith('w3');
    expect(registry.stats().entries).toBe(2);
    clock.advance(1);
    sweepWith('w4');
    expect(registry.stats().entries).toBe(1);
  });
});

describe('leases', () => {
  it('a newer lease of the same partition and group takes the place of the older', () => {
    hand(['a', 'b']);
    hand(['a', 'b'], { worker: 'w2', batchEnd: 5 });
    expect(take(['a', 'b'])).toBeNull();
    expect(take(['a', 'b'], { worker: 'w2' })).toEqual({ batchEnd: 5, count: 2 });
    expect(registry.partitionsOf('w1')).toEqual([]);
  });

  it('groups do not meet', () => {
    hand(['a']);
    hand(['a'], { group: 'h', worker: 'w2' });
    expect(take(['a'])).not.toBeNull();
    expect(take(['a'], { group: 'h', worker: 'w2' })).not.toBeNull();
  });

  it('names every partition a worker still holds: taken and spoiled ones, not dropped ones', () => {
    const ids = [1, 2, 3, 4].map((n) => `00000000-0000-7000-8000-00000000000${n}`);
    for (const partitionId of ids) hand(['a'], { partitionId });
    take(['a'], { partitionId: ids[0] });
    registry.spoil(ids[1], 'g', 'w1');
    registry.drop(ids[2], 'g', 'w1');
    expect(registry.partitionsOf('w1')).toEqual([ids[0], ids[1], ids[3]]);
    expect(registry.partitionsOf('unknown')).toEqual([]);
  });

  it('is gone, with its bytes, when its last partition is dropped', () => {
    hand(['a']);
    hand(['a'], { partitionId: P2 });
    registry.drop(P1, 'g', 'w1');
    registry.drop(P1, 'g', 'w1');
    registry.drop(P2, 'g', 'w2');
    expect(registry.stats().entries).toBe(1);
    registry.drop(P2, 'g', 'w1');
    expect(registry.stats()).toMatchObject({ leases: 0, entries: 0, bytes: 0 });
  });

  it('writes the partition into the memo', () => {
    hand(['a']);
    expect(memo.find(P1)).toEqual({ key: 'tenant\u001forders', partition: 'eu' });
  });
});

describe('memory', () => {
  it('evicts the lease that was not used for longest, with all its partitions', () => {
    registry = registryOf(2400);
    hand(['a'], { worker: 'old' });
    hand(['a'], { worker: 'old', partitionId: P2 });
    hand(['a'], { worker: 'renewed', group: 'h' });
    registry.extend('old', 1000);
    hand(['a'], { worker: 'new', group: 'i' });
    hand(['a'], { worker: 'newer', group: 'j' });
    expect(registry.partitionsOf('renewed')).toEqual([]);
    expect(registry.partitionsOf('old')).toEqual([P1, P2]);
    expect(registry.stats().evicted).toBe(1);
  });

  it('never evicts part of a lease, nor the one that is being written', () => {
    registry = registryOf(500);
    hand(['a']);
    hand(['a'], { partitionId: P2 });
    expect(registry.partitionsOf('w1')).toEqual([P1, P2]);
    hand(['a'], { worker: 'w2', group: 'h' });
    expect(registry.partitionsOf('w1')).toEqual([]);
    expect(registry.partitionsOf('w2')).toEqual([P1]);
  });

  it('holds the budget and counts its bytes right, whatever happens', () => {
    const word = fc.constantFrom('1', '2', '3');
    const step = fc.record({
      kind: fc.constantFrom('hand', 'take', 'spoil', 'drop', 'extend', 'time'),
      worker: word,
      partition: word,
      group: word,
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        registry = registryOf(2400);
        for (const { kind, worker, partition, group } of steps) {
          const partitionId = P1.slice(0, -1) + partition;
          if (kind === 'hand') hand(['a'], { partitionId, group, worker, leaseMs: 2000 });
          else if (kind === 'take') take(['a'], { partitionId, group, worker });
          else if (kind === 'spoil') registry.spoil(partitionId, group, worker);
          else if (kind === 'drop') registry.drop(partitionId, group, worker);
          else if (kind === 'extend') registry.extend(worker, 2000);
          else clock.advance(3000);

          const { bytes, leases, entries } = registry.stats();
          // A single lease is kept whole, also when it is larger than the budget.
          if (leases > 1) expect(bytes).toBeLessThanOrEqual(2400);
          expect(bytes).toBe(leases * 331 + entries * 257);
          expect(entries).toBeGreaterThanOrEqual(leases);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('counts hits and misses', () => {
    hand(['a']);
    take(['x']);
    take(['a']);
    take(['a']);
    expect(registry.stats()).toMatchObject({ hits: 1, misses: 2 });
  });
});
