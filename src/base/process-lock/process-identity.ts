import { readFileSync } from 'node:fs';

/**
 * A process, told apart from a later one with the same number. `startedAt` names the boot and the tick at which
 * the kernel started it; null where there is no /proc, and then the number alone has to do.
 */
export interface ProcessIdentity {
  pid: number;
  startedAt: string | null;
}

/** The process that has this number now; null when there is none, or only its unreaped remains (a zombie). */
export function processAt(pid: number): ProcessIdentity | null {
  if (!isSignallable(pid)) return null;
  const stat = readText(`/proc/${pid}/stat`);
  const parsed = stat === null ? null : parseProcStat(stat);
  if (parsed === null) return { pid, startedAt: null };
  // A zombie still answers kill(pid, 0), for ever where process 1 of a container does not reap.
  if (parsed.state === 'Z' || parsed.state === 'X') return null;
  return { pid, startedAt: `${bootId()}/${parsed.startTicks}` };
}

/** Whether that very process still runs, and not just some process with its number. */
export function isAlive(process: ProcessIdentity): boolean {
  const now = processAt(process.pid);
  if (now === null) return false;
  return process.startedAt === null || now.startedAt === null || process.startedAt === now.startedAt;
}

/** State and start time out of /proc/<pid>/stat. The command in brackets may hold spaces and brackets itself. */
export function parseProcStat(text: string): { state: string; startTicks: string } | null {
  const fields = text
    .slice(text.lastIndexOf(')') + 1)
    .trim()
    .split(/\s+/);
  const [state] = fields;
  const startTicks = fields[19];
  return state && startTicks ? { state, startTicks } : null;
}

function isSignallable(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function bootId(): string {
  return (readText('/proc/sys/kernel/random/boot_id') ?? '').trim();
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
