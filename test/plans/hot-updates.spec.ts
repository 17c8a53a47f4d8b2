import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
  pushMessages,
  pushOneCall,
  renewCall,
  run,
} from '../support/make.js';

/** Invariant I43, hazard Z13: in the steady state no update of the two hot tables touches an index. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** How many updates the table has had, and how many of them were heap-only; `client` has made them. */
async function updates(client: pg.Client, table: string): Promise<{ all: number; hot: number }> {
  await client.query('select pg_stat_force_next_flush()');
  const { rows } = await db.query<{ all: number; hot: number }>(
    `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables
     where schemaname = 'queen' and relname = $1`,
    [table],
  );
  return rows[0];
}

async function during(client: pg.Client, table: string, work: () => Promise<void>) {
  const before = await updates(client, table);
  await work();
  const after = await updates(client, table);
  return { all: after.all - before.all, hot: after.hot - before.hot };
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
    const { all, hot } = await during(client, 'log_partitions', async () => {
      for (let i = 0; i < 2000; i++) {
        await client.query({ name: 'push', text, values });
        if (i % 20 === 0) writeTimes.add((await partitionRow(db, 'pushed', 'p'))!.lastWriteAt);
      }
    });
    const seconds = (performance.now() - startedMs) / 1000;
    expect(all).toBeGreaterThanOrEqual(2000);
    expect(hot / all).toBeGreaterThan(0.98);
    expect(writeTimes.size).toBeLessThanOrEqual(Math.floor(seconds) + 1);
  }, 30_000);
});

describe('pops, acks and renewals', () => {
  it('are heap-only updates of the cursors', async () => {
    const client = await db.connect();
    const partitions = numbered('p', 10);
    for (const partition of partitions) await pushMessages(db, 'popped', partition, numbered('m', 400));
    for (const partition of partitions)
      await popSpecific(client, 'popped', partition, { budget: 1, autoAck: true });
    const { all, hot } = await during(client, 'log_consumers', async () => {
      for (let turn = 0; turn < 20; turn++) {
        for (const partition of partitions) {
          const { batches } = await popSpecific(client, 'popped', partition, { budget: 2 });
          const [{ partitionId, end, texts }] = batches;
          if (turn % 4 === 0) await run(client, renewCall('w', 100, [partitionId]));
          if (turn % 2 === 0) await run(client, ackAtCall(partitionId, end, { count: 2 }));
          else await run(client, ackByHashCall(partitionId, texts, null));
          await popSpecific(client, 'popped', partition, { budget: 1, autoAck: true });
        }
      }
    });
    expect(all).toBeGreaterThanOrEqual(600);
    expect(hot / all).toBeGreaterThan(0.98);
  }, 30_000);
});
