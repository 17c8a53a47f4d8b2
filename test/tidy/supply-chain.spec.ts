import { describe, expect, it } from '@jest/globals';
import {
  installedFaults,
  licenceFaults,
  lockFaults,
  rangeFaults,
  scriptFaults,
  supplyFaults,
  type Lock,
  type Manifest,
  type Package,
} from '../../.ci/supply-chain/rules.mjs';
import { readText } from './sources.js';

const INTEGRITY = 'sha512-abc';
const lockOf = (packages: Record<string, Package>): Lock => ({
  packages: Object.fromEntries(
    Object.entries(packages).map(([path, entry]) => [
      path,
      path === '' ? entry : { integrity: INTEGRITY, ...entry },
    ]),
  ),
});

describe('the supply chain', () => {
  it('of this repository has no fault', () => {
    const manifest = JSON.parse(readText('package.json')) as Manifest;
    const lock = JSON.parse(readText('package-lock.json')) as Lock;
    expect(supplyFaults({ manifest, lock, installed: null })).toEqual([]);
    expect(Object.keys(lock.packages).length).toBeGreaterThan(300);
  });

  it.each(['^1.2.3', '~1.2.3', '1.x', '*', 'latest', '>=1.0.0', 'file:../x', 'github:a/b'])(
    'needs an exact version instead of %s',
    (version) => {
      expect(rangeFaults({ dependencies: { a: version } })).toEqual([
        expect.stringContaining(`not "${version}"`),
      ]);
    },
  );

  it.each(['1.2.3', '18.4.0-beta.17'])('takes %s for an exact version', (version) => {
    expect(rangeFaults({ devDependencies: { a: version } })).toEqual([]);
  });

  it('names what the lockfile lacks, has too much, or has in another version', () => {
    const lock = lockOf({ '': { dependencies: { b: '1.0.0', c: '1.0.0' } } });
    expect(lockFaults({ dependencies: { a: '1.0.0', b: '2.0.0' } }, lock)).toEqual([
      'lockfile: a is missing, package.json says 1.0.0',
      'lockfile: b is 1.0.0, package.json says 2.0.0',
      'lockfile: c is 1.0.0, package.json says nothing',
    ]);
  });

  it('lets in nothing without a checksum, and names no registry', () => {
    const lock: Lock = {
      packages: { '': {}, 'node_modules/a': { version: '1.0.0', resolved: 'https://somewhere/a.tgz' } },
    };
    expect(lockFaults({}, lock)).toEqual([
      expect.stringMatching(/node_modules\/a has no integrity/),
      expect.stringMatching(/node_modules\/a names a registry/),
    ]);
  });

  it('runs what is locked', () => {
    const lock = lockOf({
      'node_modules/a': { version: '1.0.0' },
      'node_modules/b': { version: '1.0.0', os: ['aix'] },
    });
    expect(installedFaults(lock, lockOf({ 'node_modules/a': { version: '1.0.0' } }))).toEqual([]);
    expect(installedFaults(lock, lockOf({ 'node_modules/a': { version: '1.0.1' } }))).toEqual([
      'node_modules: node_modules/a is 1.0.1, locked is 1.0.0',
    ]);
    expect(installedFaults(lock, null)).toEqual([]);
  });

  it('runs no script that nobody has decided about', () => {
    const lock = lockOf({
      'node_modules/new': { hasInstallScript: true },
      'node_modules/x/node_modules/known': { hasInstallScript: true },
      'node_modules/@native/linux-x64': { hasInstallScript: true, optional: true, os: ['linux'] },
      'node_modules/@native/aix': { hasInstallScript: true, optional: true, os: ['aix'] },
      'node_modules/needed': { hasInstallScript: true },
    });
    const allowScripts = { known: false, '@native/linux-x64': true, needed: true, gone: false };
    expect(scriptFaults({ allowScripts }, lock)).toEqual([
      expect.stringMatching(/^allowScripts: new has an install script/),
      expect.stringMatching(/^allowScripts: needed may run its script but is not optional/),
      expect.stringMatching(/^allowScripts: gone is not installed/),
    ]);
  });

  it('ships nothing under a licence that does not fit', () => {
    const lock = lockOf({
      'node_modules/a': { license: 'MIT' },
      'node_modules/b': { license: '(GPL-3.0 OR Apache-2.0)' },
      'node_modules/c': { license: '(MIT AND GPL-3.0)' },
      'node_modules/d': { license: 'AGPL-3.0' },
      'node_modules/e': {},
      'node_modules/f': { license: 'GPL-3.0', dev: true },
    });
    expect(licenceFaults(lock)).toEqual([
      'licence: c is under (MIT AND GPL-3.0)',
      'licence: d is under AGPL-3.0',
      'licence: e is under no licence that it names',
    ]);
  });
});
