import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { SchemaApplier } from '../../src/schema/schema.applier.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ackMultiCall, numbered, popWildcard, pushMultiCall, run } from '../support/make.js';
import { deadlocks, storm } from '../support/storm.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(30_000);

/** Hazard Z21: a broker that boots replaces the procedures under the traffic of those that run. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** The families that carry messages; the others are applied in the same way. */
async function applyProceduresAgain(): Promise<number> {
  await db.query(`delete from queen.schema_procedures where name < '006'`);
  const connect = async () => {
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    return client;
  };
  return (await new SchemaApplier(connect, () => undefined).apply()).procedures.length;
}

describe('replacing the procedures of pushes, pops and acks, five times (A21)', () => {
  it('neither fails nor holds up their traffic', async () => {
    const names = numbered('p', 8);
    let applied = 0;
    let done = 0;
    let slowestMs = 0;
    let finished = false;
    const traffic = storm(db, { sessions: 4, goesOn: () => !finished }, async (client, session, round) => {
      const startedMs = performance.now();
      const texts = [`${session}-${round}`];
      await run(client, pushMultiCall(names.map((partition) => ({ queue: 'q', partition, texts }))));
      const options = { worker: `w${session}`, maxPartitions: 8 };
      const { batches } = await popWildcard(client, 'q', options);
      const acks = batches.map(({ partitionId, end }) => ({
        partitionId,
        upto: end,
        worker: options.worker,
      }));
      await run(client, ackMultiCall(acks));
      slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      done++;
    });
    for (let round = 0; round < 5; round++) {
      const before = done;
      await waitFor(() => done >= before + 4, { within: 10_000, what: 'traffic between two rounds' });
      applied += await applyProceduresAgain();
    }
    finished = true;
    const { failures } = await traffic;
    expect(failures).toEqual([]);
    expect(applied).toBeGreaterThan(5 * 30);
    expect(slowestMs).toBeLessThan(10_000);
    expect(await deadlocks(db)).toBe(0);
  });
});
