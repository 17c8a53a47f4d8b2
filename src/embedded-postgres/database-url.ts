import { randomBytes } from 'node:crypto';
import { chownSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const SERVER_HOST = '127.0.0.1';
export const SERVER_USER = 'queen';
export const SERVER_DATABASE = 'queen';

/** The two things about the server that must outlive a run; both are kept in `database.url`. */
export interface SavedAccess {
  password: string;
  port: number;
}

export const databaseUrlFile = (dataDir: string) => join(dataDir, 'database.url');

export function buildDatabaseUrl(access: SavedAccess, database: string = SERVER_DATABASE): string {
  const password = encodeURIComponent(access.password);
  return `postgresql://${SERVER_USER}:${password}@${SERVER_HOST}:${access.port}/${database}`;
}

/** Null for anything that is not a URL of ours: a new password is then set. */
export function parseDatabaseUrl(text: string): SavedAccess | null {
  if (!URL.canParse(text.trim())) return null;
  const url = new URL(text.trim());
  const port = Number(url.port);
  const ours = url.username === SERVER_USER && url.hostname === SERVER_HOST && url.password !== '';
  return ours && port > 0 ? { password: decodeURIComponent(url.password), port } : null;
}

export function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

/** The saved access, or null when there is none. An unreadable file is an error that says whose it is. */
export function loadAccess(dataDir: string): SavedAccess | null {
  const path = databaseUrlFile(dataDir);
  try {
    return parseDatabaseUrl(readFileSync(path, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'EACCES') {
      const { uid } = statSync(path);
      throw new Error(`${path} belongs to user ${uid} and holds a password: start the broker as that user.`, {
        cause: error,
      });
    }
    throw error;
  }
}

/** Replaces the file as a whole, never readable by others. Root leaves it to the owner of the directory. */
export function saveAccess(dataDir: string, access: SavedAccess): void {
  const path = databaseUrlFile(dataDir);
  const aside = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(aside, `${buildDatabaseUrl(access)}\n`, { mode: 0o600 });
    if (process.getuid?.() === 0) {
      const owner = statSync(dirname(path));
      chownSync(aside, owner.uid, owner.gid);
    }
    renameSync(aside, path);
  } finally {
    rmSync(aside, { force: true });
  }
}
