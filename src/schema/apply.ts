import pg from 'pg';
import { loadEnvironment } from '../base/config/environment.js';
import { databaseFrom, namesDatabase } from '../boot/database-from.js';
import { clientConfig } from '../raw-sql/database-options.js';
import { SchemaApplier } from './schema.applier.js';
import type { SqlSession } from './sql-session.js';

/**
 * The command behind `npm run db:apply`: brings the configured database to what `database/` says and ends. Meant
 * for a job that runs before a rollout whose brokers have QUEEN_APPLY_SCHEMA=false. An entry point, like main.ts.
 */
async function applySchema(): Promise<void> {
  const environment = loadEnvironment();
  if (!namesDatabase(environment)) {
    throw new Error(
      'No database is configured: set DATABASE_URL or PG_HOST. (The embedded PostgreSQL is brought up to date by the ' +
        'broker that starts it.)',
    );
  }
  const config = { ...clientConfig(databaseFrom(environment)), application_name: 'queen-nest db:apply' };
  const connect = async (): Promise<SqlSession> => {
    const client = new pg.Client(config);
    client.on('error', () => undefined); // the statement under way reports it
    await client.connect();
    return client;
  };
  const applied = await new SchemaApplier(connect, say).apply();
  const count = applied.migrations.length + applied.procedures.length;
  say(count === 0 ? 'the schema is up to date' : 'the schema is now up to date');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  await applySchema();
} catch (error) {
  process.stderr.write(`${(error as Error).message || String(error)}\n`);
  process.exitCode = 1;
}
