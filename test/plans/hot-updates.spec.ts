import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  ackByHashCall,
  ageLastWrite,
  makeQueue,
  numbered,
  partitionRow,
  popSpecific,
  popWildcard,
  pushMessages,
  pushMultiCall,
  pushOneCall,
  renewCall,
  run,
} from '../support/make.js';

jest.setTimeout(30_000);

/** Invariant I43, hazard Z13: in the steady state no update of the two hot tables touches an index. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface Updates {
  all: number;
  /** Heap-only. */
  hot: number;
  /**
   * Not heap-only because the page had no room: a long transaction anywhere in the cluster keeps dead versions for its
   * time. PostgreSQL counts them since version 16; before that they pass for updates of an indexed column.
   */
  moved: number;
}

/** The updates of a table so far; `client` has made them. */
async function updates(client: pg.Client, table: string): Promise<Updates> {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await db.query<Updates>(
    `select n_tup_upd::int as all, n_tup_hot_upd::int as hot,
            coalesce((to_jsonb(s) ->> 'n_tup_newpage_upd')::int, 0) as moved
     from pg_stat_user_tables s where schemaname = 'queen' and relname = $1`,
    [table],
  );
  return rows[0];
}

/** Of the updates that `work` makes: how many there are, and which share had to write to an index for their content. */
async function during(client: pg.Client, table: string, work: () => Promise<void>) {
  const before = await updates(client, table);
  await work();
  const after = await updates(client, table);
  const all = after.all - before.all;
  const hot = after.hot - before.hot;
  return { all, indexed: (all - hot - (after.moved - before.moved)) / all, hot: hot / all };
}

describe('pushes to one partition', () => {
  it('move its write time at most once a second, and are heap-only updates', async () => {
    const client = await db.connect();
    await makeQueue(db, 'pushed', { dedupWindowSeconds: 0 });
    await pushMessages(client, 'pushed', 'p', ['first']);
    await ageLastWrite(db, 'pushed', 'p', 5);
    const [text, values] = pushOneCall('pushed', 'p', ['a']);
    const writeTimes = new Set<string>();
    const startedMs = performance.now();
    const { all, indexed, hot } = await during(client, 'log_partitions', async () => {
      for (let i = 0; i < 1000; i++) {
        await client.query({ name: 'push', text, values });
        if (i % 20 === 0) writeTimes.add((await partitionRow(db, 'pushed', 'p'))!.lastWriteAt);
      }
    });
    const seconds = (performance.now() - startedMs) / 1000;
    expect(all).toBeGreaterThanOrEqual(1000);
    expect(indexed).toBeLessThan(0.02);
    expect(hot).toBeGreaterThan(0.8);
    expect(writeTimes.size).toBeLessThanOrEqual(Math.floor(seconds) + 1);
  });
});

describe('pops, acks and renewals', () => {
  it('are heap-only updates of the cursors', async () => {
    const client = await db.connect();
    const partitions = numbered('p', 120);
    const texts = numbered('m', 20);
    await run(db, pushMultiCall(partitions.map((partition) => ({ queue: 'popped', partition, texts }))));
    await popWildcard(client, 'popped', { budget: 1, autoAck: true });
    const { all, indexed, hot } = await during(client, 'log_consumers', async () => {
      for (const byHash of [true, false]) {
        for (const partition of partitions) {
          const { batches } = await popSpecific(client, 'popped', partition, { budget: 2 });
          const [{ partitionId, end, texts }] = batches;
          if (byHash) await run(client, ackByHashCall(partitionId, texts, null));
          else {
            await run(client, renewCall('w', 100, [partitionId]));
            await run(client, ackAtCall(partitionId, end, { count: 2 }));
          }
          await popSpecific(client, 'popped', partition, { budget: 1, autoAck: true });
        }
      }
    });
    expect(all).toBeGreaterThanOrEqual(7 * 120);
    expect(indexed).toBeLessThan(0.02);
    expect(hot).toBeGreaterThan(0.8);
  });
});
