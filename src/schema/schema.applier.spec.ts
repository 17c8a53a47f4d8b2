import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SchemaFileError } from './schema-errors.js';
import { SchemaApplier } from './schema.applier.js';
import type { SqlSession } from './sql-session.js';

/** A session that answers what the applier asks and fails the statements it is told to fail. */
class FakeSession implements SqlSession {
  readonly statements: string[] = [];
  ended = false;

  constructor(
    private readonly fail: (text: string, nth: number) => string | null = () => null,
    private locksRefused = 0,
  ) {}

  async query(text: string): Promise<{ rows: Record<string, unknown>[] }> {
    this.statements.push(text);
    const code = this.fail(text, this.statements.filter((one) => one === text).length);
    if (code) throw Object.assign(new Error(`failed with ${code}`), { code });
    if (text.includes('to_regclass')) return { rows: [{ present: false }] };
    if (text.includes('pg_try_advisory_lock')) return { rows: [{ locked: this.locksRefused-- <= 0 }] };
    return { rows: [] };
  }

  async end(): Promise<void> {
    this.ended = true;
  }
}

let databaseDir: string;
let pauses: number;

beforeEach(() => {
  pauses = 0;
  databaseDir = mkdtempSync(join(tmpdir(), 'applier-'));
  mkdirSync(join(databaseDir, 'migrations'));
  mkdirSync(join(databaseDir, 'procedures', '001_queue'), { recursive: true });
  writeFileSync(join(databaseDir, 'migrations', '0001_tables.sql'), 'create table t ()');
  writeFileSync(join(databaseDir, 'procedures', '001_queue', 'f_v1.sql'), 'create function f');
});

afterEach(() => rmSync(databaseDir, { recursive: true }));

function applierOn(session: FakeSession): SchemaApplier {
  const pause = async () => void pauses++;
  return new SchemaApplier(
    async () => session,
    () => undefined,
    { databaseDir, pause },
  );
}

describe('SchemaApplier', () => {
  it('gives each file a transaction of its own with a short lock timeout, and unlocks', async () => {
    const session = new FakeSession();
    const applied = await applierOn(session).apply();

    expect(applied).toMatchObject({ migrations: ['0001_tables.sql'], procedures: ['001_queue/f_v1.sql'] });
    const steps = session.statements
      .map((text) => text.trim().split('\n')[0] ?? '')
      .filter((text) =>
        /^(begin|commit|set local|create table t|create function|insert|.*advisory)/.test(text),
      )
      .map((text) => text.replace(/ \(name.*/, ''));
    expect(steps).toEqual([
      'select pg_try_advisory_lock($1) as locked',
      'begin',
      'set local lock_timeout = 250',
      'create table t ()',
      'insert into queen.schema_migrations',
      'commit',
      'begin',
      'set local lock_timeout = 250',
      'create function f',
      'insert into queen.schema_procedures',
      'commit',
      'select pg_advisory_unlock($1)',
    ]);
    expect(session.ended).toBe(true);
  });

  it.each(['40P01', '55P03'])('tries a file again that failed with %s', async (code) => {
    const session = new FakeSession((text, nth) => (text === 'create table t ()' && nth <= 3 ? code : null));
    await applierOn(session).apply();
    expect(session.statements.filter((text) => text === 'create table t ()')).toHaveLength(4);
    expect(session.statements.filter((text) => text === 'rollback')).toHaveLength(3);
    expect(pauses).toBe(3);
  });

  it('gives up after forty attempts, with the file in the message and the lock given back', async () => {
    const session = new FakeSession((text) => (text === 'create table t ()' ? '55P03' : null));
    await expect(applierOn(session).apply()).rejects.toThrow(/0001_tables\.sql could not be applied/);
    expect(session.statements.filter((text) => text === 'create table t ()')).toHaveLength(40);
    const limits = session.statements.filter((text) => text.startsWith('set local lock_timeout'));
    expect(limits.slice(19, 21)).toEqual(['set local lock_timeout = 250', 'set local lock_timeout = 2000']);
    expect(session.statements.at(-1)).toContain('pg_advisory_unlock');
    expect(session.ended).toBe(true);
  });

  it('does not try again what no attempt can cure', async () => {
    const session = new FakeSession((text) => (text === 'create function f' ? '42601' : null));
    await expect(applierOn(session).apply()).rejects.toThrow(SchemaFileError);
    expect(session.statements.filter((text) => text === 'create function f')).toHaveLength(1);
  });

  it('asks for the lock again while another session holds it', async () => {
    const session = new FakeSession(undefined, 5);
    await applierOn(session).apply();
    expect(session.statements.filter((text) => text.includes('pg_try_advisory_lock'))).toHaveLength(6);
    expect(pauses).toBe(5);
  });
});
