import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The unprivileged user that initdb and postgres run as when the broker itself runs as root. */
export interface ServerAccount {
  uid: number;
  gid: number;
  name: string;
}

interface DirectoryMode {
  uid: number;
  gid: number;
  mode: number;
}

/**
 * The outermost directory on the way to `path` (itself included) that the account may not pass through; null when
 * the way is free. Needed because a clone under /root or in a 0700 temporary directory is invisible to other users,
 * and PostgreSQL then fails with nothing but "Permission denied". Judges mode bits only; `path` has no symlinks.
 */
export function firstClosedDirectory(
  path: string,
  account: ServerAccount,
  stat: (directory: string) => DirectoryMode = statSync,
): string | null {
  for (const directory of fromRoot(path)) {
    if (!mayPass(stat(directory), account)) return directory;
  }
  return null;
}

function mayPass(directory: DirectoryMode, account: ServerAccount): boolean {
  if (directory.uid === account.uid) return (directory.mode & 0o100) !== 0;
  if (directory.gid === account.gid) return (directory.mode & 0o010) !== 0;
  return (directory.mode & 0o001) !== 0;
}

function fromRoot(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [...fromRoot(parent), path];
}
