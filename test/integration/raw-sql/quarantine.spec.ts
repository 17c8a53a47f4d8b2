import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { waitFor } from '../../support/wait-for.js';
import { isAlive, openBench, pidOf, statement, type Bench } from './harness.js';

const TIMEOUT_MS = 150;

/** Server-side limits off, so that only a cancel request can end what runs. */
const noServerLimit = statement('no_limit', `select set_config('statement_timeout', '0', false)`);
const sleep = statement('sleep', 'select pg_sleep($1::float8)');
const stubborn = statement('stubborn', 'select public.stubborn()');
const echo = statement('echo', 'select $1::text, pg_backend_pid()');

let db: TestDatabase;
let bench: Bench;

beforeAll(async () => {
  db = await createTestDatabase();
  // Survives a cancel request, and answers when nobody listens any more.
  await db.query(`
    create function public.stubborn() returns text language plpgsql as $$
    begin
      perform pg_sleep(30);
      return 'not cancelled';
    exception when query_canceled then
      perform pg_sleep(0.3);
      return 'late';
    end $$`);
});

afterEach(() => bench.close());
afterAll(() => db.drop());

describe('a statement beyond its time limit', () => {
  it('fails as statement_timeout, is cancelled on the server, and its connection is destroyed', async () => {
    bench = await openBench(db, { poolSize: 2, statementTimeoutMs: TIMEOUT_MS });
    let pid = 0;
    const failing = bench.sql.withConnection(null, async (connection) => {
      pid = await pidOf(connection);
      await connection.call(noServerLimit, []);
      await connection.call(sleep, [60]);
    });
    await expect(failing).rejects.toMatchObject({ code: 'statement_timeout', status: 500 });
    await waitFor(async () => !(await isAlive(db, pid)), { within: 5000, what: 'the backend to end' });
    expect(bench.sql.stats()).toMatchObject({ quarantined: 1, statementErrors: 1, waiting: 0 });
    expect(bench.lines.filter((line) => line.includes('connection destroyed'))).toHaveLength(1);
  });

  it('leaves the pool as large as it was', async () => {
    bench = await openBench(db, { poolSize: 3, statementTimeoutMs: TIMEOUT_MS });
    const { sql } = bench;
    const failed = await Promise.allSettled([1, 2, 3].map(() => sql.call(sleep, [60])));
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(sql.stats()).toMatchObject({ quarantined: 3, total: 0, idle: 0 });

    const pids = await Promise.all([1, 2, 3].map(() => sql.withConnection(null, pidOf)));
    expect(new Set(pids).size).toBe(3);
    expect(sql.stats()).toMatchObject({ total: 3, idle: 3, waiting: 0 });
  });

  it('whose answer comes late all the same does not give it to the next one', async () => {
    bench = await openBench(db, { poolSize: 1, statementTimeoutMs: TIMEOUT_MS });
    let latePid = 0;
    const late = bench.sql.withConnection(null, async (connection) => {
      latePid = await pidOf(connection);
      await connection.call(stubborn, []);
    });
    await expect(late).rejects.toMatchObject({ code: 'statement_timeout' });
    for (let k = 0; k < 20; k++) {
      const [text, pid] = await bench.sql.callOne(echo, [`mine ${k}`]);
      expect(text).toBe(`mine ${k}`);
      expect(pid).not.toBe(latePid);
    }
    await waitFor(async () => !(await isAlive(db, latePid)), {
      within: 5000,
      what: 'the late backend to end',
    });
  });

  it('ends its lease: what follows on the same connection is not sent', async () => {
    bench = await openBench(db, { poolSize: 1, statementTimeoutMs: TIMEOUT_MS });
    const failures: unknown[] = [];
    await bench.sql.withConnection(null, async (connection) => {
      for (const seconds of [60, 0]) {
        await connection.call(sleep, [seconds]).catch((error: unknown) => void failures.push(error));
      }
    });
    expect(failures).toMatchObject([{ code: 'statement_timeout' }, { code: 'statement_timeout' }]);
    expect(bench.sql.stats().statements).toBe(1);
  });

  it('keeps nothing of a transaction that was under way', async () => {
    await db.query('create table public.kept (n int)');
    bench = await openBench(db, { poolSize: 1, statementTimeoutMs: TIMEOUT_MS });
    const insert = statement('insert_kept', 'insert into public.kept values (1) returning n');
    const failing = bench.sql.withTransaction(null, async (connection) => {
      await connection.call(insert, []);
      await connection.call(sleep, [60]);
    });
    await expect(failing).rejects.toMatchObject({ code: 'statement_timeout' });
    await waitFor(
      async () => {
        const { rows } =
          await db.query(`select 1 from pg_stat_activity where query like '%pg_sleep($1::float8)%'
          and datname = current_database() and pid <> pg_backend_pid()`);
        return rows.length === 0;
      },
      { within: 5000, what: 'the cancelled backend to end' },
    );
    expect((await db.query('select n from public.kept')).rows).toEqual([]);
  });
});

describe('the second line', () => {
  it('is the limit of the session itself, a little above ours', async () => {
    bench = await openBench(db, { poolSize: 1, statementTimeoutMs: 1000 });
    const limit = statement(
      'limit',
      `select current_setting('statement_timeout'), current_setting('TimeZone')`,
    );
    expect(await bench.sql.callOne(limit, [])).toEqual(['3s', 'UTC']);
  });

  it('counts as a timeout as well, and the connection as unusable', async () => {
    bench = await openBench(db, { poolSize: 1 });
    const tight = statement('tight', `select set_config('statement_timeout', '20', false)`);
    let pid = 0;
    const failing = bench.sql.withConnection(null, async (connection) => {
      pid = await pidOf(connection);
      await connection.call(tight, []);
      await connection.call(sleep, [60]);
    });
    await expect(failing).rejects.toMatchObject({ code: 'statement_timeout' });
    await waitFor(async () => !(await isAlive(db, pid)), { within: 5000, what: 'the backend to end' });
  });
});
