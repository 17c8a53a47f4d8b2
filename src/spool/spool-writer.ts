import { join } from 'node:path';
import type { Clock } from '../base/clock/clock.js';
import type { Disk, DiskFile } from './disk.js';
import type { Inventory } from './inventory.js';
import { ACTIVE, FileNames, FINISHED, type SpoolFile } from './spool-file.js';

export interface WriterOptions {
  readonly eventsPerFile: number;
  readonly bytesMax: number;
}

/** A file ends here whatever its number of messages: a replay reads one at a time, and deletes it as a whole. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** What goes to the disk in one write; memory for it is taken twice for a moment. */
const GROUP_BYTES_MAX = 16 * 1024 * 1024;

interface Append {
  readonly chunks: readonly Buffer[];
  readonly bytes: number;
  readonly events: number;
  resolve(): void;
  reject(error: Error): void;
}

interface ActiveFile {
  readonly file: DiskFile;
  readonly name: string;
  readonly path: string;
  readonly writtenAtMs: number;
  events: number;
  bytes: number;
}

/**
 * Appends to the active file, one write at a time. What comes while one is under way shares the next write and its
 * sync, so the disk's own pace makes the groups and no timer does; each caller waits for its sync, because the client
 * is told that its message is safe.
 */
export class SpoolWriter {
  private waiting: Append[] = [];
  private tail: Promise<void> = Promise.resolve();
  private active: ActiveFile | null = null;
  private unsettled = 0;

  constructor(
    /** This broker's directory, made when it is first asked for. */
    private readonly directory: () => Promise<string>,
    private readonly inventory: Inventory,
    private readonly names: FileNames,
    private readonly disk: Disk,
    private readonly clock: Clock,
    private readonly options: WriterOptions,
  ) {}

  /** Something has been handed over and has no verdict. */
  get isBusy(): boolean {
    return this.unsettled > 0;
  }

  /** In the active file, not yet among the finished ones. */
  get activeEvents(): number {
    return this.active?.events ?? 0;
  }

  get activeBytes(): number {
    return this.active?.bytes ?? 0;
  }

  get activeSinceMs(): number | null {
    return this.active && this.active.events > 0 ? this.active.writtenAtMs : null;
  }

  /** Resolves when it is on the disk; rejects when it is not, and then none of it will be replayed. */
  append(chunks: readonly Buffer[], events: number): Promise<void> {
    const bytes = chunks.reduce((total, { length }) => total + length, 0);
    this.unsettled += 1;
    return new Promise<void>((resolve, reject) => {
      this.waiting.push({ chunks, bytes, events, resolve, reject });
      if (this.waiting.length === 1) void this.enqueue(() => this.flush());
    }).finally(() => void (this.unsettled -= 1));
  }

  /** Ends the active file, which then stands among the finished ones. */
  finalise(): Promise<void> {
    return this.enqueue(() => this.finish());
  }

  private enqueue(run: () => Promise<void>): Promise<void> {
    const done = this.tail.then(run);
    this.tail = done.catch(() => undefined);
    return done;
  }

  /** Never rejects: each append has its own verdict. */
  private async flush(): Promise<void> {
    while (this.waiting.length > 0) {
      const group = this.nextGroup();
      const bytes = group.reduce((total, append) => total + append.bytes, 0);
      try {
        if (this.inventory.bytes + this.activeBytes + bytes > this.options.bytesMax) {
          throw new Error(`the spool may take ${this.options.bytesMax} bytes of disk, and has them`);
        }
        await this.write(group, bytes);
        for (const append of group) append.resolve();
      } catch (error) {
        for (const append of group) append.reject(error as Error);
      }
    }
  }

  private nextGroup(): Append[] {
    let count = 0;
    let bytes = 0;
    while (
      count < this.waiting.length &&
      (count === 0 || bytes + this.waiting[count].bytes <= GROUP_BYTES_MAX)
    ) {
      bytes += this.waiting[count++].bytes;
    }
    return this.waiting.splice(0, count);
  }

  private async write(group: readonly Append[], bytes: number): Promise<void> {
    const active = (this.active ??= await this.begin());
    try {
      await active.file.append(Buffer.concat(group.flatMap(({ chunks }) => chunks)));
      await active.file.sync();
    } catch (error) {
      await this.abandon(active);
      throw error;
    }
    active.bytes += bytes;
    for (const { events } of group) active.events += events;
    if (active.events >= this.options.eventsPerFile || active.bytes >= FILE_BYTES_MAX) {
      // The messages are safe; a rename that fails now is tried again by whoever ends the file next.
      await this.finish().catch(() => undefined);
    }
  }

  private async begin(): Promise<ActiveFile> {
    const writtenAtMs = this.clock.wallMs();
    const name = this.names.next(writtenAtMs);
    const path = join(await this.directory(), name + ACTIVE);
    const file = await this.disk.create(path);
    return { file, name, path, writtenAtMs, events: 0, bytes: 0 };
  }

  /**
   * After a write that failed. Its clients are told so, hence what reached the disk of it is cut off again; and nothing
   * is ever written behind a rest that could not be cut off, where a replay would not find it.
   */
  private async abandon(active: ActiveFile): Promise<void> {
    await active.file.truncate(active.bytes).catch(() => undefined);
    await this.finish().catch(() => undefined);
    if (this.active === active) this.active = null;
  }

  private async finish(): Promise<void> {
    const { active } = this;
    if (!active) return;
    await active.file.close().catch(() => undefined);
    if (active.events === 0) {
      this.active = null;
      return this.disk.remove(active.path);
    }
    const name = active.name + FINISHED;
    const path = active.path.slice(0, -ACTIVE.length) + FINISHED;
    let file: SpoolFile = { path, name, ...figures(active) };
    try {
      await this.disk.rename(active.path, path);
    } catch {
      // Its name alone says that it is being written; it is replayed under that name as well.
      file = { ...file, path: active.path };
    }
    this.active = null;
    this.inventory.add(file);
  }
}

function figures({ events, bytes, writtenAtMs }: ActiveFile) {
  return { events, bytes, writtenAtMs };
}
