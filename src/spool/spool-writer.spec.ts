import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { realDisk, type Disk, type DiskFile } from './disk.js';
import { Inventory } from './inventory.js';
import { RecordReader } from './record-reader.js';
import { FileNames } from './spool-file.js';
import { SpoolWriter } from './spool-writer.js';

let directory: string;
let inventory: Inventory;
let clock: ManualClock;
let syncs: number;
let held: Promise<void> | null;
let fail: 'append' | 'half' | 'sync' | 'create' | null;
let writers: SpoolWriter[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'spool-writer-'));
  inventory = new Inventory();
  clock = new ManualClock();
  syncs = 0;
  held = null;
  fail = null;
  writers = [];
});
afterEach(async () => {
  for (const one of writers) await one.finalise(); // closes its file
  rmSync(directory, { recursive: true });
});

/** The real one, with faults: a full disk may take half of what is written. */
const disk: Disk = {
  ...realDisk,
  async create(path) {
    if (fail === 'create') throw new Error('ENOSPC: no space left on device');
    const file = await realDisk.create(path);
    const faulty: DiskFile = {
      ...file,
      async append(bytes) {
        if (fail === 'half') await file.append(bytes.subarray(0, bytes.length >> 1));
        if (fail === 'append' || fail === 'half') throw new Error('ENOSPC: no space left on device');
        await file.append(bytes);
      },
      async sync() {
        await held;
        if (fail === 'sync') throw new Error('EIO: i/o error');
        syncs += 1;
        await file.sync();
      },
    };
    return faulty;
  },
};

function writer(options: Partial<{ eventsPerFile: number; bytesMax: number }> = {}): SpoolWriter {
  const all = { eventsPerFile: 1000, bytesMax: 1e9, ...options };
  const names = new FileNames();
  const made = new SpoolWriter(() => Promise.resolve(directory), inventory, names, disk, clock, all);
  writers.push(made);
  return made;
}

function record(text: string): Buffer[] {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return [length, Buffer.from(text)];
}

async function contents(): Promise<string[][]> {
  const files: string[][] = [];
  for (const name of readdirSync(directory).sort()) {
    const reader = await RecordReader.open(join(directory, name));
    const records: string[] = [];
    for (let one = await reader.next(); one !== null; one = await reader.next()) records.push(one.toString());
    await reader.close();
    files.push(records);
  }
  return files;
}

describe('SpoolWriter', () => {
  it('writes in the order of the calls, and shares one sync among those that come meanwhile', async () => {
    const spool = writer();
    let release!: () => void;
    held = new Promise((resolve) => (release = resolve));
    const first = spool.append(record('m0'), 1);
    await new Promise((resolve) => setImmediate(resolve));
    const others = Array.from({ length: 50 }, (_, i) => spool.append(record(`m${i + 1}`), 1));
    expect(spool.isBusy).toBe(true);
    release();
    await Promise.all([first, ...others]);
    expect(spool.isBusy).toBe(false);
    expect(syncs).toBeLessThanOrEqual(2);
    expect(await contents()).toEqual([Array.from({ length: 51 }, (_, i) => `m${i}`)]);
  });

  it('does not resolve before the sync', async () => {
    const spool = writer();
    let release!: () => void;
    held = new Promise((resolve) => (release = resolve));
    let resolved = false;
    const written = spool.append(record('m'), 1).then(() => (resolved = true));
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(resolved).toBe(false);
    release();
    await written;
  });

  it('begins a new file after so many messages, and names files in the order of time', async () => {
    const spool = writer({ eventsPerFile: 2 });
    for (const text of ['m0', 'm1', 'm2', 'm3', 'm4']) {
      await spool.append(record(text), 1);
      clock.advance(1);
    }
    expect(inventory.files).toBe(2);
    await spool.finalise();
    expect(await contents()).toEqual([['m0', 'm1'], ['m2', 'm3'], ['m4']]);
    expect(inventory.events).toBe(5);
    expect(inventory.oldest).toMatchObject({ events: 2, bytes: 12 });
  });

  it('has nothing to finish when nothing was written', async () => {
    await writer().finalise();
    expect(readdirSync(directory)).toEqual([]);
  });

  it.each(['append', 'half', 'sync', 'create'] as const)(
    'rejects when the disk fails (%s), keeps what was safe and goes on in a new file',
    async (what) => {
      const spool = writer();
      await spool.append(record('safe'), 1);
      if (what === 'create') await spool.finalise();
      fail = what;
      await expect(spool.append(record('lost'), 1)).rejects.toThrow(/ENOSPC|EIO/);
      fail = null;
      clock.advance(5);
      await spool.append(record('next'), 1);
      await spool.finalise();
      expect(await contents()).toEqual([['safe'], ['next']]);
      expect(inventory.events).toBe(2);
    },
  );

  it('leaves no file behind when its very first write fails', async () => {
    const spool = writer();
    fail = 'append';
    await expect(spool.append(record('lost'), 1)).rejects.toThrow('ENOSPC');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('takes no more than its share of the disk', async () => {
    const spool = writer({ bytesMax: 20 });
    await spool.append(record('12345678'), 1);
    await expect(spool.append(record('12345678'), 1)).rejects.toThrow('20 bytes');
    await spool.append(record('1234'), 1);
    expect(spool.activeBytes).toBe(20);
    await spool.finalise();
    await inventory.drop(inventory.oldest!);
    await spool.append(record('12345678'), 1);
  });
});

describe('FileNames', () => {
  it('rise also within one millisecond, and when the clock is set back', () => {
    const names = new FileNames();
    const made = [1000, 1000, 900, 2000, 1].map((ms) => names.next(ms));
    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(5);
    expect(made[0]).toBe('0000000001000-00000000');
  });

  it('come after what is there already', () => {
    const names = new FileNames();
    names.after(5000);
    expect(names.next(100) > '0000000005000-99999999').toBe(true);
  });
});
