import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { waitFor } from '../../support/wait-for.js';
import { isAlive, openBench, pidOf, statement, type Bench } from './harness.js';

/** A server that was demoted keeps its connections healthy; only the error code tells (field case A18). */

const write = statement('write', 'insert into public.written values ($1::int) returning n');
const read = statement('read', 'select count(*)::int from public.written');

let db: TestDatabase;
let bench: Bench;

beforeAll(async () => {
  db = await createTestDatabase();
  await db.query('create table public.written (n int)');
});

beforeEach(async () => {
  bench = await openBench(db, { poolSize: 2 });
});

afterEach(() => bench.close());
afterAll(() => db.drop());

describe('a database that takes no writes (A18)', () => {
  it('fails writes as database_unavailable and costs the connection, which may be to the old primary', async () => {
    const readOnly = statement(
      'read_only',
      `select set_config('default_transaction_read_only', 'on', false)`,
    );
    let pid = 0;
    const writing = bench.sql.withConnection(null, async (connection) => {
      pid = await pidOf(connection);
      await connection.call(readOnly, []);
      await connection.call(write, [1]);
    });
    await expect(writing).rejects.toMatchObject({
      ...{ code: 'database_unavailable', status: 503, retryAfterSeconds: 1 },
    });
    await waitFor(async () => !(await isAlive(db, pid)), {
      within: 5000,
      what: 'the connection to be dropped',
    });
    expect(bench.sql.stats()).toMatchObject({ quarantined: 1 });
    expect(await bench.sql.callOne(write, [2])).toEqual([2]);
  });

  it('is written to again as soon as it allows it, without a restart', async () => {
    await db.query('delete from public.written');
    await bench.sql.callOne(write, [1]);
    await db.query(`alter database ${db.name} set default_transaction_read_only = on`);
    // As a fail-over does: whoever was connected is thrown out.
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'queen-nest'`,
    );
    await waitFor(() => bench.sql.stats().total === 0, { within: 5000, what: 'the pool to notice' });
    for (const n of [2, 3]) {
      await expect(bench.sql.call(write, [n])).rejects.toMatchObject({ code: 'database_unavailable' });
      expect(await bench.sql.callOne(read, [])).toEqual([1]);
    }
    // The session that says so is old enough to write.
    await db.query(`alter database ${db.name} reset default_transaction_read_only`);
    await waitFor(
      async () => {
        await bench.sql.call(write, [4]);
        return true;
      },
      { within: 5000, what: 'a write to succeed' },
    );
    expect(await bench.sql.callOne(read, [])).toEqual([2]);
  });
});
