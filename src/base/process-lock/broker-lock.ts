import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, processAt, type ProcessIdentity } from './process-identity.js';

/**
 * One broker per directory: the embedded server's, the spool's. The file `broker.pid` names the broker that owns it; a
 * broker that was killed leaves the file behind, and the next one takes it over because the process it names is gone.
 *
 * The file appears complete and exclusively (written aside, then hard-linked), so nobody reads half of it. A stale
 * one is renamed away before it is judged again: of two brokers that find it stale at once only one gets it. The
 * loser of an even closer race is caught by `assertHeld` after the server has started.
 */
export class BrokerLock {
  private constructor(
    private readonly path: string,
    private readonly content: string,
  ) {}

  /** Null when another broker lives that has the directory. */
  static tryAcquire(directory: string): BrokerLock | null {
    try {
      return BrokerLock.acquire(directory);
    } catch (error) {
      if (error instanceof DirectoryTakenError) return null;
      throw error;
    }
  }

  /** Throws DirectoryTakenError, which names the other broker, when one lives. */
  static acquire(dataDir: string): BrokerLock {
    const path = join(dataDir, 'broker.pid');
    const aside = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
    const content = formatBrokerPid(processAt(process.pid) ?? { pid: process.pid, startedAt: null });
    writeFileSync(aside, content, { mode: 0o644 });
    try {
      for (let attempt = 0; attempt < 20; attempt++) {
        if (linked(aside, path)) return new BrokerLock(path, content);
        const found = readIfThere(path);
        if (found === null) continue;
        const owner = parseBrokerPid(found);
        if (owner !== null && isAlive(owner)) throw new DirectoryTakenError(refusal(dataDir, path, owner));
        removeIfStill(path, found);
      }
    } finally {
      rmSync(aside, { force: true });
    }
    throw new Error(`${path} keeps changing: several brokers are starting in ${dataDir} at once.`);
  }

  assertHeld(): void {
    const found = readIfThere(this.path);
    if (found !== this.content) {
      throw new Error(`${this.path} was taken over by another broker that started at the same moment.`);
    }
  }

  release(): void {
    if (readIfThere(this.path) === this.content) rmSync(this.path, { force: true });
  }
}

export class DirectoryTakenError extends Error {}

export function formatBrokerPid(owner: ProcessIdentity): string {
  return `${owner.pid}\n${owner.startedAt ?? ''}\n`;
}

/** Null for a file that does not name a process, for instance one emptied by a full disk. */
export function parseBrokerPid(text: string): ProcessIdentity | null {
  const [pidLine = '', startedAt = ''] = text.split('\n');
  return /^\d+$/.test(pidLine) ? { pid: Number(pidLine), startedAt: startedAt || null } : null;
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function removeIfStill(path: string, expected: string): void {
  const moved = `${path}.stale.${randomBytes(4).toString('hex')}`;
  try {
    renameSync(path, moved);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  // Somebody else replaced it between our look and our rename: that one may live, so it goes back.
  if (readIfThere(moved) !== expected) linked(moved, path);
  rmSync(moved, { force: true });
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function refusal(dataDir: string, path: string, owner: ProcessIdentity): string {
  return (
    `Another broker (process ${owner.pid}) already uses ${dataDir}. Stop it first, or give this one a directory ` +
    `of its own with QUEEN_DATA_DIR. If process ${owner.pid} is not a broker, remove ${path}.`
  );
}
