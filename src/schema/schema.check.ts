import { readLedger } from './ledger.js';
import { SchemaIncompleteError } from './schema-errors.js';
import { planSchema } from './schema-plan.js';
import { DATABASE_DIR, readSqlFiles } from './sql-files.js';
import type { OpenSession } from './sql-session.js';

export interface SchemaReport {
  /** Migrations that the database has not seen yet. */
  missingMigrations: string[];
  missingProcedures: string[];
  /** Procedures that the database has with another text: usable, since a changed contract gets a new name. */
  differingProcedures: string[];
}

/** Looks at a database and changes nothing: for a broker that must not apply the schema itself. */
export class SchemaCheck {
  constructor(
    private readonly connect: OpenSession,
    private readonly databaseDir: string = DATABASE_DIR,
  ) {}

  /** Rejects with SchemaTooNewError or MigrationEditedError: such a database must not be worked on. */
  async report(): Promise<SchemaReport> {
    const files = await readSqlFiles(this.databaseDir);
    const session = await this.connect();
    try {
      const ledger = await readLedger(session);
      const plan = planSchema(files, ledger);
      const procedures = plan.procedures.map((file) => file.name);
      return {
        missingMigrations: plan.migrations.map((file) => file.name),
        missingProcedures: procedures.filter((name) => !ledger.procedures.has(name)),
        differingProcedures: procedures.filter((name) => ledger.procedures.has(name)),
      };
    } finally {
      await session.end().catch(() => undefined);
    }
  }

  /**
   * As `report`, and rejects with SchemaIncompleteError when anything is missing. Differing procedures are left to
   * the caller to tell: during a rolling upgrade both builds run, and only one of them can find its own text.
   */
  async requireComplete(): Promise<SchemaReport> {
    const report = await this.report();
    const { missingMigrations, missingProcedures } = report;
    if (missingMigrations.length > 0 || missingProcedures.length > 0) {
      throw new SchemaIncompleteError(missingMigrations, missingProcedures);
    }
    return report;
  }
}
