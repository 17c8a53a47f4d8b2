import { mkdir, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { countRecords } from './record-reader.js';
import { ACTIVE, FINISHED, parseName, type SpoolFile } from './spool-file.js';

const FAILED_FOLDER = 'failed';

/** The finished files, oldest first, and those set aside. What the disk holds is known without asking it. */
export class Inventory {
  private waiting: SpoolFile[] = [];
  private failed: SpoolFile[] = [];

  get oldest(): SpoolFile | null {
    return this.waiting[0] ?? null;
  }

  get newestMs(): number {
    return this.waiting.at(-1)?.writtenAtMs ?? 0;
  }

  get files(): number {
    return this.waiting.length;
  }

  get events(): number {
    return sum(this.waiting, ({ events }) => events);
  }

  get bytes(): number {
    return sum(this.waiting, ({ bytes }) => bytes) + this.failedBytes;
  }

  get failedFiles(): number {
    return this.failed.length;
  }

  get failedEvents(): number {
    return sum(this.failed, ({ events }) => events);
  }

  get failedBytes(): number {
    return sum(this.failed, ({ bytes }) => bytes);
  }

  add(file: SpoolFile): void {
    this.waiting.push(file);
  }

  /** Files left in a directory, those that were being written among them: these count as finished from here on. */
  async load(directory: string): Promise<void> {
    for (const name of (await readdir(directory)).sort()) {
      const parsed = parseName(name);
      if (!parsed) continue;
      const finished = parsed.isActive ? name.slice(0, -ACTIVE.length) + FINISHED : name;
      const path = join(directory, finished);
      if (parsed.isActive) await rename(join(directory, name), path);
      const { events, bytes } = await countRecords(path);
      if (events === 0) await unlink(path);
      else this.add({ path, name: finished, events, bytes, writtenAtMs: parsed.writtenAtMs });
    }
    this.waiting.sort((a, b) => (a.name < b.name ? -1 : 1));
    this.failed = await filesIn(join(directory, FAILED_FOLDER));
  }

  /** Everything of it is stored. */
  async drop(file: SpoolFile): Promise<void> {
    await unlink(file.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error; // somebody took it away by hand
    });
    this.forget(file);
  }

  /** `kept` has been written into the folder of failed files, and stands for what could not be stored of `file`. */
  async setAside(file: SpoolFile, kept: SpoolFile): Promise<void> {
    this.failed.push(kept);
    await this.drop(file);
  }

  /** Where files that could not be stored are kept. */
  static async failedFolder(directory: string): Promise<string> {
    const path = join(directory, FAILED_FOLDER);
    await mkdir(path, { recursive: true });
    return path;
  }

  private forget(file: SpoolFile): void {
    this.waiting = this.waiting.filter((one) => one !== file);
  }
}

async function filesIn(directory: string): Promise<SpoolFile[]> {
  const found: SpoolFile[] = [];
  const names = await readdir(directory).catch(() => []);
  for (const name of names.sort()) {
    const parsed = parseName(name);
    if (!parsed || parsed.isActive) continue;
    const path = join(directory, name);
    found.push({ path, name, ...(await countRecords(path)), writtenAtMs: parsed.writtenAtMs });
  }
  return found;
}

function sum(files: readonly SpoolFile[], of: (file: SpoolFile) => number): number {
  return files.reduce((total, file) => total + of(file), 0);
}
