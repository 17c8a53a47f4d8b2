import { realpathSync } from 'node:fs';
import pg from 'pg';
import { buildDatabaseUrl, SERVER_DATABASE, type SavedAccess } from './database-url.js';

/** The few statements that the supervisor of the server itself needs, each on a connection of its own. */
async function withServer<T>(access: SavedAccess, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: buildDatabaseUrl(access, 'postgres'),
    connectionTimeoutMillis: 5_000,
    application_name: 'queen-nest supervisor',
  });
  client.on('error', () => undefined); // a connection that breaks fails the statement under way
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The directory that the server behind this access serves. Rejects when it does not let us in. */
export function dataDirectoryOf(access: SavedAccess): Promise<string> {
  return withServer(access, async (client) => {
    const { rows } = await client.query<{ directory: string }>(
      `select current_setting('data_directory') as directory`,
    );
    return realpathSync(rows[0]?.directory ?? '');
  });
}

/** Looked for at every start: the process may have died between making the cluster and making the database. */
export function ensureDatabase(access: SavedAccess): Promise<void> {
  return withServer(access, async (client) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [
      SERVER_DATABASE,
    ]);
    if (rowCount === 0) await client.query(`create database ${SERVER_DATABASE}`);
  });
}
