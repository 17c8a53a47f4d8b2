import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DueHeap } from './due-heap.js';
import { NONE } from './entry-table.js';

interface Item {
  position: number;
  dueMs: number;
}

describe('DueHeap', () => {
  it('gives the earliest item first, whatever joins, leaves and moves', () => {
    const step = fc.record({
      kind: fc.constantFrom('insert', 'remove', 'move'),
      pick: fc.nat(),
      dueMs: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new DueHeap<Item>((item, position) => (item.position = position));
        const model: Item[] = [];
        for (const { kind, pick, dueMs } of steps) {
          const picked = model[pick % (model.length || 1)];
          if (kind === 'insert' || !picked) {
            const item = { position: NONE, dueMs };
            model.push(item);
            heap.insert(item, dueMs);
          } else if (kind === 'remove') {
            heap.removeAt(picked.position);
            expect(picked.position).toBe(NONE);
            model.splice(model.indexOf(picked), 1);
          } else {
            picked.dueMs = dueMs;
            heap.moveTo(picked.position, dueMs);
          }
          expect(heap.size).toBe(model.length);
          expect(heap.nextDueMs).toBe(Math.min(Infinity, ...model.map((item) => item.dueMs)));
          expect(model.every((item) => heap.dueAt(item.position) === item.dueMs)).toBe(true);
          expect(new Set(model.map((item) => item.position)).size).toBe(model.length);
        }
      }),
    );
  });

  it('is never due when empty', () => {
    const heap = new DueHeap<Item>(() => undefined);
    expect(heap.nextDueMs).toBe(Infinity);
    expect(heap.first).toBeUndefined();
  });
});
