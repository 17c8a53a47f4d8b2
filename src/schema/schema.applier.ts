import { setTimeout as pauseMs } from 'node:timers/promises';
import { createLedger, readLedger, record, type LedgerTable } from './ledger.js';
import { SchemaFileError } from './schema-errors.js';
import { describeHolder, schemaUnlock, trySchemaLock } from './schema-lock.js';
import { isDone, planSchema, type SchemaPlan } from './schema-plan.js';
import { DATABASE_DIR, readSqlFiles, type SqlFile, type SqlFiles } from './sql-files.js';
import type { OpenSession, SqlSession } from './sql-session.js';

export interface AppliedSchema {
  /** Names of the files that this call applied, in order; empty when the database was up to date. */
  migrations: string[];
  procedures: string[];
  /** How long another process held the schema lock. */
  waitedMs: number;
}

export interface SchemaApplierOptions {
  databaseDir?: string;
  /** Waits between two attempts; a spec passes its own. */
  pause?: (ms: number) => Promise<unknown>;
  /** Ends the applying after the file under way: a broker was told to stop while it starts. */
  leaving?: AbortSignal;
}

/** How often a file is tried that lost a deadlock or did not get its locks in time (Z21). */
const ATTEMPTS = 40;
/**
 * How long a file waits for each of its locks, by attempt. Everybody who wants the table queues behind that wait, so
 * it is short at first: a long transaction then costs the others a quarter of a second at a time and not two. It is
 * also less than the second after which PostgreSQL breaks a deadlock by ending the one that has waited longest,
 * which would be a push. Only when twenty attempts found no gap, the file insists.
 */
const lockTimeoutMs = (attempt: number) => (attempt <= 20 ? 250 : 2000);
const POLL_MS = 100;
const COMPLAIN_EVERY_MS = 60_000;

/** deadlock_detected, lock_not_available: the traffic was in the way, and the next attempt may find a gap. */
const WORTH_RETRYING = new Set(['40P01', '55P03']);

/**
 * Brings a database to what `database/` says, while brokers work on it and others try the same.
 *
 *   look without the lock → up to date: done
 *   else wait for the lock, looking again each round → look once more → file after file → unlock
 *
 * Each file is a transaction of its own together with its ledger row: a process that is killed leaves finished
 * files behind and no lock, since that one ends with the session. One big transaction would hold the table locks
 * of all files together and deadlock with pushes (Z21); a small one that does not get its locks soon lets go of
 * everything and tries again, so that the traffic is held up for moments only.
 */
export class SchemaApplier {
  private readonly databaseDir: string;
  private readonly pause: (ms: number) => Promise<unknown>;
  private readonly leaving: AbortSignal | undefined;

  constructor(
    private readonly connect: OpenSession,
    private readonly log: (line: string) => void,
    options: SchemaApplierOptions = {},
  ) {
    this.databaseDir = options.databaseDir ?? DATABASE_DIR;
    this.pause = options.pause ?? ((ms) => pauseMs(ms));
    this.leaving = options.leaving;
  }

  /** Rejects with SchemaTooNewError, MigrationEditedError or SchemaFileError, and with an AbortError when told to leave. */
  async apply(): Promise<AppliedSchema> {
    const files = await readSqlFiles(this.databaseDir);
    const session = await this.connect();
    try {
      if (isDone(planSchema(files, await readLedger(session)))) return nothingApplied(0);
      await prepareSession(session);
      const startedMs = performance.now();
      const locked = await this.lockUnlessDone(session, files);
      const waitedMs = Math.round(performance.now() - startedMs);
      if (!locked) return nothingApplied(waitedMs);
      try {
        await createLedger(session);
        const plan = planSchema(files, await readLedger(session));
        await this.applyPlan(session, plan);
        return { migrations: names(plan.migrations), procedures: names(plan.procedures), waitedMs };
      } finally {
        // On a broken connection the lock is gone with the session, and the error that broke it is the one to see.
        await schemaUnlock(session).catch(() => undefined);
      }
    } finally {
      await session.end().catch(() => undefined);
    }
  }

  /** True with the lock held; false when another process has meanwhile done everything. */
  private async lockUnlessDone(session: SqlSession, files: SqlFiles): Promise<boolean> {
    let complainAtMs = performance.now() + COMPLAIN_EVERY_MS;
    while (!(await trySchemaLock(session))) {
      this.leaving?.throwIfAborted();
      await this.pause(jittered(POLL_MS));
      if (isDone(planSchema(files, await readLedger(session)))) return false;
      if (performance.now() < complainAtMs) continue;
      complainAtMs += COMPLAIN_EVERY_MS;
      this.log(`waiting for the schema lock, held by ${await describeHolder(session)}`);
    }
    return true;
  }

  private async applyPlan(session: SqlSession, plan: SchemaPlan): Promise<void> {
    for (const file of plan.migrations) {
      await this.applyFile(session, 'queen.schema_migrations', file);
      this.log(`applied migration ${file.name}`);
    }
    for (const file of plan.procedures) await this.applyFile(session, 'queen.schema_procedures', file);
    if (plan.procedures.length > 0) this.log(`applied ${plan.procedures.length} procedures`);
  }

  private async applyFile(session: SqlSession, table: LedgerTable, file: SqlFile): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.leaving?.throwIfAborted();
      try {
        return await inTransaction(session, async () => {
          await session.query(`set local lock_timeout = ${lockTimeoutMs(attempt)}`);
          await session.query(file.text);
          await record(session, table, file);
        });
      } catch (error) {
        const { code = '', message } = error as { code?: string; message: string };
        if (!WORTH_RETRYING.has(code) || attempt >= ATTEMPTS) {
          throw new SchemaFileError(file.name, file.text, error as Error);
        }
        this.log(`${file.name}: attempt ${attempt} of ${ATTEMPTS} gave way to the traffic (${message})`);
        await this.pause(jittered(50 * Math.min(attempt, 10)));
      }
    }
  }
}

/**
 * The session's own limits are off, because a role may have them set for its short statements; a client that
 * vanishes without a word is noticed within a minute, so that its lock does not outlive it for hours.
 */
async function prepareSession(session: SqlSession): Promise<void> {
  await session.query(
    `select set_config(name, value, false)
       from (values ('statement_timeout', '0'), ('idle_in_transaction_session_timeout', '0'),
                    ('idle_session_timeout', '0'), ('client_min_messages', 'warning'), ('timezone', 'UTC'),
                    ('tcp_keepalives_idle', '20'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')
            ) as setting(name, value)`,
  );
}

async function inTransaction(session: SqlSession, work: () => Promise<void>): Promise<void> {
  await session.query('begin');
  try {
    await work();
    await session.query('commit');
  } catch (error) {
    await session.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Between the half and the whole of it, so that those who met once do not meet again. */
function jittered(ms: number): number {
  return ms / 2 + Math.random() * (ms / 2);
}

function nothingApplied(waitedMs: number): AppliedSchema {
  return { migrations: [], procedures: [], waitedMs };
}

function names(files: SqlFile[]): string[] {
  return files.map((file) => file.name);
}
