import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { AbortedError } from '../../../src/base/errors/aborted-error.js';
import { BrokerError } from '../../../src/base/errors/broker-error.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { waitFor } from '../../support/wait-for.js';
import { openBench, pidOf, signal, statement, type Bench } from './harness.js';

let db: TestDatabase;
let bench: Bench;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterEach(() => bench.close());
afterAll(() => db.drop());

/** Takes the only connection until the result is called. */
async function occupy({ sql }: Bench): Promise<() => Promise<void>> {
  const [taken, done] = [signal(), signal()];
  const holding = sql.withConnection(null, async () => {
    taken.give();
    await done.promise;
  });
  await taken.promise;
  return () => {
    done.give();
    return holding;
  };
}

describe('a pool without a free connection', () => {
  it('fails as "pool" after the wait, and works again as soon as one is back', async () => {
    bench = await openBench(db, { poolSize: 1, poolWaitMs: 120 });
    const leave = await occupy(bench);
    const failure = await bench.sql.withConnection(null, pidOf).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(BrokerError);
    expect(failure).toMatchObject({ code: 'pool', message: 'pool', status: 500 });
    expect(bench.lines).toContain('no connection came free in time');

    await leave();
    expect(await bench.sql.withConnection(null, pidOf)).toBeGreaterThan(0);
    expect(bench.sql.stats()).toMatchObject({ total: 1, idle: 1, waiting: 0, quarantined: 0 });
  });

  it('refuses more waiters than its bound at once, and serves those who wait in turn', async () => {
    bench = await openBench(db, { poolSize: 1, poolWaitersMax: 2 });
    const { sql } = bench;
    const leave = await occupy(bench);
    const served: string[] = [];
    const waiting = ['first', 'second'].map((name) =>
      sql.withConnection(null, async () => void served.push(name)),
    );
    await waitFor(() => sql.stats().waiting === 2, { within: 2000, what: 'two waiters' });
    await expect(sql.withConnection(null, pidOf)).rejects.toMatchObject({
      ...{ code: 'overloaded', status: 503, retryAfterSeconds: 1 },
    });
    expect(served).toEqual([]);

    await leave();
    await Promise.all(waiting);
    expect(served).toEqual(['first', 'second']);
  });

  it('is left by a client that is gone, with the connection back in the pool', async () => {
    bench = await openBench(db, { poolSize: 1 });
    const leave = await occupy(bench);
    const gone = new AbortController();
    let ran = false;
    const waiting = bench.sql.withConnection(gone.signal, async () => void (ran = true));
    await waitFor(() => bench.sql.stats().waiting === 1, { within: 2000, what: 'the waiter' });
    gone.abort();
    await leave();
    await expect(waiting).rejects.toBeInstanceOf(AbortedError);
    await expect(bench.sql.withConnection(gone.signal, pidOf)).rejects.toBeInstanceOf(AbortedError);
    expect(ran).toBe(false);
    expect(bench.sql.stats()).toMatchObject({ total: 1, idle: 1 });
  });

  it('also when no connection can be made at all', async () => {
    bench = await openBench(db, { poolSize: 1 });
    // From another database: PostgreSQL closes none to its own sessions.
    const outside = new pg.Client({ connectionString: process.env.QUEEN_TEST_ADMIN_URL });
    await outside.connect();
    const allow = (allowed: boolean) =>
      outside.query(`alter database ${db.name} with allow_connections ${allowed}`);
    await db.query('select 1'); // our own session has to be there before the door closes
    try {
      await allow(false);
      // The connection of the start is thrown away, so that the next call needs a new one.
      await db.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'queen-nest'`,
      );
      await waitFor(() => bench.sql.stats().total === 0, { within: 5000, what: 'the pool to notice' });
      await expect(bench.sql.withConnection(null, pidOf)).rejects.toMatchObject({ code: 'pool' });
    } finally {
      await allow(true);
      await outside.end();
    }
    expect(await bench.sql.withConnection(null, pidOf)).toBeGreaterThan(0);
  });
});

describe('a pool under failures', () => {
  it('loses no connection, whichever step fails (field case A15)', async () => {
    bench = await openBench(db, { poolSize: 4 });
    const { sql } = bench;
    const divide = statement('divide', 'select 1 / $1::int');
    const nowhere = statement('nowhere', 'select queen.no_such_function()');
    const failures: (() => Promise<unknown>)[] = [
      () => sql.call(divide, [0]),
      () => sql.call(nowhere, []),
      () => sql.call(divide, ['not a number']),
      () => sql.withConnection(null, () => Promise.reject(new Error('in between'))),
      () => sql.withTransaction(null, (connection) => connection.call(divide, [0])),
      () => sql.withTransaction(null, () => Promise.reject(new Error('in between'))),
    ];
    const all = Array.from({ length: 120 }, (_, k) => failures[k % failures.length]());
    const outcomes = await Promise.allSettled(all);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    const { total, idle, waiting, quarantined } = sql.stats();
    expect({ idle, waiting, quarantined }).toEqual({ idle: total, waiting: 0, quarantined: 0 });
    const open = await db.query(
      `select state from pg_stat_activity where application_name = 'queen-nest' and datname = current_database()`,
    );
    expect(open.rows.map(({ state }) => state)).toEqual(Array<string>(total).fill('idle'));
  });
});
