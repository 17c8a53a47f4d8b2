import { execFileSync } from 'node:child_process';
import type { ServerAccount } from './traversal.js';

/** Runs a command to its end and gives its output; throws when it fails or does not exist. */
export type RunSync = (command: string, args: string[]) => string;

/**
 * PostgreSQL refuses to run as root. The owner of an existing cluster goes first, so that a directory once used by
 * an ordinary user stays his; then the system user `postgres`, made when missing; then `nobody`.
 * Null when the broker is not root: the server then simply runs as the broker does.
 */
export function serverAccount(
  clusterOwner: { uid: number; gid: number } | null,
  log: (line: string) => void,
  run: RunSync = runSync,
  ownUid: number | undefined = process.getuid?.(),
): ServerAccount | null {
  if (ownUid !== 0) return null;
  if (clusterOwner !== null && clusterOwner.uid !== 0) {
    return { ...clusterOwner, name: `user ${clusterOwner.uid}` };
  }
  const postgres = lookUp('postgres', run);
  if (postgres !== null) return postgres;
  if (createPostgres(run)) {
    const created = lookUp('postgres', run);
    if (created !== null) {
      log('created the system user "postgres": PostgreSQL does not run as root');
      return created;
    }
  }
  const nobody = lookUp('nobody', run);
  if (nobody !== null) return nobody;
  throw new Error(
    'PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody", nor could one be made. ' +
      'Start the broker as another user, or set DATABASE_URL to a PostgreSQL that already runs.',
  );
}

function lookUp(name: string, run: RunSync): ServerAccount | null {
  try {
    const uid = Number(run('id', ['-u', name]));
    const gid = Number(run('id', ['-g', name]));
    return Number.isSafeInteger(uid) && uid > 0 && Number.isSafeInteger(gid) ? { uid, gid, name } : null;
  } catch {
    return null;
  }
}

/** shadow-utils first, then busybox; each fails where the other's options are not known. */
function createPostgres(run: RunSync): boolean {
  const shadow: [string, string[]][] = [
    ['useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres']],
  ];
  const busybox: [string, string[]][] = [
    ['addgroup', ['-S', 'postgres']],
    ['adduser', ['-S', '-D', '-H', '-s', '/bin/false', '-G', 'postgres', 'postgres']],
  ];
  return [shadow, busybox].some((commands) => {
    try {
      for (const [command, args] of commands) run(command, args);
      return true;
    } catch {
      return false;
    }
  });
}

function runSync(command: string, args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
