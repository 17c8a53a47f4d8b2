import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Dice } from '../properties/dice.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  ackMultiCall,
  expireLease,
  inTurn,
  makeLease,
  numbered,
  partitionId,
  pushMessages,
  run,
  scalar,
  type AckMultiRow,
  type Row,
} from '../support/make.js';
import { openSessions, type TestSession } from '../support/sessions.js';

jest.setTimeout(60_000);

interface Acked {
  ok: boolean;
  acked?: number;
  error?: string | null;
}

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

describe('many acks in one call and one by one', () => {
  const PARTITIONS = numbered('p', 6);
  const GROUPS = ['g', 'h'];
  const WORKERS = ['w0', 'w1', ''];

  /** Cursors that are free, leased, or were leased too long ago. */
  async function makeLeases(dice: Dice, queue: string): Promise<string[]> {
    for (const partition of PARTITIONS) {
      await pushMessages(db, queue, partition, numbered(partition, 8));
      for (const group of GROUPS) {
        if (dice.once(4)) continue;
        const options = { group, budget: 1 + dice.roll(6), worker: dice.pick(['w0', 'w1']) };
        await makeLease(db, queue, partition, options);
        if (dice.once(4)) await expireLease(db, queue, partition, group);
        if (dice.once(2)) await failOnce(queue, partition, group);
      }
    }
    return inTurn(PARTITIONS, (partition) => partitionId(db, queue, partition));
  }

  /** As after a batch that was refused: what completing it must clear. */
  async function failOnce(queue: string, partition: string, group: string): Promise<void> {
    await db.query(
      `update queen.log_consumers set batch_retry_count = 2, attempt_count = 3
       where partition_id = $1 and consumer_group = $2`,
      [await partitionId(db, queue, partition), group],
    );
  }

  function makeAcks(dice: Dice, ids: readonly string[]): AckMultiRow[] {
    return Array.from({ length: 1 + dice.roll(20) }, () => ({
      partitionId: dice.once(12) ? '00000000-0000-0000-0000-00000000dead' : dice.pick(ids),
      group: dice.pick(GROUPS),
      worker: dice.pick(WORKERS),
      upto: dice.once(15) ? null : dice.roll(8),
      count: dice.roll(9) - 1,
    }));
  }

  /** The one by one way, in the order that log_ack_multi_v1 promises for two rows of one cursor. */
  async function ackOneByOne(on: TestSession, acks: readonly AckMultiRow[]): Promise<Acked[]> {
    return inTurn(acks, async ({ partitionId: id, upto, ...options }) => {
      if (upto === null) return { ok: false, acked: 0, error: 'position missing' };
      const { ok, acked = 0, error = null } = await scalar<Acked>(on, ackAtCall(id, upto, options));
      return { ok, acked, error };
    });
  }

  async function cursors(on: TestSession): Promise<Row[]> {
    return on.run('select * from queen.log_consumers order by partition_id, consumer_group');
  }

  it.each([21, 22, 23, 24])('agree on random cursors (seed %d)', async (seed) => {
    const dice = new Dice(seed);
    const { s1 } = await openSessions(db, ['s1']);
    let completed = 0;
    for (let state = 0; state < 3; state++) {
      const ids = await makeLeases(dice, `acks ${seed} ${state}`);
      for (let round = 0; round < 10; round++) {
        const acks = makeAcks(dice, ids);
        await s1.begin();
        const { results } = await scalar<{ results: Acked[] }>(s1, ackMultiCall(acks));
        const together = { results, cursors: await cursors(s1) };
        await s1.rollback();
        await s1.begin();
        const oneByOne = { results: await ackOneByOne(s1, acks), cursors: await cursors(s1) };
        await s1.rollback();
        expect({ seed, round, acks, ...together }).toEqual({ seed, round, acks, ...oneByOne });
        completed += results.filter(({ ok }) => ok).length;
      }
    }
    expect(completed).toBeGreaterThan(30);
  });

  it('lock their cursors in one order, so two calls never meet crosswise', async () => {
    // Each has a cursor: which one comes first is up to its random id.
    for (const partition of PARTITIONS) {
      await pushMessages(db, 'crosswise', partition, numbered(partition, 2));
      await makeLease(db, 'crosswise', partition);
    }
    const ids = await inTurn(PARTITIONS, (partition) => partitionId(db, 'crosswise', partition));
    const acks = ids.map((id) => ({ partitionId: id, upto: 0 }));
    const [low, high] = [[...ids].sort()[0], [...ids].sort().at(-1)!];
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s1.begin();
    await run(s1, ackAtCall(low, 0));
    const multi = s2.start(...ackMultiCall([...acks].reverse()));
    expect(await multi.isBlocked(s1, 30_000)).toBe(true);
    // It waits for the lowest one and holds none of the others.
    const other = s3.start(...ackAtCall(high, 0));
    expect(await other.isBlocked()).toBe(false);
    await s1.commit();
    expect(await multi.result()).toHaveLength(1);
  });
});
