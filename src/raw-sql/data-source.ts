import { DataSource } from 'typeorm';
import { BinaryClient } from './binary-client.js';
import { clientConfig, type DatabaseOptions } from './database-options.js';

/** The server's own limit lies a little above ours: the second line when our cancel request is lost. */
const SERVER_TIMEOUT_MARGIN_MS = 2000;

/**
 * TypeORM as pool, query runner and transaction owner; no entities, no synchronize. Sessions run in UTC
 * (Z18) without JIT, whose compile time exceeds every statement we send.
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
      options: `-c timezone=UTC -c jit=off -c statement_timeout=${options.statementTimeoutMs + SERVER_TIMEOUT_MARGIN_MS}`,
    },
  });
}
