import { spawn } from 'node:child_process';
import type { ServerAccount } from './traversal.js';

/** How programs of PostgreSQL are started: as the account, outside any directory it may not enter. */
export function spawnOptions(account: ServerAccount | null) {
  return {
    cwd: '/',
    // Nothing of the broker's environment, which may hold secrets and PG* variables that mean another server.
    env: { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' },
    ...(account === null ? {} : { uid: account.uid, gid: account.gid }),
  };
}

/** Runs a program to its end. Rejects with the last lines it wrote when it fails or cannot be started. */
export function runCommand(
  program: string,
  args: string[],
  account: ServerAccount | null,
  input = '',
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...spawnOptions(account), stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4000);
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.once('error', (error) =>
      reject(new Error(`${program} could not be started: ${error.message}`, { cause: error })),
    );
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${program} failed (${signal ?? `exit code ${code}`}): ${output.trim()}`));
    });
    child.stdin.on('error', () => undefined); // a program that ended early says so by its exit code
    child.stdin.end(input);
  });
}
