import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { initdbOf, postgresOf, type PostgresBinaries } from './binaries.js';
import { SERVER_USER } from './database-url.js';
import { runCommand } from './run-command.js';
import type { ServerAccount } from './traversal.js';

export interface ClusterOptions {
  pgData: string;
  binaries: PostgresBinaries;
  account: ServerAccount | null;
}

/** Whether there is a cluster that these binaries can run. Throws for one of another major version. */
export function hasCluster(pgData: string, major: number): boolean {
  const path = join(pgData, 'PG_VERSION');
  if (!existsSync(path)) {
    if (existsSync(pgData) && readdirSync(pgData).length > 0) {
      throw new Error(
        `${pgData} is not empty and holds no PostgreSQL database: move it away, or name another one.`,
      );
    }
    return false;
  }
  const found = readFileSync(path, 'utf8').trim();
  if (found !== String(major)) {
    throw new Error(
      `The database in ${pgData} was written by PostgreSQL ${found}; this installation brings PostgreSQL ${major}, ` +
        `which cannot read the files of another major version. Start the version of this software that wrote them, ` +
        `or set QUEEN_DATA_DIR to a new directory to start empty. Nothing was changed.`,
    );
  }
  return true;
}

/**
 * Makes an empty cluster. It is built aside and renamed into place, so that a cluster that exists is a finished one
 * whenever the process dies. Needs the broker lock.
 */
export async function initialiseCluster(
  options: ClusterOptions & { password: string; durable: boolean },
): Promise<void> {
  const { pgData, binaries, account } = options;
  removeLeftovers(pgData);
  const aside = mkdtempSync(stagingPrefix(pgData));
  try {
    const passwordFile = join(aside, 'password');
    writeFileSync(passwordFile, options.password, { mode: 0o600 });
    if (account !== null) {
      chownSync(passwordFile, account.uid, account.gid);
      chownSync(aside, account.uid, account.gid);
    }
    chmodSync(aside, 0o700);
    const initdb = (locale: string) =>
      runCommand(
        initdbOf(binaries),
        [
          `--pgdata=${join(aside, 'data')}`,
          `--username=${SERVER_USER}`,
          `--pwfile=${passwordFile}`,
          '--auth=scram-sha-256',
          '--encoding=UTF8',
          `--locale=${locale}`,
          '--no-instructions',
          ...(options.durable ? [] : ['--no-sync']),
        ],
        account,
      );
    // Both sort by bytes; the platforms that lack C.UTF-8 only lose upper() and lower() beyond ASCII.
    await initdb('C.UTF-8').catch(() => initdb('C'));
    renameSync(join(aside, 'data'), pgData);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/**
 * Sets the password of a cluster whose `database.url` is lost, in single-user mode: no server may run on it.
 */
export async function resetPassword(options: ClusterOptions, password: string): Promise<void> {
  await runCommand(
    postgresOf(options.binaries),
    ['--single', '-D', options.pgData, '-c', 'log_min_messages=fatal', 'postgres'],
    options.account,
    `alter role ${SERVER_USER} password '${password}'\n`,
  );
}

const stagingPrefix = (pgData: string) => `${pgData}.init-`;

function removeLeftovers(pgData: string): void {
  const parent = dirname(pgData);
  for (const name of readdirSync(parent)) {
    if (name.startsWith(basename(stagingPrefix(pgData)))) rmSync(join(parent, name), { recursive: true });
  }
}
