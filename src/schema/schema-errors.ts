/** The database was brought further by a newer build than this one. */
export class SchemaTooNewError extends Error {
  constructor(readonly unknownMigrations: readonly string[]) {
    super(
      `The database has ${list('migration', unknownMigrations)} that this build does not know: it was brought up to ` +
        'date by a newer broker. Run that version or a newer one; nothing was changed.',
    );
    this.name = 'SchemaTooNewError';
  }
}

/** A migration that was applied reads differently now, so what the database holds is not what the files say. */
export class MigrationEditedError extends Error {
  constructor(readonly editedMigrations: readonly string[]) {
    super(
      `The text of ${list('migration', editedMigrations)} differs from what was applied to this database. ` +
        'A migration is never edited after its release: restore the file and put the change into a new one.',
    );
    this.name = 'MigrationEditedError';
  }
}

/** The database lacks something, and this process was told not to apply it. */
export class SchemaIncompleteError extends Error {
  constructor(
    readonly missingMigrations: readonly string[],
    readonly missingProcedures: readonly string[],
  ) {
    const parts = [
      ...(missingMigrations.length > 0 ? [list('migration', missingMigrations)] : []),
      ...(missingProcedures.length > 0 ? [list('procedure', missingProcedures)] : []),
    ];
    super(
      `The database lacks ${parts.join(' and ')}. ` +
        'Run "npm run db:apply" against it, or let the broker do it with QUEEN_APPLY_SCHEMA=true.',
    );
    this.name = 'SchemaIncompleteError';
  }
}

/** A statement of one file failed for a reason that trying again does not cure. */
export class SchemaFileError extends Error {
  constructor(
    readonly file: string,
    text: string,
    cause: Error & { position?: string },
  ) {
    const line = cause.position ? `, line ${lineAt(text, Number(cause.position))}` : '';
    super(`${file}${line} could not be applied: ${cause.message}`, { cause });
    this.name = 'SchemaFileError';
  }
}

/** PostgreSQL counts characters from one. */
function lineAt(text: string, position: number): number {
  return [...text].slice(0, position - 1).filter((character) => character === '\n').length + 1;
}

function list(noun: string, names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return `${noun}${names.length === 1 ? '' : 's'} ${shown}${more}`;
}
