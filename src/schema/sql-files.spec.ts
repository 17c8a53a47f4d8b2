import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readSqlFiles } from './sql-files.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sql-files-'));
  mkdirSync(join(directory, 'migrations'));
  mkdirSync(join(directory, 'procedures'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function write(path: string, text = 'select 1;\n'): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), text);
}

describe('readSqlFiles', () => {
  it('orders migrations by number and procedures by family and name', async () => {
    write('migrations/0002_groups.sql');
    write('migrations/0001_tables.sql');
    write('procedures/010_late/a_v1.sql');
    write('procedures/004_log_pop/log_pop_v1.sql');
    write('procedures/004_log_pop/log_pop_list_v1.sql');
    write('procedures/README.md', 'not SQL');

    const files = await readSqlFiles(directory);

    expect(files.migrations.map(({ name }) => name)).toEqual(['0001_tables.sql', '0002_groups.sql']);
    expect(files.procedures.map(({ name }) => name)).toEqual([
      '004_log_pop/log_pop_list_v1.sql',
      '004_log_pop/log_pop_v1.sql',
      '010_late/a_v1.sql',
    ]);
  });

  it('gives a text the same checksum whatever its line endings, and another text another one', async () => {
    write('migrations/0001_a.sql', 'select 1;\nselect 2;\n');
    write('migrations/0002_b.sql', 'select 1;\r\nselect 2;\r\n');
    write('migrations/0003_c.sql', 'select 1;\nselect 3;\n');

    const [a, b, c] = (await readSqlFiles(directory)).migrations;

    expect(a?.checksum).toBe(b?.checksum);
    expect(a?.checksum).not.toBe(c?.checksum);
  });

  it.each([
    ['migrations/1_short.sql', /four digits/],
    ['migrations/0001_Upper.sql', /four digits/],
    ['procedures/loose.sql', /folder of its family/],
    ['procedures/pop/log_pop_v1.sql', /family of procedures/],
    ['procedures/004_log_pop/log-pop.sql', /as its function is/],
  ])('refuses %s, which would otherwise never be applied', async (path, reason) => {
    write(path);
    await expect(readSqlFiles(directory)).rejects.toThrow(reason);
  });

  it('refuses two migrations with one number', async () => {
    write('migrations/0001_a.sql');
    write('migrations/0001_b.sql');
    await expect(readSqlFiles(directory)).rejects.toThrow(/0001_a\.sql and 0001_b\.sql have the same number/);
  });

  it('reads the files that ship with the broker', async () => {
    const files = await readSqlFiles();
    expect(files.migrations.length).toBeGreaterThan(0);
    expect(files.procedures.length).toBeGreaterThan(0);
  });
});
