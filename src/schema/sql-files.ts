import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

/** One file of database/. `name` is its path below `migrations` or `procedures`, with forward slashes. */
export interface SqlFile {
  name: string;
  checksum: string;
  text: string;
}

/** What this build says the database should be, both lists in the order in which they are applied. */
export interface SqlFiles {
  migrations: SqlFile[];
  procedures: SqlFile[];
}

/** `src/schema` and `dist/schema` are equally deep, so one relative path serves both. */
export const DATABASE_DIR = fileURLToPath(new URL('../../database/', import.meta.url));

const MIGRATION = /^(\d{4})_[a-z0-9_]+\.sql$/;
const FAMILY = /^\d{3}_[a-z0-9_]+$/;
const PROCEDURE = /^[a-z0-9_]+\.sql$/;

/** Reads `database/`. A .sql file whose name fits no rule is an error: it would otherwise never be applied. */
export async function readSqlFiles(databaseDir: string = DATABASE_DIR): Promise<SqlFiles> {
  return {
    migrations: await readMigrations(join(databaseDir, 'migrations')),
    procedures: await readProcedures(join(databaseDir, 'procedures')),
  };
}

async function readMigrations(directory: string): Promise<SqlFile[]> {
  const files = await readFolder(
    directory,
    '',
    MIGRATION,
    'four digits, an underscore, small letters: 0007_spool.sql',
  );
  const byNumber = new Map<string, string>();
  for (const { name } of files) {
    const number = name.slice(0, 4);
    const other = byNumber.get(number);
    if (other)
      throw new Error(
        `The migrations ${other} and ${name} have the same number: their order is not defined.`,
      );
    byNumber.set(number, name);
  }
  return files;
}

async function readProcedures(directory: string): Promise<SqlFile[]> {
  const entries = (await readdir(directory, { withFileTypes: true })).sort((a, b) => byName(a.name, b.name));
  const files: SqlFile[] = [];
  for (const entry of entries) {
    if (entry.isFile() && entry.name.endsWith('.sql')) {
      throw new Error(
        `${join(directory, entry.name)} must lie in the folder of its family, such as 004_log_pop.`,
      );
    }
    if (!entry.isDirectory()) continue;
    if (!FAMILY.test(entry.name)) {
      throw new Error(
        `${join(directory, entry.name)} is not named like a family of procedures, such as 004_log_pop.`,
      );
    }
    const folder = join(directory, entry.name);
    files.push(
      ...(await readFolder(folder, `${entry.name}/`, PROCEDURE, 'as its function is: log_pop_v1.sql')),
    );
  }
  return files;
}

async function readFolder(folder: string, prefix: string, pattern: RegExp, rule: string): Promise<SqlFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort(byName);
  return Promise.all(
    names.map(async (name) => {
      if (!pattern.test(name)) throw new Error(`${join(folder, name)} is not named ${rule}`);
      const text = await readFile(join(folder, name), 'utf8');
      return { name: prefix + name, checksum: checksumOf(text), text };
    }),
  );
}

/** Line endings do not count: a checkout may change them. */
function checksumOf(text: string): string {
  return createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex');
}

/** By code unit, so that the order does not depend on the machine's language. */
function byName(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
