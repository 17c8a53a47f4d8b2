import { describe, expect, it } from '@jest/globals';
import type { CursorMove } from './cursor-move.js';
import { MoveBuffer } from './move-buffer.js';

function move(partitionId: string, batchEnd: number, worker = 'w', group = 'g'): CursorMove {
  return { partitionId, group, worker, batchEnd, count: batchEnd + 1 };
}

describe('MoveBuffer', () => {
  it('folds the moves of one worker on one cursor into the furthest, whichever came first', async () => {
    const buffer = new MoveBuffer(10);
    const verdicts = [buffer.add(move('p', 5)), buffer.add(move('p', 9)), buffer.add(move('p', 7))];
    const rows = buffer.take(10);
    expect(rows.map((row) => row.move)).toEqual([move('p', 9)]);
    rows[0].resolve('committed');
    expect(await Promise.all(verdicts)).toEqual(['committed', 'committed', 'committed']);
  });

  it('keeps workers, groups and partitions apart', () => {
    const buffer = new MoveBuffer(10);
    const moves = [move('p', 5), move('p', 5, 'w', 'h'), move('p', 6, 'w2'), move('q', 5)];
    for (const each of moves) void buffer.add(each);
    expect(buffer.take(10).map((row) => row.move)).toEqual(expect.arrayContaining(moves));
    expect(buffer.size).toBe(0);
  });

  it('gives rows in the order of (partition, group), and the first to come first', () => {
    const buffer = new MoveBuffer(10);
    for (const each of [move('c', 1), move('a', 1, 'w', 'y'), move('a', 1, 'w', 'x'), move('b', 1)]) {
      void buffer.add(each);
    }
    const first = buffer.take(3).map((row) => [row.move.partitionId, row.move.group]);
    expect(first).toEqual([
      ['a', 'x'],
      ['a', 'y'],
      ['c', 'g'],
    ]);
    expect(buffer.take(3).map((row) => row.move.partitionId)).toEqual(['b']);
  });

  it('refuses a new row when it is full, and still folds into those it has', () => {
    const buffer = new MoveBuffer(2);
    void buffer.add(move('a', 1));
    void buffer.add(move('b', 1));
    expect(() => buffer.add(move('c', 1))).toThrow(expect.objectContaining({ code: 'overloaded' }));
    void buffer.add(move('a', 2));
    expect(buffer.take(2).map((row) => row.move.batchEnd)).toEqual([2, 1]);
  });

  it('hands one error to everybody who folded', async () => {
    const buffer = new MoveBuffer(10);
    const verdicts = [buffer.add(move('p', 5)), buffer.add(move('p', 9))];
    buffer.take(1)[0].reject(new Error('gone'));
    for (const verdict of verdicts) await expect(verdict).rejects.toThrow('gone');
  });
});
