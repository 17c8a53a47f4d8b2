import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { partitionTarget, type PartitionTarget } from '../partition-target.js';
import { FlushPlan, type FlushLimits, type PlannedSegment } from './flush-plan.js';

interface Item {
  bytes: number;
  name: string;
}

const limits: FlushLimits = {
  partitionsMax: 3,
  segmentFramesMax: 4,
  segmentBytesMax: 100,
  flushBytesMax: 250,
};

function target(partition: string): PartitionTarget {
  return partitionTarget('tenant', 'q', partition);
}

function items(prefix: string, ...bytes: number[]): Item[] {
  return bytes.map((size, n) => ({ bytes: size, name: `${prefix}${n}` }));
}

function shown(segments: PlannedSegment<Item>[]): string[] {
  return segments.map(
    (segment) => `${segment.target.partition}: ${segment.items.map(({ name }) => name).join(' ')}`,
  );
}

describe('FlushPlan', () => {
  it('merges what was added for one partition, in order', () => {
    const plan = new FlushPlan<Item>(limits);
    plan.add(target('a'), items('x', 1, 1));
    plan.add(target('a'), items('y', 1));
    expect(shown(plan.take())).toEqual(['a: x0 x1 y0']);
    expect(plan.hasReady).toBe(false);
  });

  it('keeps a partition back while a segment of it is in flight', () => {
    const plan = new FlushPlan<Item>(limits);
    plan.add(target('a'), items('x', 1));
    plan.take();
    plan.add(target('a'), items('y', 1));
    expect(plan.hasReady).toBe(false);
    expect(plan.take()).toEqual([]);
    plan.finish(target('a'));
    expect(shown(plan.take())).toEqual(['a: y0']);
  });

  it('takes the partition that became ready first, whatever its name', () => {
    const plan = new FlushPlan<Item>({ ...limits, partitionsMax: 1 });
    for (const name of ['c', 'a', 'b']) plan.add(target(name), items(name, 1));
    plan.add(target('c'), items('later', 1));
    expect([plan.take(), plan.take(), plan.take()].flatMap(shown)).toEqual([
      'c: c0 later0',
      'a: a0',
      'b: b0',
    ]);
  });

  it('sorts the partitions of one flush by key', () => {
    const plan = new FlushPlan<Item>(limits);
    for (const name of ['c', 'a', 'b']) plan.add(target(name), items(name, 1));
    expect(shown(plan.take())).toEqual(['a: a0', 'b: b0', 'c: c0']);
  });

  it('splits by frames and by bytes, and leaves the rest queued in order', () => {
    const plan = new FlushPlan<Item>(limits);
    plan.add(target('a'), items('x', 10, 10, 10, 10, 60, 40, 1));
    const taken: string[] = [];
    for (let segments = plan.take(); segments.length > 0; segments = plan.take()) {
      taken.push(...shown(segments));
      plan.finish(target('a'));
    }
    expect(taken).toEqual(['a: x0 x1 x2 x3', 'a: x4 x5', 'a: x6']);
  });

  it('ends a flush at its byte bound; the partition that did not fit leads the next', () => {
    const plan = new FlushPlan<Item>({ ...limits, partitionsMax: 9 });
    for (const name of ['a', 'b', 'c', 'd']) plan.add(target(name), items(name, 90));
    plan.add(target('e'), items('e', 1));
    expect(shown(plan.take())).toEqual(['a: a0', 'b: b0']);
    expect(shown(plan.take())).toEqual(['c: c0', 'd: d0', 'e: e0']);
  });

  it('lets a message that is larger than a flush travel alone', () => {
    const plan = new FlushPlan<Item>(limits);
    plan.add(target('a'), items('x', 1, 999, 1));
    plan.add(target('b'), items('y', 999));
    expect(shown(plan.take())).toEqual(['a: x0']);
    plan.finish(target('a'));
    expect(shown(plan.take())).toEqual(['b: y0']);
    expect(shown(plan.take())).toEqual(['a: x1']);
  });

  it('sends survivors before everything else of their partition, and alone', () => {
    const plan = new FlushPlan<Item>(limits);
    plan.add(target('a'), items('x', 1, 1, 1));
    const [segment] = plan.take();
    plan.add(target('a'), items('y', 1));
    plan.finish(target('a'), [segment.items[0], segment.items[2]]);
    expect(shown(plan.take())).toEqual(['a: x0 x2']);
    plan.finish(target('a'));
    expect(shown(plan.take())).toEqual(['a: y0']);
  });

  it('forgets a partition that has nothing left', () => {
    const plan = new FlushPlan<Item>(limits);
    for (let n = 0; n < 100; n++) {
      plan.add(target(`p${n}`), items('x', 1));
      plan.take();
      plan.finish(target(`p${n}`));
    }
    expect(plan.partitions).toBe(0);
  });

  it('refuses to finish what is not in flight', () => {
    const plan = new FlushPlan<Item>(limits);
    plan.add(target('a'), items('x', 1));
    expect(() => plan.finish(target('a'))).toThrow('not in flight');
  });

  it('gives up what is ready and keeps what waits behind a flight', () => {
    const plan = new FlushPlan<Item>({ ...limits, partitionsMax: 1 });
    plan.add(target('a'), items('x', 1));
    plan.take();
    plan.add(target('a'), items('y', 1));
    plan.add(target('b'), items('z', 1, 1));
    expect(plan.dropReady().map(({ name }) => name)).toEqual(['z0', 'z1']);
    plan.finish(target('a'));
    expect(shown(plan.take())).toEqual(['a: y0']);
  });

  it('loses nothing, keeps the order of each partition and holds its bounds', () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          add: fc.nat(5),
          sizes: fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 9 }),
        }),
      },
      { weight: 3, arbitrary: fc.constant('take' as const) },
      { weight: 3, arbitrary: fc.record({ finish: fc.nat(), survive: fc.func(fc.boolean()) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const plan = new FlushPlan<Item & { n: number }>(limits);
        const inFlight: PlannedSegment<Item & { n: number }>[] = [];
        const added = new Map<string, number>();
        const done = new Map<string, number[]>();
        const dropped = new Map<string, number[]>();
        const sealed = new Map<string, number[]>();

        const take = () => {
          const segments = plan.take();
          const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0);
          expect(segments.length).toBeLessThanOrEqual(limits.partitionsMax);
          expect(bytes <= limits.flushBytesMax || segments.length === 1).toBe(true);
          for (const segment of segments) {
            const key = segment.target.key;
            expect(inFlight.some((other) => other.target.key === key)).toBe(false);
            expect(segment.items.length).toBeLessThanOrEqual(limits.segmentFramesMax);
            expect(segment.bytes).toBe(segment.items.reduce((sum, one) => sum + one.bytes, 0));
            expect(segment.bytes <= limits.segmentBytesMax || segment.items.length === 1).toBe(true);
            const expected = sealed.get(key);
            if (expected) expect(segment.items.map(({ n }) => n)).toEqual(expected);
            sealed.delete(key);
            inFlight.push(segment);
          }
          return segments.length;
        };
        const finish = (at: number, survives: (n: number) => boolean) => {
          const [segment] = inFlight.splice(at, 1);
          const { key } = segment.target;
          const survivors = segment.items.filter(({ n }) => survives(n));
          // As a duplicate verdict does: with survivors the others are out, without the whole segment was stored.
          const others = segment.items.filter((one) => !survivors.includes(one)).map(({ n }) => n);
          const list = survivors.length > 0 ? dropped : done;
          list.set(key, [...(list.get(key) ?? []), ...others]);
          if (survivors.length > 0)
            sealed.set(
              key,
              survivors.map(({ n }) => n),
            );
          plan.finish(segment.target, survivors);
        };

        for (const one of steps) {
          if (one === 'take') take();
          else if ('add' in one) {
            const to = target(`p${one.add}`);
            const from = added.get(to.key) ?? 0;
            plan.add(
              to,
              one.sizes.map((bytes, k) => ({ bytes, name: '', n: from + k })),
            );
            added.set(to.key, from + one.sizes.length);
          } else if (inFlight.length > 0) {
            finish(one.finish % inFlight.length, one.survive);
          }
        }
        while (inFlight.length > 0 || plan.hasReady) {
          while (inFlight.length > 0) finish(0, () => false);
          if (plan.hasReady) expect(take()).toBeGreaterThan(0);
        }

        expect(plan.partitions).toBe(0);
        for (const [key, count] of added) {
          const stored = done.get(key) ?? [];
          expect([...stored].sort((a, b) => a - b)).toEqual(stored);
          const all = [...stored, ...(dropped.get(key) ?? [])].sort((a, b) => a - b);
          expect(all).toEqual(Array.from({ length: count }, (_, n) => n));
        }
      }),
      { numRuns: 150 },
    );
  });
});
