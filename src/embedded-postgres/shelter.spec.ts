import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { placeCluster, reachableBinaries } from './shelter.js';

/** Somebody who owns nothing here, so that the bits for others decide. */
const stranger = { uid: 64_321, gid: 64_321, name: 'stranger' };

let root: string;
let dataDir: string;
let shelterDir: string;
const lines: string[] = [];
const log = (line: string) => void lines.push(line);

beforeEach(() => {
  lines.length = 0;
  root = realpathSync(mkdtempSync(join(tmpdir(), 'shelter-')));
  chmodSync(root, 0o755);
  dataDir = join(root, 'private', 'data');
  shelterDir = join(root, 'shelter');
  mkdirSync(dataDir, { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true }));

const close = () => chmodSync(join(root, 'private'), 0o700);

describe('placeCluster', () => {
  it('stays in the data directory where the account may go, and where there is no account', () => {
    const own = { pgData: join(dataDir, 'pg'), linkFrom: null };
    expect(placeCluster(dataDir, stranger, shelterDir, log)).toEqual(own);
    close();
    expect(placeCluster(dataDir, null, shelterDir, log)).toEqual(own);
  });

  it('goes to the shelter when a parent is closed, and says so', () => {
    close();
    const place = placeCluster(dataDir, stranger, shelterDir, log);
    expect(place.linkFrom).toBe(join(dataDir, 'pg'));
    expect(place.pgData.startsWith(join(shelterDir, 'pg-'))).toBe(true);
    expect(lines).toEqual([expect.stringContaining(`stranger may not enter ${join(root, 'private')}`)]);
  });

  it('follows the link of an earlier run', () => {
    close();
    const { pgData, linkFrom } = placeCluster(dataDir, stranger, shelterDir, log);
    mkdirSync(pgData);
    symlinkSync(pgData, linkFrom ?? '');
    expect(placeCluster(dataDir, stranger, shelterDir, log)).toEqual({ pgData, linkFrom: null });
  });

  it('refuses a link to files that are gone instead of starting empty', () => {
    symlinkSync(join(shelterDir, 'pg-gone'), join(dataDir, 'pg'));
    expect(() => placeCluster(dataDir, stranger, shelterDir, log)).toThrow(/not there.*remove the link/);
  });

  it('starts empty when the link was removed, and points to the older files without touching them', () => {
    close();
    const older = placeCluster(dataDir, stranger, shelterDir, log).pgData;
    mkdirSync(older);
    lines.length = 0;
    expect(placeCluster(dataDir, stranger, shelterDir, log).pgData).not.toBe(older);
    expect(lines[1]).toContain(`${older} is an older database of the same directory`);
  });

  it('refuses an existing cluster that became unreachable, with the directory that is in the way', () => {
    mkdirSync(join(dataDir, 'pg'));
    writeFileSync(join(dataDir, 'pg', 'PG_VERSION'), '18\n');
    close();
    expect(() => placeCluster(dataDir, stranger, shelterDir, log)).toThrow(
      `chmod o+x ${join(root, 'private')}`,
    );
  });

  it('refuses when the shelter is closed too', () => {
    close();
    const closedShelter = join(root, 'private', 'shelter');
    expect(() => placeCluster(dataDir, stranger, closedShelter, log)).toThrow(/QUEEN_DATA_DIR/);
  });
});

describe('reachableBinaries', () => {
  function install() {
    const nativeDir = join(root, 'private', 'native');
    mkdirSync(join(nativeDir, 'bin'), { recursive: true });
    mkdirSync(join(nativeDir, 'lib'));
    writeFileSync(join(nativeDir, 'bin', 'postgres'), '#!', { mode: 0o700 });
    writeFileSync(join(nativeDir, 'lib', 'libpq.so.5.18'), '', { mode: 0o600 });
    symlinkSync('libpq.so.5.18', join(nativeDir, 'lib', 'libpq.so.5'));
    return { nativeDir, version: '18.4.0', major: 18 };
  }

  it('are used where they are when the account may go there', async () => {
    const binaries = install();
    expect(await reachableBinaries(binaries, stranger, shelterDir, log)).toEqual(binaries);
    close();
    expect(await reachableBinaries(binaries, null, shelterDir, log)).toEqual(binaries);
    expect(lines).toEqual([]);
  });

  it('are copied once to where the account may read and run them', async () => {
    const binaries = install();
    close();
    const first = await reachableBinaries(binaries, stranger, shelterDir, log);
    const second = await reachableBinaries(binaries, stranger, shelterDir, log);
    const copy = join(shelterDir, 'bin-18.4.0');
    expect([first.nativeDir, second.nativeDir]).toEqual([copy, copy]);
    expect(lines).toHaveLength(1);
    expect(statSync(join(copy, 'bin', 'postgres')).mode & 0o777).toBe(0o755);
    expect(statSync(join(copy, 'lib', 'libpq.so.5.18')).mode & 0o777).toBe(0o644);
    expect(realpathSync(join(copy, 'lib', 'libpq.so.5'))).toBe(join(copy, 'lib', 'libpq.so.5.18'));
  });
});
