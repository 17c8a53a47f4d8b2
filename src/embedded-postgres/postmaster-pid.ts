import { readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { processAt, type ProcessIdentity } from '../base/process-lock/process-identity.js';

/** What a PostgreSQL server writes about itself into `postmaster.pid` of its data directory. */
export interface PostmasterFile {
  pid: number;
  /** Absent in the first moments of a start. */
  port: number | null;
  /** `starting`, `ready`, `standby`, `stopping`; null before the server has said anything. */
  status: string | null;
}

/** One value a line: pid, directory, start time, port, socket directory, address, shared memory, status. */
export function parsePostmasterPid(text: string): PostmasterFile | null {
  const lines = text.split('\n').map((line) => line.trim());
  // A negative number is a stand-alone backend, which serves nobody.
  if (!/^-?\d+$/.test(lines[0] ?? '')) return null;
  const port = lines[3];
  return {
    pid: Math.abs(Number(lines[0])),
    port: port && /^\d+$/.test(port) ? Number(port) : null,
    status: lines[7] || null,
  };
}

export function readPostmasterPid(pgData: string): PostmasterFile | null {
  try {
    return parsePostmasterPid(readFileSync(join(pgData, 'postmaster.pid'), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

export type RunningServer =
  { kind: 'none' } | { kind: 'stale' } | { kind: 'server' | 'unknown'; process: ProcessIdentity };

/**
 * Whose number is in `postmaster.pid`? A server works inside its data directory, so where the system shows a
 * process's working directory that settles it (`server` or `stale`); elsewhere a living process is `unknown`
 * and only a connection can tell.
 */
export function runningServer(pgData: string): RunningServer {
  const file = readPostmasterPid(pgData);
  if (file === null) return { kind: 'none' };
  const process = processAt(file.pid);
  if (process === null) return { kind: 'stale' };
  const directory = workingDirectory(file.pid);
  if (directory === null) return { kind: 'unknown', process };
  return directory === realpathSync(pgData) ? { kind: 'server', process } : { kind: 'stale' };
}

function workingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}
