import { Logger } from '@nestjs/common';
import pg from 'pg';
import {
  BOOT_CONNECT_MS,
  clientConfig,
  directConfig,
  type DatabaseOptions,
} from '../raw-sql/database-options.js';
import { isPooled } from '../raw-sql/pooler.js';
import { SchemaApplier } from '../schema/schema.applier.js';
import { SchemaCheck } from '../schema/schema.check.js';
import type { SqlSession } from '../schema/sql-session.js';

/**
 * Before anything else touches the database: brings it to what this build needs, or refuses to start.
 * @param leaving ends the applying after the file under way
 */
export async function prepareSchema(
  database: DatabaseOptions,
  apply: boolean,
  leaving?: AbortSignal,
): Promise<void> {
  const logger = new Logger('Schema');
  const opens = (config: pg.ClientConfig) => async (): Promise<SqlSession & pg.Client> => {
    const client = new pg.Client({
      ...config,
      application_name: 'queen-nest schema',
      connectionTimeoutMillis: BOOT_CONNECT_MS,
    });
    client.on('error', (error) => logger.warn(`schema connection lost: ${error.message}`));
    await client.connect();
    return client;
  };
  const connect = opens(directConfig(database));
  if (!apply) {
    const { differingProcedures } = await new SchemaCheck(opens(clientConfig(database))).requireComplete();
    if (differingProcedures.length > 0)
      logger.warn(`procedures of another build: ${differingProcedures.join(', ')}`);
    return;
  }
  if (database.pooled) await requireSession(connect);
  const applied = await new SchemaApplier(connect, (line) => logger.log(line), { leaving }).apply();
  if (applied.migrations.length + applied.procedures.length > 0) {
    logger.log(`applied ${applied.migrations.length} migrations and ${applied.procedures.length} procedures`);
  }
}

/** The schema's lock belongs to a session. A pooler in between would give it to whoever comes next. */
async function requireSession(connect: () => Promise<SqlSession & pg.Client>): Promise<void> {
  const client = await connect();
  const pooled = await isPooled(client).finally(() => client.end());
  if (!pooled) return;
  const { missingMigrations, missingProcedures, differingProcedures } = await new SchemaCheck(
    connect,
  ).report();
  if ([...missingMigrations, ...missingProcedures, ...differingProcedures].length === 0) return;
  throw new Error(
    'the schema must be brought up to date, which needs a session of its own, and a connection pooler stands between ' +
      'the broker and PostgreSQL: set QUEEN_DIRECT_DATABASE_URL to the address of PostgreSQL itself, or run ' +
      '"npm run db:apply" against that address before',
  );
}
