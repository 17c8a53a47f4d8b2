import { join } from 'node:path';
import type { Disk } from './disk.js';
import { Inventory } from './inventory.js';
import { RecordReader } from './record-reader.js';
import { ACTIVE, FINISHED, type SpoolFile } from './spool-file.js';

const GROUP_BYTES = 1024 * 1024;
const LENGTH_BYTES = 4;

/**
 * Copies the records of a file that could not be stored into the folder of failed files, where an operator finds them
 * and nothing else: put back one folder up they are replayed with the next start.
 */
export async function keepApart(
  file: SpoolFile,
  indexes: ReadonlyMap<number, unknown>,
  directory: string,
  disk: Disk,
): Promise<SpoolFile> {
  const folder = await Inventory.failedFolder(directory);
  const name = file.name.replace(/\.(tmp|buf)$/, FINISHED);
  const path = join(folder, name);
  const aside = `${path}${ACTIVE}`;
  await disk.remove(aside).catch(() => undefined); // of an attempt that did not end
  const target = await disk.create(aside);
  let bytes = 0;
  try {
    const reader = await RecordReader.open(file.path);
    try {
      let chunks: Buffer[] = [];
      let held = 0;
      for (
        let index = 0, record = await reader.next();
        record !== null;
        index++, record = await reader.next()
      ) {
        if (!indexes.has(index)) continue;
        const length = Buffer.allocUnsafe(LENGTH_BYTES);
        length.writeUInt32LE(record.length);
        chunks.push(length, record);
        held += LENGTH_BYTES + record.length;
        if (held < GROUP_BYTES) continue;
        await target.append(Buffer.concat(chunks));
        bytes += held;
        chunks = [];
        held = 0;
      }
      await target.append(Buffer.concat(chunks));
      bytes += held;
    } finally {
      await reader.close();
    }
    await target.sync();
  } finally {
    await target.close();
  }
  await disk.rename(aside, path);
  return { path, name, events: indexes.size, bytes, writtenAtMs: file.writtenAtMs };
}
