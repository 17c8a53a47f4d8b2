import type { SchemaLedger } from './schema-plan.js';
import type { SqlFile } from './sql-files.js';
import type { SqlSession } from './sql-session.js';

export type LedgerTable = 'queen.schema_migrations' | 'queen.schema_procedures';

/** What was applied; empty for a database that has never seen us. Needs no lock. */
export async function readLedger(session: SqlSession): Promise<SchemaLedger> {
  const { rows } = await session.query(
    `select to_regclass('queen.schema_migrations') is not null
        and to_regclass('queen.schema_procedures') is not null as present`,
  );
  if (rows[0]?.present !== true) return { migrations: new Map(), procedures: new Map() };
  return {
    migrations: await checksums(session, 'queen.schema_migrations'),
    procedures: await checksums(session, 'queen.schema_procedures'),
  };
}

/** Under the schema lock only: two sessions that create the same schema at once do collide, "if not exists" or not. */
export async function createLedger(session: SqlSession): Promise<void> {
  await session.query('create schema if not exists queen');
  for (const table of ['queen.schema_migrations', 'queen.schema_procedures']) {
    await session.query(
      `create table if not exists ${table} (
         name       text primary key,
         checksum   text not null,
         applied_at timestamptz not null default now()
       )`,
    );
  }
}

/** Inside the transaction that applies the file, so that the two are true together or not at all. */
export async function record(session: SqlSession, table: LedgerTable, file: SqlFile): Promise<void> {
  await session.query(
    `insert into ${table} (name, checksum) values ($1, $2)
     on conflict (name) do update set checksum = excluded.checksum, applied_at = now()`,
    [file.name, file.checksum],
  );
}

async function checksums(session: SqlSession, table: LedgerTable): Promise<Map<string, string>> {
  const { rows } = await session.query(`select name, checksum from ${table}`);
  return new Map(rows.map((row) => [String(row.name), String(row.checksum)]));
}
