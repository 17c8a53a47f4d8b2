import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { countRecords, RecordReader } from './record-reader.js';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'record-reader-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function fileOf(bytes: Buffer): string {
  const path = join(directory, 'file');
  writeFileSync(path, bytes);
  return path;
}

function records(...sizes: number[]): Buffer {
  return Buffer.concat(
    sizes.flatMap((size, i) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(size);
      return [length, Buffer.alloc(size, 65 + i)];
    }),
  );
}

async function read(path: string): Promise<number[]> {
  const reader = await RecordReader.open(path);
  const sizes: number[] = [];
  for (let record = await reader.next(); record !== null; record = await reader.next())
    sizes.push(record.length);
  await reader.close();
  return sizes;
}

describe('RecordReader', () => {
  it('gives every record, small ones, empty ones, and ones larger than what it reads at a time', async () => {
    const sizes = [3, 0, 700_000, 1, 262_144, 5];
    const path = fileOf(records(...sizes));
    expect(await read(path)).toEqual(sizes);
    const bytes = sizes.reduce((sum, size) => sum + size + 4, 0);
    expect(await countRecords(path)).toEqual({ events: sizes.length, bytes });
  });

  it('takes nothing for a record that its writer did not finish, at whatever byte it was killed', async () => {
    const whole = records(5, 9);
    const last = records(40);
    for (let cut = 0; cut < last.length; cut++) {
      const path = fileOf(Buffer.concat([whole, last.subarray(0, cut)]));
      expect(await read(path)).toEqual([5, 9]);
      expect(await countRecords(path)).toEqual({ events: 2, bytes: whole.length });
    }
  });

  it('does not believe a length that says more than the file has', async () => {
    const path = fileOf(Buffer.concat([records(5), Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 2, 3])]));
    expect(await read(path)).toEqual([5]);
  });

  it('reads an empty file', async () => {
    expect(await read(fileOf(Buffer.alloc(0)))).toEqual([]);
  });
});
