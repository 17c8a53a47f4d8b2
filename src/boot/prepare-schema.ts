import { Logger } from '@nestjs/common';
import pg from 'pg';
import { clientConfig, type DatabaseOptions } from '../raw-sql/database-options.js';
import { SchemaApplier } from '../schema/schema.applier.js';
import { SchemaCheck } from '../schema/schema.check.js';
import type { SqlSession } from '../schema/sql-session.js';

/** Before anything else touches the database: brings it to what this build needs, or refuses to start. */
export async function prepareSchema(database: DatabaseOptions, apply: boolean): Promise<void> {
  const logger = new Logger('Schema');
  const connect = async (): Promise<SqlSession> => {
    const client = new pg.Client({ ...clientConfig(database), application_name: 'queen-nest schema' });
    client.on('error', (error) => logger.warn(`schema connection lost: ${error.message}`));
    await client.connect();
    return client;
  };
  if (!apply) {
    const { differingProcedures } = await new SchemaCheck(connect).requireComplete();
    if (differingProcedures.length > 0)
      logger.warn(`procedures of another build: ${differingProcedures.join(', ')}`);
    return;
  }
  const applied = await new SchemaApplier(connect, (line) => logger.log(line)).apply();
  if (applied.migrations.length + applied.procedures.length > 0) {
    logger.log(`applied ${applied.migrations.length} migrations and ${applied.procedures.length} procedures`);
  }
}
