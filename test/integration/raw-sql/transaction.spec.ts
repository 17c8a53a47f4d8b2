import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SqlStatementError } from '../../../src/raw-sql/sql-failure.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { openBench, pidOf, statement, type Bench } from './harness.js';

const insert = statement('insert', 'insert into public.t values ($1::int) returning n');
const divide = statement('divide', 'select 1 / $1::int');
const inTransaction = statement('in_transaction', 'select pg_current_xact_id_if_assigned() is not null');

let db: TestDatabase;
let bench: Bench;

beforeAll(async () => {
  db = await createTestDatabase();
  await db.query('create table public.t (n int unique deferrable initially deferred)');
});

beforeEach(async () => {
  await db.query('delete from public.t');
  bench = await openBench(db, { poolSize: 1 });
});

afterEach(() => bench.close());
afterAll(() => db.drop());

async function stored(): Promise<unknown[]> {
  return (await db.query('select n from public.t order by n')).rows.map(({ n }) => n);
}

describe('withTransaction', () => {
  it('commits when its function returns, and gives what it returned', async () => {
    const result = await bench.sql.withTransaction(null, async (connection) => {
      await connection.call(insert, [1]);
      expect(await stored()).toEqual([]);
      await connection.call(insert, [2]);
      return 'both';
    });
    expect(result).toBe('both');
    expect(await stored()).toEqual([1, 2]);
  });

  it('rolls back when its function throws, hands on what was thrown, and keeps the connection', async () => {
    const pid = await bench.sql.withConnection(null, pidOf);
    const thrown = new Error('changed my mind');
    const running = bench.sql.withTransaction(null, async (connection) => {
      await connection.call(insert, [1]);
      throw thrown;
    });
    await expect(running).rejects.toBe(thrown);
    expect(await stored()).toEqual([]);
    const after = await bench.sql.withConnection(null, async (connection) => ({
      pid: await pidOf(connection),
      inTransaction: await connection.callOne(inTransaction, []),
    }));
    expect(after).toEqual({ pid, inTransaction: [false] });
  });

  it('rolls back when a statement fails', async () => {
    const running = bench.sql.withTransaction(null, async (connection) => {
      await connection.call(insert, [1]);
      await connection.call(divide, [0]);
    });
    await expect(running).rejects.toBeInstanceOf(SqlStatementError);
    await expect(running).rejects.toMatchObject({ sqlState: '22012', code: 'sql_failed', retryable: false });
    expect(await stored()).toEqual([]);
    expect(bench.sql.stats()).toMatchObject({ total: 1, idle: 1, quarantined: 0 });
  });

  it('fails when the commit does, and nothing is kept', async () => {
    await bench.sql.callOne(insert, [1]);
    const running = bench.sql.withTransaction(null, async (connection) => {
      await connection.call(insert, [2]);
      await connection.call(insert, [1]); // found out only at the commit
    });
    await expect(running).rejects.toMatchObject({ sqlState: '23505' });
    expect(await stored()).toEqual([1]);
    expect(await bench.sql.callOne(divide, [1])).toEqual([1]);
  });

  it('does not pass for committed when its function swallowed a failure', async () => {
    const running = bench.sql.withTransaction(null, async (connection) => {
      await connection.call(insert, [1]);
      await connection.call(divide, [0]).catch(() => undefined);
      return 'all well';
    });
    await expect(running).rejects.toMatchObject({ code: 'sql_failed' });
    expect(await stored()).toEqual([]);
  });
});

describe('withConnection', () => {
  it('makes each call a transaction of its own', async () => {
    const running = bench.sql.withConnection(null, async (connection) => {
      await connection.call(insert, [1]);
      await connection.call(divide, [0]);
    });
    await expect(running).rejects.toMatchObject({ code: 'sql_failed' });
    expect(await stored()).toEqual([1]);
  });

  it('says of a deadlock that it may be tried again', async () => {
    const raise = statement('raise', 'select public.fail_with($1::text)');
    await db.query(`create function public.fail_with(code text) returns void language plpgsql as $$
      begin raise exception using errcode = code, message = 'QTEST: on purpose'; end $$`);
    for (const [state, retryable] of [
      ['40P01', true],
      ['40001', true],
      ['55P03', true],
      ['23505', false],
      ['QPUSH', false],
    ] as const) {
      await expect(bench.sql.call(raise, [state])).rejects.toMatchObject({
        ...{ sqlState: state, retryable, sqlMessage: 'QTEST: on purpose', code: 'sql_failed' },
      });
    }
    expect(bench.sql.stats()).toMatchObject({ total: 1, idle: 1, quarantined: 0 });
  });
});
