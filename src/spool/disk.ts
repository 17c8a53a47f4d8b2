import { open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A file while it is written. */
export interface DiskFile {
  /** At its end, all of it. */
  append(bytes: Buffer): Promise<void>;
  /** On the disk, not only in the system's memory. */
  sync(): Promise<void>;
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** The few things the spool asks of a disk; a spec puts a full one in its place. */
export interface Disk {
  /** A new file whose name survives a crash. */
  create(path: string): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
}

export const DISK = Symbol('Disk');

export const realDisk: Disk = {
  async create(path) {
    const file = await open(path, 'wx', 0o600);
    try {
      const directory = await open(dirname(path), 'r');
      try {
        await directory.sync();
      } finally {
        await directory.close();
      }
    } catch (error) {
      await file.close();
      throw error;
    }
    return {
      append: (bytes) => file.appendFile(bytes),
      sync: () => file.datasync(),
      truncate: (bytes) => file.truncate(bytes),
      close: () => file.close(),
    };
  },
  rename,
  remove: unlink,
};
