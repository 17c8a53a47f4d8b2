import type { Environment } from '../base/config/environment.js';
import type { DatabaseOptions } from '../raw-sql/database-options.js';

/** True when the environment names a PostgreSQL; otherwise the embedded one is started. */
export function namesDatabase(environment: Environment): boolean {
  return environment.DATABASE_URL !== '' || environment.PG_HOST !== '';
}

/** @param embeddedUrl address of the embedded server, when that is the one to use */
export function databaseFrom(environment: Environment, embeddedUrl?: string): DatabaseOptions {
  return {
    url: embeddedUrl ?? (environment.DATABASE_URL || null),
    directUrl: embeddedUrl === undefined ? environment.QUEEN_DIRECT_DATABASE_URL || null : null,
    host: environment.PG_HOST,
    port: environment.PG_PORT,
    user: environment.PG_USER,
    password: environment.PG_PASSWORD,
    database: environment.PG_DATABASE,
    ssl: embeddedUrl === undefined && environment.PG_USE_SSL,
    sslRejectUnauthorized: environment.PG_SSL_REJECT_UNAUTHORIZED,
    poolSize: environment.DB_POOL_SIZE,
    poolWaitMs: environment.DB_POOL_WAIT_MS,
    poolWaitersMax: environment.DB_POOL_WAITERS_MAX,
    statementTimeoutMs: environment.QUEEN_STMT_TIMEOUT_MS,
    namedStatements: environment.QUEEN_PG_NAMED_STATEMENTS,
    pooled: false,
  };
}
