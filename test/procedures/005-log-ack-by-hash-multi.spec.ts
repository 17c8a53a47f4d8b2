import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dice } from '../properties/dice.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  ackByHashCall,
  ackByHashMultiCall,
  expireLease,
  inTurn,
  makeLease,
  numbered,
  partitionId,
  pushMessages,
  run,
  scalar,
  type HashCompletionInput,
  type Row,
} from '../support/make.js';
import { openSessions, type TestSession } from '../support/sessions.js';

jest.setTimeout(60_000);

interface Outcome {
  ok: boolean;
  error?: string;
}

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const PARTITIONS = numbered('p', 6);
const MESSAGES = 8;
const GROUPS = ['g', 'h'];
const WORKERS = ['w0', 'w1', ''];

/** Cursors that are free, leased, or were leased too long ago. */
async function makeLeases(dice: Dice, queue: string): Promise<string[]> {
  for (const partition of PARTITIONS) {
    await pushMessages(db, queue, partition, numbered(`${queue} ${partition} `, MESSAGES));
    for (const group of GROUPS) {
      if (dice.once(4)) continue;
      const options = { group, budget: 1 + dice.roll(6), worker: dice.pick(['w0', 'w1']) };
      await makeLease(db, queue, partition, options);
      if (dice.once(4)) await expireLease(db, queue, partition, group);
    }
  }
  return inTurn(PARTITIONS, (partition) => partitionId(db, queue, partition));
}

function makeAcks(dice: Dice, queue: string, ids: readonly string[]): HashCompletionInput[] {
  return Array.from({ length: 1 + dice.roll(15) }, () => {
    const which = dice.roll(ids.length);
    const texts = Array.from({ length: dice.roll(5) }, () =>
      dice.once(10) ? 'no such message' : `${queue} ${PARTITIONS[which]} ${dice.roll(MESSAGES)}`,
    );
    return {
      partitionId: dice.once(12) ? '00000000-0000-0000-0000-00000000dead' : ids[which],
      group: dice.pick(GROUPS),
      worker: dice.pick(WORKERS),
      texts,
    };
  });
}

/** In the order that log_ack_by_hash_multi_v1 promises for two acks of one cursor: that of the input. */
function ackOneByOne(on: TestSession, acks: readonly HashCompletionInput[]): Promise<Outcome[]> {
  return inTurn(acks, ({ partitionId: id, texts, ...options }) =>
    scalar<Outcome>(on, ackByHashCall(id, texts, null, options)),
  );
}

function cursors(on: TestSession): Promise<Row[]> {
  return on.run('select * from queen.log_consumers order by partition_id, consumer_group');
}

describe('many acks by transactionId in one call', () => {
  it.each([31, 32, 33])('do what they do one by one (seed %d)', async (seed) => {
    const dice = new Dice(seed);
    const { s1 } = await openSessions(db, ['s1']);
    const seen = { done: 0, refused: 0 };
    for (let state = 0; state < 3; state++) {
      const queue = `acks ${seed} ${state}`;
      const ids = await makeLeases(dice, queue);
      for (let round = 0; round < 10; round++) {
        const acks = makeAcks(dice, queue, ids);
        await s1.begin();
        const { results } = await scalar<{ results: Outcome[] }>(s1, ackByHashMultiCall(acks));
        const together = { results, cursors: await cursors(s1) };
        await s1.rollback();
        await s1.begin();
        const oneByOne = { results: await ackOneByOne(s1, acks), cursors: await cursors(s1) };
        await s1.rollback();
        expect({ seed, round, acks, ...together }).toEqual({ seed, round, acks, ...oneByOne });
        for (const { ok } of results) seen[ok ? 'done' : 'refused'] += 1;
      }
    }
    expect(seen.done).toBeGreaterThan(20);
    expect(seen.refused).toBeGreaterThan(20);
  });

  it('wait for their cursors from the lowest on, so two calls never meet crosswise (Z23)', async () => {
    for (const partition of PARTITIONS) {
      await pushMessages(db, 'crosswise', partition, numbered(`${partition} `, 2));
      await makeLease(db, 'crosswise', partition, { group: 'g', worker: 'w' });
    }
    const ids = await inTurn(PARTITIONS, (partition) => partitionId(db, 'crosswise', partition));
    const sorted = [...ids].sort();
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s1.begin();
    await run(s1, ackAtCall(sorted[0], 0));
    const acks = sorted.map((id) => ({ partitionId: id, texts: [`${PARTITIONS[ids.indexOf(id)]} 0`] }));
    const multi = s2.start(...ackByHashMultiCall(acks.reverse()));
    expect(await multi.isBlocked(s1, 30_000)).toBe(true);
    // It waits for the lowest one and holds none of the others.
    expect(await s3.start(...ackAtCall(sorted.at(-1)!, 0)).isBlocked()).toBe(false);
    await s1.commit();
    const [{ result }] = (await multi.result()) as { result: { results: Outcome[] } }[];
    // The input is from the highest on: s3 has ended the lease of the first, and s1 that of the last.
    expect(result.results.map(({ ok }) => ok)).toEqual([false, true, true, true, true, false]);
  });

  it('are none, or refuse arrays that disagree', async () => {
    expect(await scalar(db, ackByHashMultiCall([]))).toEqual({ ok: true, results: [] });
    const [text, values] = ackByHashMultiCall([
      { partitionId: '00000000-0000-0000-0000-00000000dead', texts: ['a', 'b'] },
    ]);
    for (const [i, wrong] of [
      [1, []] as const,
      [2, ['w', 'w']] as const,
      [3, [1]] as const,
      [4, []] as const,
    ]) {
      const others = values.map((value, at) => (at === i ? wrong : value));
      await expect(db.query(text, others)).rejects.toMatchObject({ code: 'QACKM' });
    }
  });
});
