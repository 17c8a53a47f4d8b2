import { spawn } from 'node:child_process';
import { accessSync, chmodSync, constants, mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuMs, rssBytes } from './processes.mjs';

const GUARD = fileURLToPath(new URL('./guard.mjs', import.meta.url));
const PATIENCE_MS = 180_000; // an Erlang node on a busy machine

/** What is not on this machine; its message says what is missing, in one line. */
export class NotHere extends Error {}

/** The path of a command: in `folders`, or else among those that Debian keeps for administrators too. */
export function commandOf(
  name,
  debianPackage,
  folders = [...process.env.PATH.split(delimiter), '/usr/sbin'],
) {
  for (const folder of folders) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // look further
    }
  }
  throw new NotHere(`${name} is not installed (Debian package ${debianPackage})`);
}

export function temporaryFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `bench-${name}-`));
  chmodSync(folder, 0o755); // for servers that are another user than root
  return folder;
}

/** A port of the loopback that nobody has at the moment. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/**
 * A server of another project, ended with this process at the latest.
 * @param {{ command: string, args: string[], env?: Record<string, string>, folder: string, port: number }} how
 *   `folder` is removed at the end; the server is up when `port` accepts connections
 */
export async function startForeign({ command, args, env = {}, folder, port }) {
  let output = '';
  const child = spawn(process.execPath, [GUARD, command, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let left = null;
  const exited = new Promise((resolve) => child.once('exit', (code) => resolve((left = code ?? 1))));
  child.stdin.on('error', () => undefined);
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes) => (output = (output + bytes).slice(-4000)));
  const stop = async () => {
    child.stdin.end();
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  for (const startedMs = performance.now(); !(await accepts(port)); await pause(50)) {
    if (left === null && performance.now() - startedMs < PATIENCE_MS) continue;
    await stop();
    throw new Error(`${command} did not start (${left ?? 'no answer'}):\n${output}`);
  }
  return { stop, cpuMs: () => cpuMs(child.pid), rssBytes: () => rssBytes(child.pid) };
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
