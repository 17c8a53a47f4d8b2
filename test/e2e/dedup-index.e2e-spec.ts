import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DedupIndexes, type DedupStats } from '../../src/push/dedup/dedup-indexes.js';
import { startBroker, type TestBroker } from '../support/broker.js';
import { inTurn, numbered } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(60_000);

let one: TestBroker;
let two: TestBroker;

beforeAll(async () => {
  one = await startBroker();
  two = await startBroker({ database: one.database });
});

afterAll(async () => {
  await two.stop();
  await one.stop();
});

function statsOf({ broker }: TestBroker): DedupStats {
  return broker.app.get(DedupIndexes).stats();
}

interface Result {
  status: string;
  message_id: string;
}

async function push(by: TestBroker, queue: string, ids: readonly string[]): Promise<Result[]> {
  const answer = await by.push(
    ids.map((transactionId) => ({ queue, transactionId, payload: transactionId })),
  );
  expect(answer.status).toBe(201);
  return answer.body as Result[];
}

const statusesOf = (results: Result[]) => results.map(({ status }) => status);

describe('a dedup index', () => {
  it('is rebuilt by a broker that was started anew, and remembers what was pushed before', async () => {
    const ids = numbered('m', 5_000);
    const first = await push(one, 'restarted', ids);
    const fresh = await startBroker({ database: one.database });
    try {
      const [again] = await push(fresh, 'restarted', [ids[17]]);
      expect([again.status, again.message_id]).toEqual(['duplicate', first[17].message_id]);
      await waitFor(() => statsOf(fresh).rebuilt === 1, { within: 5_000, what: 'the index to be rebuilt' });
      expect(statusesOf(await push(fresh, 'restarted', ['new', ids[4_999], 'newer']))).toEqual([
        'queued',
        'duplicate',
        'queued',
      ]);
      expect(statsOf(fresh)).toMatchObject({ partitions: 1, putAside: 0, unvouched: 1 });
      expect(statsOf(fresh).vouched).toBeGreaterThanOrEqual(2);
    } finally {
      await fresh.stop();
    }
  });

  it('knows what another broker pushed in between', async () => {
    for (let round = 0; round < 30; round++) {
      const [by, other] = round % 2 === 0 ? [one, two] : [two, one];
      expect(statusesOf(await push(by, 'alternating', [`m${round}`]))).toEqual(['queued']);
      expect(statusesOf(await push(other, 'alternating', [`m${round}`]))).toEqual(['duplicate']);
      if (round > 3)
        expect(statusesOf(await push(by, 'alternating', [`m${round - 3}`]))).toEqual(['duplicate']);
    }
    for (const broker of [one, two]) {
      const { vouched, unvouched } = statsOf(broker);
      expect(vouched).toBeGreaterThan(2 * unvouched);
    }
  });

  it('lets one of two brokers win when both push the same ids at once', async () => {
    const rounds = await inTurn(numbered('', 40), async (round) => {
      const ids = numbered(`r${round} `, 5);
      const both = await Promise.all([push(one, 'race', ids), push(two, 'race', [...ids].reverse())]);
      return both.flatMap(statusesOf).sort();
    });
    for (const statuses of rounds)
      expect(statuses).toEqual([...Array(5).fill('duplicate'), ...Array(5).fill('queued')]);
  });

  it('is of no use for the next queue of its name', async () => {
    await push(one, 'reborn', numbered('m', 10));
    await two.del('/api/v1/resources/queues/reborn');
    await push(two, 'reborn', numbered('n', 10));
    expect(statusesOf(await push(one, 'reborn', ['n3', 'm3']))).toEqual(['duplicate', 'queued']);
  });

  it('follows the window when it is made longer', async () => {
    await one.configure('longer', { dedupWindowSeconds: 1 });
    await push(one, 'longer', ['a']);
    await one.database.query(
      `update queen.log_txns set created_at = created_at - interval '10 seconds' where partition_id in (
         select p.id from queen.log_partitions p join queen.queues q on q.id = p.queue_id where q.name = 'longer')`,
    );
    expect(statusesOf(await push(one, 'longer', ['a']))).toEqual(['queued']);
    const fresh = await startBroker({ database: one.database });
    try {
      await push(fresh, 'longer', ['b']);
      await waitFor(() => statsOf(fresh).rebuilt === 1, { within: 5_000, what: 'the index to be rebuilt' });
      await one.configure('longer', { dedupWindowSeconds: 3600 });
      expect(statusesOf(await push(fresh, 'longer', ['b', 'a', 'c']))).toEqual([
        'duplicate',
        'duplicate',
        'queued',
      ]);
      expect(statsOf(fresh).putAside).toBeGreaterThan(0);
    } finally {
      await fresh.stop();
    }
  });

  it('can be switched off, and nobody notices', async () => {
    const without = await startBroker({ database: one.database, QUEEN_DEDUP_CACHE: false });
    try {
      await push(without, 'off', numbered('m', 100));
      expect(statusesOf(await push(without, 'off', ['m7', 'new', 'm99']))).toEqual([
        'duplicate',
        'queued',
        'duplicate',
      ]);
      expect(statsOf(without)).toMatchObject({ partitions: 0, vouched: 0, bytes: 0 });
    } finally {
      await without.stop();
    }
  });
});
