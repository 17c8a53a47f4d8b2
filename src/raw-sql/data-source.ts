import { DataSource } from 'typeorm';
import { BinaryClient } from './binary-client.js';
import { clientConfig, type DatabaseOptions } from './database-options.js';
import { asStartupOptions, sessionSettings } from './session-settings.js';

/**
 * TypeORM as pool, query runner and transaction owner; no entities, no synchronize. Behind a pooler the sessions are
 * not ours to set up: the boot has said what to give the role instead.
 */
export function createDataSource(options: DatabaseOptions, onPoolError: (error: Error) => void): DataSource {
  const { connectionString, ...rest } = clientConfig(options) as ReturnType<typeof clientConfig> & {
    connectionString?: string;
  };
  return new DataSource({
    type: 'postgres',
    ...(connectionString ? { url: connectionString } : { ...rest, username: options.user }),
    entities: [],
    synchronize: false,
    logging: false,
    installExtensions: false,
    poolErrorHandler: onPoolError,
    extra: {
      ...rest,
      Client: BinaryClient,
      max: options.poolSize,
      connectionTimeoutMillis: options.poolWaitMs,
      idleTimeoutMillis: 60_000,
      ...(options.pooled ? {} : { options: asStartupOptions(sessionSettings(options)) }),
    },
  });
}
