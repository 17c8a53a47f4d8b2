import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;
let functions: { name: string; volatility: string; language: string; source: string; settings: string }[];

beforeAll(async () => {
  db = await createTestDatabase();
  const { rows } = await db.query<(typeof functions)[0]>(
    `select p.proname as name, p.provolatile as volatility, l.lanname as language, p.prosrc as source,
            coalesce(array_to_string(p.proconfig, ' '), '') as settings
     from pg_proc p join pg_language l on l.oid = p.prolang
     where p.pronamespace = 'queen'::regnamespace order by 1`,
  );
  functions = rows.map((row) => ({ ...row, source: row.source.replaceAll(/--.*$/gm, '') }));
});

afterAll(() => db.drop());

const matching = (pattern: RegExp) =>
  functions.filter(({ source }) => pattern.test(source)).map(({ name }) => name);

describe('the functions in the database', () => {
  it('are there once each: an overload would make calls with defaults ambiguous', () => {
    const names = functions.map(({ name }) => name);
    expect(names.length).toBeGreaterThan(30);
    expect(names).toEqual([...new Set(names)]);
  });

  it('never sleep: waiting belongs to the broker, which holds nothing meanwhile (Z39)', () => {
    expect(matching(/pg_sleep|\bnotify\b|\blisten\b/i)).toEqual([]);
  });

  it('put no statement together from text', () => {
    expect(matching(/\bexecute\b/i)).toEqual([]);
  });

  it('are volatile when they lock or write: each command of theirs must see what was just committed', () => {
    const writing = /\binsert into\b|\bupdate queen\.|\bdelete from\b|\bfor (no key )?(update|key share)\b/i;
    const changing = functions.filter(({ source }) => writing.test(source));
    expect(changing.length).toBeGreaterThan(10);
    expect(changing.filter(({ volatility }) => volatility !== 'v').map(({ name }) => name)).toEqual([]);
  });

  it('are volatile when they call one that is', () => {
    const volatile = functions.filter(({ volatility }) => volatility === 'v').map(({ name }) => name);
    const calls = new RegExp(`queen\\.(${volatile.join('|')})\\(`);
    const careless = functions.filter(({ source, volatility }) => volatility !== 'v' && calls.test(source));
    expect(careless.map(({ name }) => name)).toEqual([]);
  });

  it.each([
    'log_has_pending_v1',
    'log_partition_has_pending_v1',
    'log_partitions_have_pending_v1',
    'log_discover_has_pending_v1',
    'log_hotlist_reseed_v1',
    'log_hotlist_reseed_window_v1',
    'log_segment_at_v1',
  ])('%s is a pure probe', (name) => {
    expect(functions.find((row) => row.name === name)?.volatility).toBe('s');
  });

  it('change the settings of nobody else: only their own, in a set clause', () => {
    expect(matching(/\bset_config\(|\bset\s+(local|session)\b/i)).toEqual([]);
  });
});
