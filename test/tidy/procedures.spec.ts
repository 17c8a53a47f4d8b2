import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { basename } from 'node:path/posix';
import type { Procedure } from '../../src/raw-sql/procedure.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { filesBelow, literals, readText, sources } from './sources.js';

/*
 * A procedure is written down three times: in its file, in the database, and where the broker calls it. Nothing but
 * this test would notice when the three drift apart before a user does.
 */

type AnyProcedure = Procedure<never, unknown>;

interface DatabaseFunction {
  name: string;
  /** Type names as PostgreSQL spells them. */
  parameters: string[];
  /** Names of the columns of a row; a scalar has one. */
  columns: string[];
}

const PROCEDURE_FILES = filesBelow('database/procedures', '.sql');
const CREATE = /create\s+(?:or\s+replace\s+)?(?:function|procedure)\s+queen\.(\w+)\s*\(/gi;

let db: TestDatabase;
let inDatabase: DatabaseFunction[];
let inSource: { export: string; procedure: AnyProcedure }[];

beforeAll(async () => {
  db = await createTestDatabase();
  const { rows } = await db.query<DatabaseFunction & { returnsSet: boolean }>(`
    select p.proname as name,
      (select coalesce(array_agg(format_type(t.type, null) order by t.n), '{}')
       from unnest(p.proargtypes::oid[]) with ordinality t(type, n)) as parameters,
      (select coalesce(array_agg(a.name order by a.n), '{result}')
       from unnest(p.proargnames, p.proargmodes) with ordinality a(name, mode, n)
       where a.mode in ('o', 'b', 't')) as columns
    from pg_proc p
    where p.pronamespace = 'queen'::regnamespace and p.prokind = 'f'
      and p.prorettype <> 'trigger'::regtype
    order by p.proname`);
  inDatabase = rows;
  inSource = await exportedProcedures();
});

afterAll(() => db.drop());

async function exportedProcedures() {
  const found: typeof inSource = [];
  for (const path of filesBelow('src', '.procedures.ts')) {
    const module = (await import(`../../src/${path.replace(/\.ts$/, '.js')}`)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(module)) {
      const procedure = value as AnyProcedure | null;
      if (typeof procedure === 'object' && procedure !== null && 'parameterTypes' in procedure) {
        found.push({ export: `${path} ${name}`, procedure });
      }
    }
  }
  return found;
}

function named(name: string): DatabaseFunction | undefined {
  return inDatabase.find((one) => one.name === name);
}

describe('a file of database/procedures', () => {
  it('holds exactly the function it is called after', () => {
    const reason = 'one function, one file, one name: that is how a reader finds it and a diff shows it';
    const wrong = PROCEDURE_FILES.flatMap((path) => {
      const names = [...readText(`database/procedures/${path}`).matchAll(CREATE)].map(([, name]) => name);
      const own = basename(path, '.sql');
      return names.length === 1 && names[0] === own
        ? []
        : [`${path} creates ${names.join(', ') || 'nothing'}`];
    });
    expect({ reason, wrong }).toEqual({ reason, wrong: [] });
  });

  it('is in the database once, and nothing else is', async () => {
    const reason = 'an overload left behind makes a call ambiguous (SQLSTATE 42725)';
    const names = PROCEDURE_FILES.map((path) => basename(path, '.sql')).sort();
    const { rows } = await db.query<{ name: string }>(
      `select proname as name from pg_proc where pronamespace = 'queen'::regnamespace order by proname collate "C"`,
    );
    expect({ reason, names: rows.map(({ name }) => name) }).toEqual({ reason, names });
  });

  it('begins with what it promises', () => {
    const reason = 'the head of a file says what it promises, what it locks and who calls it';
    const silent = PROCEDURE_FILES.filter((path) => {
      const text = readText(`database/procedures/${path}`);
      return !text.startsWith('--') || !/^-- .*Called by:/m.test(text);
    });
    expect({ reason, silent }).toEqual({ reason, silent: [] });
  });
});

describe('a procedure of a *.procedures.ts', () => {
  it('exists in the database with these parameter types, and the call names every one', async () => {
    const reason =
      'PostgreSQL picks a function by its argument types; a wrong one fails only when it is called';
    const wrong: string[] = [];
    for (const { export: where, procedure } of inSource) {
      const { rows } = await db.query<{ types: string[] }>(
        `select coalesce(array_agg(format_type(t::regtype, null) order by n), '{}') as types
         from unnest($1::text[]) with ordinality u(t, n)`,
        [procedure.parameterTypes],
      );
      const actual = named(procedure.name)?.parameters;
      if (JSON.stringify(actual) !== JSON.stringify(rows[0].types)) {
        wrong.push(
          `${where}: the broker calls (${rows[0].types.join(', ')}), the database has (${actual?.join(', ')})`,
        );
      }
      if (!procedure.text.includes(`queen.${procedure.name}(`)) wrong.push(`${where}: calls something else`);
    }
    expect({ reason, wrong }).toEqual({ reason, wrong: [] });
    expect(inSource.length).toBeGreaterThan(15);
  });

  it('reads as many columns as the function returns', () => {
    const reason = 'rows come as arrays: a column more or less shifts the meaning of those behind it';
    const wrong = inSource.flatMap(({ export: where, procedure }) => {
      const columns = named(procedure.name)?.columns.length ?? 0;
      const read = columnsRead(procedure, columns);
      return read === columns ? [] : [`${where}: reads ${read} of ${columns} columns`];
    });
    expect({ reason, wrong }).toEqual({ reason, wrong: [] });
  });

  it('is prepared under its name, so two that share one have one text', () => {
    const texts = new Map<string, string>();
    for (const { procedure } of inSource) {
      expect(texts.get(procedure.name) ?? procedure.text).toBe(procedure.text);
      texts.set(procedure.name, procedure.text);
    }
  });
});

describe('SQL', () => {
  const MAY_HOLD_SQL = [
    ...[
      /\.procedures\.ts$/,
      /^raw-sql\//,
      /^schema\//,
      /^embedded-postgres\//,
      /^health\/database-watch\.ts$/,
    ],
    /^hints\//, // LISTEN and NOTIFY are no procedures
  ];
  const STATEMENT =
    /^\s*(select\s[^]*?(\(|\*|\d|\bfrom\s)|insert\s+into\s|update\s+[\w.]+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s|(create|alter|drop|truncate)\s+(or\s+replace\s+)?(table|function|index|schema|database)\b|begin$|commit$|rollback$|listen\s|notify\s|lock\s+table\s|set\s+(local\s+)?\w+\s*=|call\s+\w+)/i;

  it('stands in *.procedures.ts and where connections are made, and nowhere else', () => {
    const reason =
      'a statement in the middle of a service has no plan anyone pinned and no signature anyone checks';
    const found = sources()
      .filter(({ path }) => !MAY_HOLD_SQL.some((place) => place.test(path)))
      .flatMap(({ path, text }) =>
        literals(text)
          .filter((literal) => STATEMENT.test(literal) || /\bqueen\.\w+_v\d\b/.test(literal))
          .map((literal) => `${path}: ${literal.slice(0, 60)}`),
      );
    expect({ reason, found }).toEqual({ reason, found: [] });
  });

  it('would be noticed', () => {
    const samples = [
      'select * from queen.t',
      'select id from t',
      'select queen.f($1)',
      'select 1',
      ' insert into t values (1)',
      'update t set a = 1',
      'begin',
    ];
    expect(samples.filter((sample) => !STATEMENT.test(sample))).toEqual([]);
    const watch = literals(readText('src/health/database-watch.ts'));
    expect(watch.filter((literal) => STATEMENT.test(literal))).toHaveLength(1);
    const prose = ['select one of them', 'update the page', 'with all due respect', 'deleted', 'commit it'];
    expect(prose.filter((sample) => STATEMENT.test(sample))).toEqual([]);
  });
});

/** How far a decoder looks into its row: the fields it destructures, or the highest index it asks for. */
function columnsRead(procedure: AnyProcedure, columns: number): number {
  let read = 0;
  const note = (count: number) => void (read = Math.max(read, count));
  const fields = new Proxy(new Array<unknown>(columns + 5).fill(null), {
    get(target, key) {
      if (key === Symbol.iterator) {
        return function* () {
          for (let k = 0; ; k++) {
            note(k + 1);
            yield target[k];
          }
        };
      }
      if (typeof key === 'string' && /^\d+$/.test(key)) note(Number(key) + 1);
      return Reflect.get(target, key) as unknown;
    },
  });
  try {
    procedure.row(fields);
  } catch {
    // Nulls are not what it expects; by then it has said how many fields it wants.
  }
  return read;
}
