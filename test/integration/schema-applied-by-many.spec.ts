import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import {
  MigrationEditedError,
  SchemaIncompleteError,
  SchemaTooNewError,
} from '../../src/schema/schema-errors.js';
import { describeHolder, SCHEMA_LOCK_KEY, trySchemaLock } from '../../src/schema/schema-lock.js';
import { SchemaApplier } from '../../src/schema/schema.applier.js';
import { SchemaCheck } from '../../src/schema/schema.check.js';
import { DATABASE_DIR, readSqlFiles } from '../../src/schema/sql-files.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { openSessions } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(120_000);

let db: TestDatabase;
let databaseDir: string;
let lines: string[];

beforeEach(async () => {
  db = await createTestDatabase({ empty: true });
  databaseDir = mkdtempSync(join(tmpdir(), 'schema-'));
  mkdirSync(join(databaseDir, 'migrations'));
  mkdirSync(join(databaseDir, 'procedures'));
  lines = [];
});

afterEach(async () => {
  rmSync(databaseDir, { recursive: true });
  await db.drop(); // fails when an applier has left a session open
});

/** Not through `db.connect`, so that the leak check of `drop` sees these sessions as foreign. */
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: db.url, application_name: 'applier' });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

function applier(directory = databaseDir): SchemaApplier {
  return new SchemaApplier(connect, (line) => void lines.push(line), { databaseDir: directory });
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(databaseDir, path)), { recursive: true });
  writeFileSync(join(databaseDir, path), text);
}

function writeCounter(): void {
  write('migrations/0001_counters.sql', 'create table queen.counters (id int primary key, n int not null);');
  write('migrations/0002_rows.sql', 'insert into queen.counters select i, 0 from generate_series(1, 8) i;');
  writeProcedure('first');
}

function writeProcedure(version: string): void {
  write(
    'procedures/001_count/count_v1.sql',
    `create or replace function queen.count_v1(p_id int) returns text language plpgsql as $$
     begin
       update queen.counters set n = n + 1 where id = p_id;
       return '${version}';
     end $$;`,
  );
}

function writeEntries(): void {
  write(
    'migrations/0003_entries.sql',
    'create table queen.entries (id bigserial primary key, counter int not null references queen.counters);',
  );
}

const number = (round: number) => String(round).padStart(3, '0');

async function ledger(table: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(`select name from queen.${table} order by name`);
  return rows.map(({ name }) => name);
}

describe('the schema', () => {
  it('is applied once by twenty brokers that start at once, and all of them come up (A21)', async () => {
    const files = await readSqlFiles(DATABASE_DIR);
    const results = await Promise.all(Array.from({ length: 20 }, () => applier(DATABASE_DIR).apply()));

    const names = (list: { name: string }[]) => list.map(({ name }) => name);
    expect(results.flatMap(({ migrations }) => migrations)).toEqual(names(files.migrations));
    expect(results.flatMap(({ procedures }) => procedures)).toEqual(names(files.procedures));
    expect(results.filter(({ migrations }) => migrations.length > 0)).toHaveLength(1);
    expect(await ledger('schema_migrations')).toEqual(names(files.migrations));
    expect(await ledger('schema_procedures')).toEqual(names(files.procedures).sort());
  });

  it('that is up to date is left alone without asking for the lock', async () => {
    writeCounter();
    await applier().apply();
    const { s1 } = await openSessions(db, ['s1']);
    await s1.run('select pg_advisory_lock($1)', [SCHEMA_LOCK_KEY]);
    const applied = applier().apply();
    expect(await waitFor(applied, { within: 5000, what: 'the applier to end' })).toEqual({
      migrations: [],
      procedures: [],
      waitedMs: 0,
    });
  });

  it('replaces only the procedures whose text changed', async () => {
    writeCounter();
    write(
      'procedures/001_count/other_v1.sql',
      'create or replace function queen.other_v1() returns int language sql as $$ select 1 $$;',
    );
    await applier().apply();
    writeProcedure('second');
    expect(await applier().apply()).toMatchObject({ migrations: [], procedures: ['001_count/count_v1.sql'] });
    expect((await db.query('select queen.count_v1(1) as version')).rows).toEqual([{ version: 'second' }]);
  });

  it('is refused when the database knows a migration that this build does not', async () => {
    writeCounter();
    await applier().apply();
    rmSync(join(databaseDir, 'migrations', '0002_rows.sql'));
    writeProcedure('older');

    await expect(applier().apply()).rejects.toThrow(SchemaTooNewError);
    await expect(applier().apply()).rejects.toThrow(/0002_rows\.sql .*newer/);
    await expect(new SchemaCheck(connect, databaseDir).report()).rejects.toThrow(SchemaTooNewError);
    expect((await db.query('select queen.count_v1(1) as version')).rows).toEqual([{ version: 'first' }]);
  });

  it('is refused when an applied migration was edited', async () => {
    writeCounter();
    await applier().apply();
    write(
      'migrations/0001_counters.sql',
      'create table queen.counters (id bigint primary key, n int not null);',
    );
    await expect(applier().apply()).rejects.toThrow(MigrationEditedError);
    await expect(applier().apply()).rejects.toThrow(/0001_counters\.sql/);
  });

  it('keeps the files before a broken one, names file and line, and goes on once it is mended', async () => {
    writeCounter();
    write(
      'migrations/0002_rows.sql',
      'insert into queen.counters values (1, 0);\n\ninsert into queen.nowhere values (1);',
    );
    await expect(applier().apply()).rejects.toThrow(/0002_rows\.sql, line 3 .*nowhere/);
    expect(await ledger('schema_migrations')).toEqual(['0001_counters.sql']);
    expect((await db.query('select count(*)::int as n from queen.counters')).rows).toEqual([{ n: 0 }]);

    writeCounter();
    expect((await applier().apply()).migrations).toEqual(['0002_rows.sql']);
  });

  it('is whole or untouched, and not locked, after its applier was killed inside a file (A21)', async () => {
    writeCounter();
    write(
      'migrations/0002_rows.sql',
      'insert into queen.counters values (1, 0); select pg_advisory_xact_lock(77);',
    );
    const { s1 } = await openSessions(db, ['s1']);
    await s1.run('select pg_advisory_lock(77)');
    const failed = expect(applier().apply()).rejects.toThrow(/0002_rows/);
    const backend = await waitFor(
      async () => {
        const { rows } = await db.query<{ pid: number }>(
          `select pid from pg_stat_activity
            where application_name = 'applier' and datname = current_database() and wait_event = 'advisory'`,
        );
        return rows[0]?.pid;
      },
      { within: 10_000, what: 'the applier to be inside the second file' },
    );
    await db.query('select pg_terminate_backend($1)', [backend]);
    await failed;

    expect(await ledger('schema_migrations')).toEqual(['0001_counters.sql']);
    await s1.run('select pg_advisory_unlock(77)');
    expect((await applier().apply()).migrations).toEqual(['0002_rows.sql']);
  });

  it('waits for another applier outside a transaction, and says who holds the lock', async () => {
    writeCounter();
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.run('select pg_advisory_lock($1)', [SCHEMA_LOCK_KEY]);
    const applying = applier().apply();
    await waitFor(
      async () => {
        const { rows } = await db.query(
          `select 1 from pg_stat_activity
            where application_name = 'applier' and datname = current_database()
              and state = 'idle' and query ~ 'pg_try_advisory_lock|to_regclass'`,
        );
        return rows.length === 1;
      },
      { within: 5000, what: 'the applier to be idle between two looks' },
    );
    expect(await trySchemaLock(s2.client)).toBe(false);
    expect(await describeHolder(s2.client)).toMatch(new RegExp(`^backend ${s1.pid} \\(s1 from .*idle\\)$`));

    await s1.run('select pg_advisory_unlock($1)', [SCHEMA_LOCK_KEY]);
    const applied = await applying;
    expect(applied.migrations).toHaveLength(2);
    expect(applied.waitedMs).toBeGreaterThan(0);
    expect(await trySchemaLock(s2.client)).toBe(true);
  });

  it('is checked without being changed by a broker that may not apply it', async () => {
    writeCounter();
    const check = new SchemaCheck(connect, databaseDir);
    await expect(check.requireComplete()).rejects.toThrow(SchemaIncompleteError);
    await expect(check.requireComplete()).rejects.toThrow(
      /0001_counters\.sql.*count_v1\.sql.*npm run db:apply/,
    );
    expect((await db.query(`select to_regnamespace('queen') as schema`)).rows).toEqual([{ schema: null }]);

    await applier().apply();
    const complete = { missingMigrations: [], missingProcedures: [], differingProcedures: [] };
    expect(await check.requireComplete()).toEqual(complete);

    writeProcedure('another build');
    expect(await check.requireComplete()).toEqual({
      ...complete,
      differingProcedures: ['001_count/count_v1.sql'],
    });
  });

  /**
   * Z21. The writers take a row lock on a parent through a foreign key and then change it, which is what made DDL in
   * one long transaction deadlock with pushes. Each round changes a procedure and adds a column to both tables.
   */
  it('is applied ten times while writers work, without a failed write', async () => {
    writeCounter();
    writeEntries();
    await applier().apply();
    const writing = new Writers(db);
    await writing.begin(4);
    try {
      for (let round = 1; round <= 10; round++) {
        await writing.more();
        // One table a file: a file that holds one of them and waits for the other would wait for ever.
        write(
          `migrations/1${number(round)}_counters.sql`,
          `alter table queen.counters add column c${round} int;`,
        );
        write(
          `migrations/2${number(round)}_entries.sql`,
          `alter table queen.entries add column c${round} int;`,
        );
        writeProcedure(`round ${round}`);
        const applied = await applier().apply();
        expect(applied.migrations).toHaveLength(2);
        expect(applied.procedures).toHaveLength(1);
      }
    } finally {
      await writing.end();
    }
    expect(writing.failures).toEqual([]);
    const { rows } = await db.query(
      `select (select sum(n)::int from queen.counters) as counted, count(*)::int as entered from queen.entries`,
    );
    expect(rows).toEqual([{ counted: writing.done, entered: writing.done }]);
    expect((await db.query('select queen.count_v1(1) as version')).rows).toEqual([{ version: 'round 10' }]);
  });

  it('lets the traffic through again and again while a long transaction is in its way', async () => {
    writeCounter();
    writeEntries();
    await applier().apply();
    const { s1 } = await openSessions(db, ['s1']);
    await s1.begin();
    await s1.run('select n from queen.counters');
    const writing = new Writers(db);
    await writing.begin(2);
    try {
      write('migrations/1001_counters.sql', 'alter table queen.counters add column c int;');
      const applying = applier().apply();
      await waitFor(() => lines.some((line) => /1001_counters\.sql: attempt 4 of 40 gave way/.test(line)), {
        within: 20_000,
        what: 'four attempts in vain',
      });
      await writing.more();
      await s1.commit();
      expect((await applying).migrations).toEqual(['1001_counters.sql']);
    } finally {
      await writing.end();
    }
    expect(writing.failures).toEqual([]);
    expect(writing.slowestMs).toBeLessThan(1500);
  });
});

/** Sessions that write without pause, each transaction touching both tables. */
class Writers {
  done = 0;
  slowestMs = 0;
  readonly failures: string[] = [];
  private stopping = false;
  private loops: Promise<void>[] = [];

  constructor(private readonly db: TestDatabase) {}

  async begin(count: number): Promise<void> {
    const clients = await Promise.all(Array.from({ length: count }, () => this.db.connect()));
    this.loops = clients.map((client, i) => this.loop(client, i + 1));
  }

  /** Returns when so many further writes are done. */
  async more(count = 20): Promise<void> {
    const target = this.done + count;
    await waitFor(() => this.done >= target, { within: 10_000, what: `${count} more writes` });
  }

  async end(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.loops);
  }

  private async loop(client: pg.Client, id: number): Promise<void> {
    for (let turn = 0; !this.stopping; turn++) {
      const startedMs = performance.now();
      const counter = ((id + turn) % 8) + 1;
      try {
        await client.query('begin');
        await client.query('insert into queen.entries (counter) values ($1)', [counter]);
        await client.query('select queen.count_v1($1)', [counter]);
        await client.query('commit');
        this.done++;
      } catch (error) {
        this.failures.push((error as Error).message);
        await client.query('rollback').catch(() => undefined);
      }
      this.slowestMs = Math.max(this.slowestMs, performance.now() - startedMs);
    }
  }
}
