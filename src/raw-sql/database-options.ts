/** Where PostgreSQL is and how it is used; made once from the environment (or by the embedded server). */
export interface DatabaseOptions {
  url: string | null;
  /** Address of PostgreSQL itself where `url` or `host` lead to a pooler; for what needs a session of its own. */
  directUrl: string | null;
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  ssl: boolean;
  sslRejectUnauthorized: boolean;
  poolSize: number;
  /** How long a checkout waits for a free connection, in milliseconds. */
  poolWaitMs: number;
  /** How many checkouts may wait at once before more are refused. */
  poolWaitersMax: number;
  statementTimeoutMs: number;
  /** Prepared statements by name; off behind a pooler that cannot keep them. */
  namedStatements: boolean;
  /** A pooler stands between: sessions cannot be set up. Found out at boot. */
  pooled: boolean;
}

export const DATABASE_OPTIONS = Symbol('DatabaseOptions');

/** How long a broker that starts waits for one connection: its database may just be starting as well. */
export const BOOT_CONNECT_MS = 30_000;

/** As clientConfig, past a pooler where the operator told the way: for the schema and for LISTEN. */
export function directConfig(options: DatabaseOptions) {
  return clientConfig(options.directUrl === null ? options : { ...options, url: options.directUrl });
}

/** Options for a single pg client outside the pool (cancel, probes). */
export function clientConfig(options: DatabaseOptions) {
  const ssl = options.ssl ? { rejectUnauthorized: options.sslRejectUnauthorized } : undefined;
  const common = {
    ssl,
    keepAlive: true,
    application_name: 'queen-nest',
    connectionTimeoutMillis: options.poolWaitMs,
  };
  return options.url
    ? { ...common, connectionString: options.url, ...(ssl ? { ssl } : {}) }
    : {
        ...common,
        host: options.host,
        port: options.port,
        user: options.user,
        password: options.password,
        database: options.database,
      };
}
