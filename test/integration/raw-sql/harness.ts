import { Logger, type LoggerService } from '@nestjs/common';
import type { SqlConnection } from '../../../src/raw-sql/connection-lease.js';
import type { DatabaseOptions } from '../../../src/raw-sql/database-options.js';
import type { Procedure } from '../../../src/raw-sql/procedure.js';
import { RawSqlService } from '../../../src/raw-sql/raw-sql.service.js';
import type { TestDatabase } from '../../support/database.js';

/** The service on a pool of its own, and what it logged. */
export interface Bench {
  readonly sql: RawSqlService;
  readonly lines: string[];
  close(): Promise<void>;
}

export async function openBench(db: TestDatabase, options: Partial<DatabaseOptions> = {}): Promise<Bench> {
  const lines: string[] = [];
  const keep = (line: unknown) => void lines.push(String(line));
  Logger.overrideLogger({ log: keep, warn: keep, error: keep } satisfies LoggerService);
  const sql = new RawSqlService({
    ...{ url: db.url, host: '', port: 0, user: '', password: '', database: '', ssl: false },
    ...{ sslRejectUnauthorized: true, poolSize: 4, poolWaitMs: 5000, poolWaitersMax: 100 },
    ...{ statementTimeoutMs: 30_000, namedStatements: true, directUrl: null, pooled: false },
    ...options,
  });
  await sql.onModuleInit();
  return { sql, lines, close: () => sql.onApplicationShutdown() };
}

/** A statement in the shape of a procedure; rows come back as their decoded fields. */
export function statement(name: string, text: string): Procedure<unknown[], readonly unknown[]> {
  return { name, text, parameterTypes: [], values: (args) => args, row: (fields) => fields };
}

const backendPid = statement('backend_pid', 'select pg_backend_pid()');

export async function pidOf(connection: SqlConnection): Promise<number> {
  const [pid] = await connection.callOne(backendPid, []);
  return pid as number;
}

export async function isAlive(db: TestDatabase, pid: number): Promise<boolean> {
  const { rows } = await db.query('select 1 from pg_stat_activity where pid = $1', [pid]);
  return rows.length > 0;
}

/** A promise to be kept from outside. */
export function signal(): { promise: Promise<void>; give: () => void } {
  let give!: () => void;
  const promise = new Promise<void>((resolve) => (give = resolve));
  return { promise, give };
}
