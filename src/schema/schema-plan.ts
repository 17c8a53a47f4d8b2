import { MigrationEditedError, SchemaTooNewError } from './schema-errors.js';
import type { SqlFile, SqlFiles } from './sql-files.js';

/** What a database says was applied to it: checksum by file name. */
export interface SchemaLedger {
  migrations: ReadonlyMap<string, string>;
  procedures: ReadonlyMap<string, string>;
}

/** What is left to do, in order. */
export interface SchemaPlan {
  migrations: SqlFile[];
  procedures: SqlFile[];
}

/**
 * Compares the files with the ledger. Throws SchemaTooNewError when the database knows a migration that the files
 * lack, MigrationEditedError when an applied migration has another text.
 *
 * A procedure in the ledger without a file is left alone: an older broker beside this one may still call it.
 */
export function planSchema(files: SqlFiles, ledger: SchemaLedger): SchemaPlan {
  const known = new Map(files.migrations.map((file) => [file.name, file.checksum]));
  const unknown = [...ledger.migrations.keys()].filter((name) => !known.has(name)).sort();
  if (unknown.length > 0) throw new SchemaTooNewError(unknown);

  const edited = [...ledger.migrations].filter(([name, checksum]) => known.get(name) !== checksum);
  if (edited.length > 0) throw new MigrationEditedError(edited.map(([name]) => name).sort());

  return {
    migrations: files.migrations.filter((file) => !ledger.migrations.has(file.name)),
    procedures: files.procedures.filter((file) => ledger.procedures.get(file.name) !== file.checksum),
  };
}

export function isDone(plan: SchemaPlan): boolean {
  return plan.migrations.length === 0 && plan.procedures.length === 0;
}
