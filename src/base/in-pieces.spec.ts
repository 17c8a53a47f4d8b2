import { expect, it } from '@jest/globals';
import { inPieces } from './in-pieces.js';

/** A database with the numbers from 1 on that gives out at most two at a time. */
function numbers(count: number) {
  const calls: [last: number | null, wanted: number][] = [];
  const fetch = (last: number | null, wanted: number) => {
    calls.push([last, wanted]);
    const from = (last ?? 0) + 1;
    const all = Array.from({ length: count }, (_, i) => i + 1);
    return Promise.resolve(all.filter((n) => n >= from).slice(0, Math.min(2, wanted)));
  };
  return { calls, fetch };
}

async function collected(limit: number, count: number) {
  const { calls, fetch } = numbers(count);
  const pieces: (readonly number[])[] = [];
  for await (const piece of inPieces(limit, fetch)) pieces.push(piece);
  return { pieces, calls };
}

it('asks for the rest behind the last row until the limit is reached', async () => {
  const { pieces, calls } = await collected(5, 10);
  expect(pieces).toEqual([[1, 2], [3, 4], [5]]);
  expect(calls).toEqual([
    [null, 5],
    [2, 3],
    [4, 1],
  ]);
});

it('ends when no more come', async () => {
  expect((await collected(10, 3)).pieces).toEqual([[1, 2], [3]]);
  expect((await collected(10, 0)).pieces).toEqual([]);
});
