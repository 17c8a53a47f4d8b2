import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Fifo, FifoItem } from './fifo.js';

class Member extends FifoItem<Member> {
  constructor(readonly id: number) {
    super();
  }
}

function ids(line: Fifo<Member>): number[] {
  const found: number[] = [];
  for (let item = line.first; item; item = item.newer) found.push(item.id);
  return found;
}

describe('Fifo', () => {
  it('gives members back in the order they came', () => {
    const line = new Fifo<Member>();
    for (const id of [1, 2, 3]) line.push(new Member(id));
    expect([line.shift()?.id, line.shift()?.id, line.shift()?.id, line.shift()]).toEqual([1, 2, 3, null]);
  });

  it('refuses a member that already stands in a line', () => {
    const member = new Member(1);
    new Fifo<Member>().push(member);
    expect(() => new Fifo<Member>().push(member)).toThrow('already in a line');
  });

  it('removes a member once', () => {
    const line = new Fifo<Member>();
    const member = new Member(1);
    line.push(member);
    expect(line.remove(member)).toBe(true);
    expect(line.remove(member)).toBe(false);
    expect(line.size).toBe(0);
  });

  it('agrees with an array under random pushes, shifts and removals', () => {
    const step = fc.oneof(
      fc.constant({ kind: 'push' as const, at: 0 }),
      fc.constant({ kind: 'shift' as const, at: 0 }),
      fc.nat(30).map((at) => ({ kind: 'remove' as const, at })),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const line = new Fifo<Member>();
        const model: Member[] = [];
        steps.forEach(({ kind, at }, id) => {
          if (kind === 'push') {
            const member = new Member(id);
            line.push(member);
            model.push(member);
          } else if (kind === 'shift') {
            expect(line.shift()).toBe(model.shift() ?? null);
          } else if (model.length > 0) {
            const [member] = model.splice(at % model.length, 1);
            expect(line.remove(member)).toBe(true);
          }
          expect(ids(line)).toEqual(model.map((member) => member.id));
          expect(line.size).toBe(model.length);
        });
      }),
    );
  });
});
