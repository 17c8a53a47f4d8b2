import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** libfaketime, where it is installed (Debian: `apt-get install libfaketime`); null: clocks are left alone. */
export const CLOCK_LIBRARY = findClockLibrary();

/** Part of util-linux; without it no disk gets full. */
export const HAS_PRLIMIT = spawnSync('prlimit', ['--version']).status === 0;

/** What this machine cannot do, for people. */
export const LEFT_OUT = [
  ...(CLOCK_LIBRARY ? [] : ['clock steps (no libfaketime)']),
  ...(HAS_PRLIMIT ? [] : ['full disks (no prlimit)']),
];

function findClockLibrary() {
  const roots = ['/usr/lib', '/usr/local/lib'].filter((root) => existsSync(root));
  const places = roots.flatMap((root) => [root, ...readdirSync(root).map((name) => join(root, name))]);
  const paths = places.map((place) => join(place, 'faketime', 'libfaketime.so.1'));
  return paths.find((path) => existsSync(path)) ?? null;
}
