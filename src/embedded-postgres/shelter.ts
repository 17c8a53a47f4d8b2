import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { PostgresBinaries } from './binaries.js';
import { firstClosedDirectory, type ServerAccount } from './traversal.js';

/**
 * Where the server's user may go. A broker that runs as root may have its data or its node_modules where nobody
 * else may enter (/root, a 0700 temporary directory). What the server needs is then kept in a shelter:
 * the cluster under a name of its own with `<dataDir>/pg` as a symbolic link to it, the binaries as a copy.
 */
export const DEFAULT_SHELTER_DIR = '/var/lib/queen-nest';

export interface ClusterPlace {
  /** Real path of the cluster; it may not exist yet. */
  pgData: string;
  /** The link to make once the cluster exists; null when it lies in the data directory itself. */
  linkFrom: string | null;
}

/** Decides where the cluster of `dataDir` is, or is going to be. Creates nothing but the shelter directory. */
export function placeCluster(
  dataDir: string,
  account: ServerAccount | null,
  shelterDir: string,
  log: (line: string) => void,
): ClusterPlace {
  const wanted = join(realpathSync(dataDir), 'pg');
  const found = lstatSync(wanted, { throwIfNoEntry: false });
  if (found?.isSymbolicLink()) return { pgData: followLink(wanted), linkFrom: null };
  if (account === null) return { pgData: wanted, linkFrom: null };

  const closed = firstClosedDirectory(realpathSync(dataDir), account);
  if (closed === null) return { pgData: wanted, linkFrom: null };
  if (existsSync(join(wanted, 'PG_VERSION'))) {
    throw new Error(
      `The database in ${wanted} cannot be reached: PostgreSQL runs as ${account.name}, who may not enter ${closed}. ` +
        `Allow it (chmod o+x ${closed}), or move ${dataDir} elsewhere and name it in QUEEN_DATA_DIR.`,
    );
  }
  openShelter(shelterDir, account);
  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 12);
  const pgData = join(shelterDir, `pg-${hash}-${randomBytes(3).toString('hex')}`);
  log(
    `${account.name} may not enter ${closed}: the database files are kept in ${pgData}, linked from ${wanted}`,
  );
  for (const name of readdirSync(shelterDir)) {
    // Never removed for the user: the link may only be away for the moment, on a disk that is not mounted.
    if (name.startsWith(`pg-${hash}-`) && !name.includes('.init-')) {
      log(
        `${join(shelterDir, name)} is an older database of the same directory; remove it if it is not needed`,
      );
    }
  }
  return { pgData, linkFrom: wanted };
}

/** The same binaries at a path that the account can reach. Copied once per version, whole or not at all. */
export async function reachableBinaries(
  binaries: PostgresBinaries,
  account: ServerAccount | null,
  shelterDir: string,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  if (account === null) return binaries;
  const nativeDir = realpathSync(binaries.nativeDir);
  const closed = firstClosedDirectory(join(nativeDir, 'bin'), account);
  if (closed === null) return { ...binaries, nativeDir };
  openShelter(shelterDir, account);
  const copy = join(shelterDir, `bin-${binaries.version}`);
  if (!existsSync(copy)) {
    log(`${account.name} may not enter ${closed}: copying PostgreSQL's programs to ${copy}`);
    const aside = `${copy}.${randomBytes(4).toString('hex')}`;
    await cp(nativeDir, aside, { recursive: true, verbatimSymlinks: true });
    openToAll(aside);
    try {
      renameSync(aside, copy);
    } catch (error) {
      rmSync(aside, { recursive: true, force: true });
      if (!existsSync(copy)) throw error; // else another broker was quicker with the same copy
    }
  }
  return { ...binaries, nativeDir: copy };
}

function followLink(link: string): string {
  try {
    return realpathSync(link);
  } catch (error) {
    throw new Error(
      `${link} is a link to database files that are not there. Bring them back, or remove the link to start empty.`,
      { cause: error },
    );
  }
}

function openShelter(shelterDir: string, account: ServerAccount): void {
  if (mkdirSync(shelterDir, { recursive: true }) !== undefined) chmodSync(shelterDir, 0o755);
  const closed = firstClosedDirectory(realpathSync(shelterDir), account);
  if (closed === null) return;
  throw new Error(
    `PostgreSQL runs as ${account.name}, who may enter neither the data directory nor ${closed}. ` +
      'Choose a directory open to that user with QUEEN_DATA_DIR, or set DATABASE_URL.',
  );
}

/** An installation under a strict umask would otherwise be copied with modes that only root may use. */
function openToAll(directory: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) openToAll(path);
    else if (entry.isFile()) chmodSync(path, (lstatSync(path).mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}
