import { open, type FileHandle } from 'node:fs/promises';

const LENGTH_BYTES = 4;
const CHUNK_BYTES = 256 * 1024;

/**
 * The records of one file, one after the other. A file may end in the middle of a record: its writer was killed, or
 * the disk was full, before anybody was told that the message is safe. That rest is not a record.
 */
export class RecordReader {
  /** From the file, not yet read as records. */
  private buffer = Buffer.alloc(0);
  private position = 0;

  private constructor(
    private readonly file: FileHandle,
    private readonly size: number,
  ) {}

  static async open(path: string): Promise<RecordReader> {
    const file = await open(path, 'r');
    try {
      return new RecordReader(file, (await file.stat()).size);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The next record without its length; null at the end. A buffer of its own. */
  async next(): Promise<Buffer | null> {
    if (!(await this.fill(LENGTH_BYTES))) return null;
    const length = this.buffer.readUInt32LE(0);
    if (!(await this.fill(LENGTH_BYTES + length))) return null;
    const record = Buffer.from(this.buffer.subarray(LENGTH_BYTES, LENGTH_BYTES + length));
    this.buffer = this.buffer.subarray(LENGTH_BYTES + length);
    return record;
  }

  /** Steps over the next record; its length, or null at the end. */
  async skip(): Promise<number | null> {
    if (!(await this.fill(LENGTH_BYTES))) return null;
    const length = this.buffer.readUInt32LE(0);
    const end = LENGTH_BYTES + length;
    if (end <= this.buffer.length) this.buffer = this.buffer.subarray(end);
    else {
      const missing = end - this.buffer.length;
      if (this.position + missing > this.size) return null;
      this.position += missing;
      this.buffer = Buffer.alloc(0);
    }
    return length;
  }

  close(): Promise<void> {
    return this.file.close();
  }

  /** Makes sure that so many bytes are at hand; false when the file has fewer. */
  private async fill(bytes: number): Promise<boolean> {
    const missing = bytes - this.buffer.length;
    if (missing <= 0) return true;
    // Before memory is taken for it: a length out of a damaged file may say anything.
    if (this.position + missing > this.size) return false;
    const chunk = Buffer.allocUnsafe(Math.min(Math.max(missing, CHUNK_BYTES), this.size - this.position));
    let read = 0;
    while (read < chunk.length) {
      const { bytesRead } = await this.file.read(chunk, read, chunk.length - read, this.position + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    this.position += read;
    this.buffer = Buffer.concat([this.buffer, chunk.subarray(0, read)]);
    return this.buffer.length >= bytes;
  }
}

/** Whole records in a file, and the bytes they take. */
export async function countRecords(path: string): Promise<{ events: number; bytes: number }> {
  const reader = await RecordReader.open(path);
  try {
    let events = 0;
    let bytes = 0;
    for (let length = await reader.skip(); length !== null; length = await reader.skip()) {
      events += 1;
      bytes += LENGTH_BYTES + length;
    }
    return { events, bytes };
  } finally {
    await reader.close();
  }
}
