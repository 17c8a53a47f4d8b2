import { constants } from 'node:fs';
import { access, mkdir, readdir, rename, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { BrokerLock } from '../base/process-lock/broker-lock.js';
import { ACTIVE, FINISHED, parseName } from './spool-file.js';

const PLACES_MAX = 256;

/**
 * A directory for this broker alone, one of the numbered ones below the spool's: brokers of one machine may share a
 * configuration, and two that drain the same files would store messages twice where no dedup window catches it. Made
 * when the first message comes, so that a spool which is never needed leaves no trace.
 */
export class SpoolPlace {
  private claimed: { path: string; lock: BrokerLock } | null = null;
  private root: string | null = null;

  constructor(private readonly directories: readonly string[]) {}

  /** Null before the first message, unless something was left behind. */
  get path(): string | null {
    return this.claimed?.path ?? null;
  }

  /** This broker's directory. Rejects when there is nowhere to write. */
  async claim(): Promise<string> {
    if (this.claimed) return this.claimed.path;
    const root = await this.chooseRoot();
    for (let number = 0; number < PLACES_MAX; number++) {
      const path = join(root, String(number));
      await mkdir(path, { recursive: true });
      const lock = BrokerLock.tryAcquire(path);
      if (!lock) continue;
      this.claimed = { path, lock };
      return path;
    }
    throw new Error(`${PLACES_MAX} brokers have their spool in ${root} already`);
  }

  /**
   * Takes over what brokers left behind that are gone, this one's predecessor among them: their files are in this
   * broker's directory then, complete ones and those that were being written.
   */
  async adopt(): Promise<void> {
    const root = await this.chooseRoot();
    for (const entry of await namesIn(root)) {
      if (!/^\d+$/.test(entry)) continue;
      const path = join(root, entry);
      const files = (await namesIn(path)).filter((name) => parseName(name) !== null);
      if (files.length === 0) continue;
      const lock = BrokerLock.tryAcquire(path);
      if (!lock) continue;
      if (this.claimed === null) {
        this.claimed = { path, lock };
        continue;
      }
      try {
        for (const name of files) await rename(join(path, name), join(this.claimed.path, apart(name, entry)));
      } finally {
        lock.release();
      }
    }
  }

  async release(): Promise<void> {
    const { claimed } = this;
    if (!claimed) return;
    this.claimed = null;
    claimed.lock.release();
    // Only if nothing is in it; somebody may have taken it over meanwhile.
    await rmdir(claimed.path).catch(() => undefined);
  }

  private async chooseRoot(): Promise<string> {
    if (this.root !== null) return this.root;
    const candidates = this.directories.map((directory) => resolve(directory));
    for (const candidate of candidates.slice(0, -1)) {
      if (await isWritable(candidate)) return (this.root = candidate);
    }
    return (this.root = candidates[candidates.length - 1]);
  }
}

/** Two places may hold files of one name: the milliseconds lead, so their order remains that of time. */
function apart(name: string, place: string): string {
  const ending = name.endsWith(ACTIVE) ? ACTIVE : FINISHED;
  return `${name.slice(0, -ending.length)}-${Number(place).toString(16)}${ending}`;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return [];
    throw error;
  }
}

/** Whether it can be written, or made. */
async function isWritable(directory: string): Promise<boolean> {
  for (let path = directory; ; path = dirname(path)) {
    try {
      await access(path, constants.W_OK);
      return true;
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing || path === dirname(path)) return false;
    }
  }
}
