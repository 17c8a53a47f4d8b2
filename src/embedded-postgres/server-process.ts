import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { postgresOf } from './binaries.js';
import { SERVER_HOST } from './database-url.js';
import type { ClusterOptions } from './initialise.js';
import { readPostmasterPid } from './postmaster-pid.js';
import { isAlive, processAt, type ProcessIdentity } from '../base/process-lock/process-identity.js';
import { spawnOptions } from './run-command.js';

export interface ServerSettings {
  port: number;
  /** False only for tests: a crash of the machine may then lose or damage the data. */
  durable: boolean;
  /** Further settings by name; they win over ours. */
  extra: Record<string, string>;
}

/** The command line: everything that must hold for every start, whatever postgresql.conf says. */
export function serverArguments(pgData: string, settings: ServerSettings): string[] {
  const values: Record<string, string> = {
    listen_addresses: SERVER_HOST,
    port: String(settings.port),
    // A socket's directory would have to be writable for the server and short enough for the system's limit.
    unix_socket_directories: '',
    max_connections: '200',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // A file per weekday, overwritten a week later: bounded without anybody looking after it.
    logging_collector: 'on',
    log_directory: 'log',
    log_filename: 'postgresql-%a.log',
    log_truncate_on_rotation: 'on',
    log_rotation_age: '1d',
    log_rotation_size: '0',
    ...(settings.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...settings.extra,
  };
  return ['-D', pgData, ...Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/**
 * Starts a server and returns when it accepts connections. It is the leader of a session of its own, so that a
 * Ctrl-C in the terminal reaches the broker only: the server stops last. It also outlives a broker that is killed.
 *
 * A server that recovers from a crash is waited for as long as it lives. Rejects with its last words when it ends.
 */
export async function startServer(
  cluster: ClusterOptions,
  settings: ServerSettings,
  startLog: string,
  log: (line: string) => void,
): Promise<ProcessIdentity> {
  const output = openSync(startLog, 'w', 0o600);
  let failure: Error | null = null;
  const child = spawn(postgresOf(cluster.binaries), serverArguments(cluster.pgData, settings), {
    ...spawnOptions(cluster.account),
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  child.once('error', (error) => {
    failure = error;
  });
  child.unref();
  const server = child.pid === undefined ? null : processAt(child.pid);

  for (let waitedMs = 0; ; waitedMs += 20) {
    if (server === null || !isAlive(server) || failure !== null) {
      const words = (failure as Error | null)?.message ?? lastWords(cluster.pgData, startLog);
      throw new Error(`The embedded PostgreSQL did not start: ${words}`);
    }
    const file = readPostmasterPid(cluster.pgData);
    if (file?.pid === server.pid && file.status === 'ready') return server;
    if (waitedMs > 0 && waitedMs % 10_000 === 0) {
      log(`still waiting for PostgreSQL (process ${server.pid}); after a crash it first replays its journal`);
    }
    await pause(20);
  }
}

/** What a server gets to come to its end by each signal, in the order in which they are sent. */
const STOP_STEPS: { signal: NodeJS.Signals; patienceMs: number; then: string }[] = [
  { signal: 'SIGINT', patienceMs: 25_000, then: 'it is now told to stop without a checkpoint' },
  { signal: 'SIGQUIT', patienceMs: 10_000, then: 'it is now killed; the next start replays its journal' },
  { signal: 'SIGKILL', patienceMs: 10_000, then: 'it cannot be stopped' },
];

/** Fast shutdown: sessions are ended, everything is written. Does nothing to a server that is already gone. */
export async function stopServer(server: ProcessIdentity, log: (line: string) => void): Promise<void> {
  for (const step of STOP_STEPS) {
    if (!isAlive(server)) return;
    sendSignal(server.pid, step.signal);
    if (await isGoneWithin(server, step.patienceMs)) return;
    log(
      `PostgreSQL (process ${server.pid}) still runs ${step.patienceMs / 1000} s after ${step.signal}: ${step.then}`,
    );
  }
  throw new Error(`PostgreSQL (process ${server.pid}) could not be stopped.`);
}

async function isGoneWithin(server: ProcessIdentity, patienceMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += 20) {
    if (!isAlive(server)) return true;
    await pause(20);
  }
  return !isAlive(server);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The server complains on its standard error until its log collector runs, and in its log file from then on. */
function lastWords(pgData: string, startLog: string): string {
  const lines = [startLog, newestLog(pgData)]
    .flatMap((path) => (path === null ? [] : readFileSync(path, 'utf8').split('\n')))
    .filter((line) => /\b(FATAL|PANIC|ERROR|LOG|WARNING|HINT):|error/.test(line));
  const serious = lines.filter((line) => /\b(FATAL|PANIC|HINT):|could not|error/.test(line));
  return (serious.length > 0 ? serious : lines).slice(-6).join('; ') || 'it said nothing';
}

function newestLog(pgData: string): string | null {
  const directory = join(pgData, 'log');
  try {
    const byAge = readdirSync(directory)
      .map((name) => join(directory, name))
      .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
    return byAge[0] ?? null;
  } catch {
    return null;
  }
}
