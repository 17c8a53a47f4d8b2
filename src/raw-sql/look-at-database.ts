import { Logger } from '@nestjs/common';
import pg from 'pg';
import { BOOT_CONNECT_MS, clientConfig, type DatabaseOptions } from './database-options.js';
import { sessionSettings } from './session-settings.js';
import { isPooled } from './pooler.js';

/**
 * What stands at the address, before anything is sent there in earnest. Returns the options as they suit it: behind a
 * connection pooler a session of the broker's own does not exist, so nothing may be kept in one (field case A22).
 * Rejects for a standby with one line (A18): a broker there could neither apply the schema nor store a message.
 */
export async function lookAtDatabase(database: DatabaseOptions): Promise<DatabaseOptions> {
  const client = new pg.Client({
    ...clientConfig(database),
    application_name: 'queen-nest look',
    connectionTimeoutMillis: BOOT_CONNECT_MS,
    query_timeout: BOOT_CONNECT_MS,
  });
  client.on('error', () => undefined); // the statement under way reports it
  await client.connect();
  try {
    const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
    if (rows[0].standby) {
      throw new Error(
        `PostgreSQL at ${client.host}:${client.port} is a standby and takes no writes: give the broker the address of the primary`,
      );
    }
    if (!(await isPooled(client))) return database;
    const pooled = { ...database, namedStatements: false, pooled: true };
    await advise(client, pooled);
    return pooled;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The settings that the broker would give its sessions have to come from the role. */
async function advise(client: pg.Client, database: DatabaseOptions): Promise<void> {
  const logger = new Logger('Database');
  logger.log(
    'a connection pooler stands between the broker and PostgreSQL: statements are not prepared by name',
  );
  const wanted = sessionSettings(database);
  const { rows } = await client.query<{ name: string; differs: boolean; role: string; db: string }>(
    `select name, current_setting(name) <> value as differs, quote_ident(current_user) as role,
            quote_ident(current_database()) as db
       from unnest($1::text[], $2::text[]) as wanted(name, value)`,
    [wanted.map(({ name }) => name), wanted.map(({ shown }) => shown)],
  );
  const differing = new Set(rows.filter(({ differs }) => differs).map(({ name }) => name));
  if (differing.size === 0) return;
  const [{ role, db }] = rows;
  const statements = wanted
    .filter(({ name }) => differing.has(name))
    .map(({ name, value }) => `alter role ${role} in database ${db} set ${name} = '${value}';`);
  logger.warn(
    `through the pooler the broker cannot set up its sessions; let PostgreSQL do it: ${statements.join(' ')}`,
  );
}
