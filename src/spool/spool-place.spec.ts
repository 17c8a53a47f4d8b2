import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { formatBrokerPid } from '../base/process-lock/broker-lock.js';
import { SpoolPlace } from './spool-place.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'spool-place-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const NAME = '0000000001000-00000000.buf';

/** A place as a killed broker leaves it. */
function leftBehind(number: number, ...names: string[]): void {
  const path = join(root, String(number));
  mkdirSync(path);
  for (const name of names) writeFileSync(join(path, name), 'x');
  writeFileSync(join(path, 'broker.pid'), formatBrokerPid({ pid: 2 ** 30, startedAt: null }));
}

describe('SpoolPlace', () => {
  it('is made when it is needed, and not before', async () => {
    const directory = join(root, 'not', 'there');
    const place = new SpoolPlace([directory]);
    await place.adopt();
    expect([place.path, existsSync(directory)]).toEqual([null, false]);
    expect(await place.claim()).toBe(join(directory, '0'));
    expect(await place.claim()).toBe(join(directory, '0'));
    await place.release();
  });

  it('is another one for each broker of a machine, and free again afterwards', async () => {
    const places = [1, 2, 3].map(() => new SpoolPlace([root]));
    const paths: string[] = [];
    for (const place of places) paths.push(await place.claim());
    expect(paths).toEqual(['0', '1', '2'].map((number) => join(root, number)));
    await places[1].release();
    expect(await new SpoolPlace([root]).claim()).toBe(join(root, '1'));
  });

  it('takes over what a killed broker left, as its own', async () => {
    leftBehind(3, NAME);
    const place = new SpoolPlace([root]);
    await place.adopt();
    expect(place.path).toBe(join(root, '3'));
  });

  it('gathers what several left, and keeps the order of time', async () => {
    leftBehind(0, '0000000002000-00000000.buf');
    leftBehind(1, '0000000001000-00000000.tmp', 'something else');
    leftBehind(2, '0000000002000-00000000.buf');
    const place = new SpoolPlace([root]);
    await place.adopt();
    expect(
      readdirSync(place.path!)
        .filter((name) => /buf|tmp/.test(name))
        .sort(),
    ).toEqual(['0000000001000-00000000-1.tmp', '0000000002000-00000000-2.buf', '0000000002000-00000000.buf']);
  });

  it('leaves alone what belongs to a broker that lives', async () => {
    const living = new SpoolPlace([root]);
    writeFileSync(join(await living.claim(), NAME), 'x');
    const place = new SpoolPlace([root]);
    await place.adopt();
    expect(place.path).toBeNull();
    expect(await place.claim()).toBe(join(root, '1'));
  });

  it('is in the first directory that can be written', async () => {
    const file = join(root, 'a file');
    writeFileSync(file, '');
    const place = new SpoolPlace([join(file, 'below'), join(root, 'second')]);
    expect(await place.claim()).toBe(join(root, 'second', '0'));
  });

  it('rejects where the only directory cannot be made', async () => {
    const file = join(root, 'a file');
    writeFileSync(file, '');
    const place = new SpoolPlace([join(file, 'below')]);
    await place.adopt();
    await expect(place.claim()).rejects.toThrow('ENOTDIR');
  });
});
