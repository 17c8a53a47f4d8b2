import pg from 'pg';
import { clientConfig, type DatabaseOptions } from './database-options.js';

/** Connections that PostgreSQL allows, those for its superuser among them. */
export async function connectionRoom(database: DatabaseOptions): Promise<number> {
  const client = new pg.Client({ ...clientConfig(database), application_name: 'queen-nest look' });
  client.on('error', () => undefined); // the statement under way reports it
  await client.connect();
  try {
    const { rows } = await client.query<{ room: number }>(
      `select current_setting('max_connections')::int as room`,
    );
    return rows[0].room;
  } finally {
    await client.end().catch(() => undefined);
  }
}
