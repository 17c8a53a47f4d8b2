import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  buildDatabaseUrl,
  databaseUrlFile,
  loadAccess,
  newPassword,
  parseDatabaseUrl,
  saveAccess,
} from './database-url.js';

describe('the URL', () => {
  it('names user, host, port and database', () => {
    expect(buildDatabaseUrl({ password: 'secret', port: 16632 })).toBe(
      'postgresql://queen:secret@127.0.0.1:16632/queen',
    );
  });

  it('gives back the password and the port it was built from', () => {
    const access = { password: 'a/b:c@d%e?f#g', port: 5433 };
    expect(parseDatabaseUrl(`${buildDatabaseUrl(access)}\n`)).toEqual(access);
  });

  it.each(['', 'nonsense', 'postgresql://queen@127.0.0.1:1/queen', 'postgresql://queen:x@elsewhere:1/queen'])(
    'is not recognised in %j',
    (text) => expect(parseDatabaseUrl(text)).toBeNull(),
  );

  it('has a password that is different each time and needs no escaping', () => {
    const [one, two] = [newPassword(), newPassword()];
    expect(one).not.toBe(two);
    expect(one).toMatch(/^[\w-]{32}$/);
  });
});

describe('database.url', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'database-url-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  it('is readable by its owner only, also when it replaces a file that was open to all', () => {
    writeFileSync(databaseUrlFile(dataDir), 'old');
    chmodSync(databaseUrlFile(dataDir), 0o644);
    const access = { password: 'secret', port: 7 };
    saveAccess(dataDir, access);
    expect(statSync(databaseUrlFile(dataDir)).mode & 0o777).toBe(0o600);
    expect(loadAccess(dataDir)).toEqual(access);
    expect(readdirSync(dataDir)).toEqual(['database.url']);
  });

  it('that is missing or damaged gives no access', () => {
    expect(loadAccess(dataDir)).toBeNull();
    writeFileSync(databaseUrlFile(dataDir), '');
    expect(loadAccess(dataDir)).toBeNull();
  });
});
