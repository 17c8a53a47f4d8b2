import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { databaseUrlFile, loadAccess, type SavedAccess } from './database-url.js';
import { readPostmasterPid, runningServer } from './postmaster-pid.js';
import type { ProcessIdentity } from '../base/process-lock/process-identity.js';
import { dataDirectoryOf } from './server-connection.js';
import { stopServer } from './server-process.js';

export interface AdoptedServer {
  process: ProcessIdentity;
  access: SavedAccess;
}

const PATIENCE_MS = 120_000;
const POLL_MS = 50;

/**
 * Looks for a server that a killed broker left behind on this cluster, and takes it over. Null when there is none
 * and a new one may be started: nothing ran, or what ran has been brought to its end. Needs the broker lock.
 *
 * A server that is just starting or stopping refuses connections for a while; it is waited for.
 */
export async function adoptServer(
  dataDir: string,
  pgData: string,
  log: (line: string) => void,
): Promise<AdoptedServer | null> {
  let lastError = 'it did not answer';
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += POLL_MS) {
    const running = runningServer(pgData);
    if (running.kind === 'none') return null;
    if (running.kind === 'stale') {
      log(`${join(pgData, 'postmaster.pid')} was left behind by a server that is gone`);
      disown(pgData);
      return null;
    }
    const saved = loadAccess(dataDir);
    if (saved === null) {
      if (running.kind === 'unknown') break;
      log(`${databaseUrlFile(dataDir)} is gone: restarting PostgreSQL with a new password`);
      await stopServer(running.process, log);
      return null;
    }
    const access = { password: saved.password, port: readPostmasterPid(pgData)?.port ?? saved.port };
    try {
      if ((await dataDirectoryOf(access)) === pgData) return { process: running.process, access };
      lastError = `port ${access.port} is served from another directory`;
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (code === '28P01') throw new Error(wrongPassword(dataDir), { cause: error });
      lastError = message;
    }
    if (waitedMs > 0 && waitedMs % 10_000 === 0) {
      log(
        `waiting for PostgreSQL (process ${running.process.pid}), which is left from an earlier run: ${lastError}`,
      );
    }
    await pause(POLL_MS);
  }
  throw new Error(
    `${join(pgData, 'postmaster.pid')} names a process that lives and cannot be taken over (${lastError}). If it is ` +
      'a PostgreSQL, stop it with kill -INT; if it is something else, remove that file.',
  );
}

export function wrongPassword(dataDir: string): string {
  return (
    `PostgreSQL does not accept the password in ${databaseUrlFile(dataDir)}. ` +
    'Remove that file to have a new password set at the next start.'
  );
}

/**
 * PostgreSQL refuses to start while the number in a left-over file belongs to any process of its user. It makes an
 * exception for its parent, so we write ourselves in. The file stays, because its line about shared memory is what
 * protects the data from remains of the old server that still run.
 */
function disown(pgData: string): void {
  const path = join(pgData, 'postmaster.pid');
  const [, ...rest] = readFileSync(path, 'utf8').split('\n');
  writeFileSync(path, [String(process.pid), ...rest].join('\n'));
}
