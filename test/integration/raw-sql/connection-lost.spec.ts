import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { waitFor } from '../../support/wait-for.js';
import { isAlive, openBench, pidOf, signal, statement, type Bench } from './harness.js';

/*
 * A backend that ends raises an event on its client; one nobody listens to ends the process (field case A17). That these
 * tests go on to their end is half of what they show.
 */

const sleep = statement('sleep', 'select pg_sleep($1::float8)');
const one = statement('one', 'select 1');

let db: TestDatabase;
let bench: Bench;

beforeAll(async () => {
  db = await createTestDatabase();
});

beforeEach(async () => {
  bench = await openBench(db, { poolSize: 2 });
});

afterEach(() => bench.close());
afterAll(() => db.drop());

async function kill(pid: number): Promise<void> {
  await db.query('select pg_terminate_backend($1)', [pid]);
  await waitFor(async () => !(await isAlive(db, pid)), { within: 5000, what: `backend ${pid} to end` });
}

describe('a connection that is lost (A17)', () => {
  it('in the middle of a statement fails it as database_unavailable, and the next call has another', async () => {
    let pid = 0;
    const begun = signal();
    const running = bench.sql.withConnection(null, async (connection) => {
      pid = await pidOf(connection);
      begun.give();
      return connection.call(sleep, [60]);
    });
    running.catch(() => undefined);
    await begun.promise;
    const asleep = async () => {
      const { rows } = await db.query(
        `select 1 from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'`,
        [pid],
      );
      return rows.length === 1;
    };
    await waitFor(asleep, { within: 5000, what: 'the statement to run' });
    await kill(pid);
    await expect(running).rejects.toMatchObject({ code: 'database_unavailable', status: 503 });
    expect(bench.sql.stats()).toMatchObject({ quarantined: 1, waiting: 0 });
    expect(await bench.sql.withConnection(null, pidOf)).not.toBe(pid);
  });

  it('between two statements of one lease fails the second the same way', async () => {
    let pid = 0;
    const [begun, killed] = [signal(), signal()];
    const running = bench.sql.withConnection(null, async (connection) => {
      pid = await pidOf(connection);
      begun.give();
      await killed.promise;
      return connection.call(one, []);
    });
    running.catch(() => undefined);
    await begun.promise;
    await kill(pid);
    killed.give();
    await expect(running).rejects.toMatchObject({ code: 'database_unavailable' });
    expect(await bench.sql.withConnection(null, pidOf)).not.toBe(pid);
    expect(bench.sql.stats()).toMatchObject({ waiting: 0 });
  });

  it('in the middle of a transaction has undone it', async () => {
    await db.query('create table public.kept (n int)');
    let pid = 0;
    const [begun, killed] = [signal(), signal()];
    const running = bench.sql.withTransaction(null, async (connection) => {
      await connection.call(statement('insert', 'insert into public.kept values (1)'), []);
      pid = await pidOf(connection);
      begun.give();
      await killed.promise;
      await connection.call(one, []);
    });
    running.catch(() => undefined);
    await begun.promise;
    await kill(pid);
    killed.give();
    await expect(running).rejects.toMatchObject({ code: 'database_unavailable' });
    expect((await db.query('select n from public.kept')).rows).toEqual([]);
  });

  it('while idle leaves the pool by itself', async () => {
    const [done, pids] = [signal(), [] as number[]];
    const both = [1, 2].map(() =>
      bench.sql.withConnection(null, async (connection) => {
        pids.push(await pidOf(connection));
        if (pids.length === 2) done.give();
        await done.promise;
      }),
    );
    await Promise.all(both);
    expect(bench.sql.stats()).toMatchObject({ total: 2, idle: 2 });
    for (const pid of pids) await kill(pid);
    await waitFor(() => bench.sql.stats().total === 0, { within: 5000, what: 'the pool to notice' });
    expect(bench.lines.filter((line) => line.includes('idle connection lost'))).toHaveLength(1); // one line, not one each
    expect(pids).not.toContain(await bench.sql.withConnection(null, pidOf));
  });

  it('again and again under load never fails anything for longer than the loss itself', async () => {
    const codes = new Set<string>();
    let stop = false;
    const load = Array.from({ length: 4 }, async () => {
      while (!stop) {
        await bench.sql.call(one, []).catch((error: { code: string }) => void codes.add(error.code));
      }
    });
    for (let k = 0; k < 10; k++) {
      await db.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'queen-nest' and datname = current_database()`,
      );
    }
    stop = true;
    await Promise.all(load);
    // "pool" is what a connection gets that dies while it is being made.
    expect([...codes].filter((code) => code !== 'database_unavailable' && code !== 'pool')).toEqual([]);
    expect(await bench.sql.callOne(one, [])).toEqual([1]);
    expect(bench.sql.stats().waiting).toBe(0);
  });
});
