import { DataSource } from 'typeorm';
import { BinaryClient } from './binary-client.js';
import { clientConfig, type DatabaseOptions } from './database-options.js';

/** The server's own limit lies a little above ours: the second line when our cancel request is lost. */
const SERVER_TIMEOUT_MARGIN_MS = 2000;

/**
 * Every statement of ours means an index. On small, freshly analysed tables the planner would cache a sequential scan
 * into the prepared plan, which then runs on until the next autovacuum.
 */
const PLANNER = '-c enable_seqscan=off -c random_page_cost=1.1 -c jit=off';

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
      options: `-c timezone=UTC ${PLANNER} -c statement_timeout=${options.statementTimeoutMs + SERVER_TIMEOUT_MARGIN_MS}`,
    },
  });
}
