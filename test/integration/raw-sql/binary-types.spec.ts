import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { timestampText } from '../../../src/base/time/iso-micros.js';
import { byteaArray, int4Array, int8Array, textArray, uuidArray } from '../../../src/raw-sql/binary-array.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { openBench, pidOf, statement, type Bench } from './harness.js';

/** Results come in the binary format, through a parser of our own; arrays go in it, made by hand. */

const MAX_EXACT = Number.MAX_SAFE_INTEGER;

let db: TestDatabase;
let bench: Bench;
let made = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  bench = await openBench(db, { poolSize: 1 });
});

afterAll(async () => {
  await bench.close();
  await db.drop();
});

async function fields(text: string, ...values: unknown[]): Promise<readonly unknown[]> {
  return bench.sql.callOne(statement(`s${made++}`, text), values);
}

const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

describe('bytea', () => {
  it('keeps every byte value, also what is no UTF-8', async () => {
    const [back, length] = await fields('select $1::bytea, octet_length($1::bytea)', allBytes);
    expect(back).toEqual(allBytes);
    expect(length).toBe(256);
  });

  it('keeps a megabyte, the empty value and null apart', async () => {
    const blob = Buffer.concat(Array.from({ length: 4096 }, () => allBytes));
    const [back, sum, empty, none] = await fields(
      'select $1::bytea, md5($1::bytea), $2::bytea, $3::bytea',
      ...[blob, Buffer.alloc(0), null],
    );
    expect((back as Buffer).equals(blob)).toBe(true);
    expect(sum).toBe((await db.query('select md5($1::bytea) as sum', [blob])).rows[0].sum);
    expect(empty).toEqual(Buffer.alloc(0));
    expect(none).toBeNull();
  });

  it('of an earlier row is not overwritten by a later one', async () => {
    const text = `select decode(repeat(lpad(to_hex(k), 2, '0'), 5000), 'hex') from generate_series(0, 255) k`;
    const rows = await bench.sql.call(statement('rows', text), []);
    rows.forEach(([bytes], k) => expect((bytes as Buffer).equals(Buffer.alloc(5000, k))).toBe(true));
    expect(rows).toHaveLength(256);
  });
});

describe('int8', () => {
  it.each([[0], [-1], [2147483648], [4294967296], [MAX_EXACT], [-MAX_EXACT]])(
    '%d is exact',
    async (value) => {
      expect(await fields('select $1::bigint', value)).toEqual([value]);
    },
  );

  it.each([['9007199254740992'], ['9223372036854775807'], ['-9007199254740992']])(
    '%s is refused and not rounded, and the connection stays good (field case A09)',
    async (value) => {
      const pid = await bench.sql.withConnection(null, pidOf);
      await expect(fields('select $1::bigint', value)).rejects.toMatchObject({ code: 'offset_too_large' });
      expect(await bench.sql.withConnection(null, pidOf)).toBe(pid);
    },
  );
});

describe('timestamptz', () => {
  it.each([
    ['2026-02-28T23:59:59.999999Z', 1772323199999999],
    ['1970-01-01T00:00:00.000001Z', 1],
    ['1999-12-31T23:59:59.999999Z', 946684799999999],
  ])('%s is microseconds since 1970', async (text, micros) => {
    expect(await fields('select $1::timestamptz', text)).toEqual([micros]);
    expect(await fields('select $1::timestamptz', timestampText(micros))).toEqual([micros]);
  });

  it('knows infinity, both ways', async () => {
    const [later, earlier] = await fields(`select 'infinity'::timestamptz, '-infinity'::timestamptz`);
    expect([later, earlier]).toEqual([Infinity, -Infinity]);
    expect(await fields('select $1::timestamptz', timestampText(-Infinity))).toEqual([-Infinity]);
  });
});

describe('other types', () => {
  it('of the procedures come back as what they are', async () => {
    const id = 'f0e1d2c3-b4a5-4687-9876-0123456789ab';
    const row = await fields(
      `select $1::uuid, true, false, 7::int2, -7::int4, 'grün 😀'::text, 'v'::varchar, 'n'::name, 1.5::float8,
         '{"a":[1,null,"\\u00e9"]}'::jsonb, '[1]'::json, null::jsonb, null::int, ''::text`,
      id,
    );
    expect(row).toEqual([
      ...[id, true, false, 7, -7, 'grün 😀', 'v', 'n', 1.5],
      ...[{ a: [1, null, 'é'] }, [1], null, null, ''],
    ]);
  });

  it('without a decoder fail by name instead of giving garbage', async () => {
    await expect(fields('select 1.5::numeric')).rejects.toMatchObject({
      cause: expect.objectContaining({ message: expect.stringContaining('no binary decoder') }),
    });
    expect(await fields('select 1')).toEqual([1]);
  });

  it('come the same way without named statements', async () => {
    const plain = await openBench(db, { poolSize: 1, namedStatements: false });
    const text = statement('plain', 'select $1::bytea, $2::bigint');
    for (const n of [1, 2]) expect(await plain.sql.callOne(text, [allBytes, n])).toEqual([allBytes, n]);
    const prepared = statement('prepared', 'select count(*)::int from pg_prepared_statements');
    expect(await plain.sql.callOne(prepared, [])).toEqual([0]);
    await plain.close();
  });
});

/** What the server made of an array: one row per element. */
async function elements(array: Buffer, type: string): Promise<unknown[]> {
  const text = `select e from unnest($1::${type}[]) with ordinality u(e, n) order by n`;
  const rows = await bench.sql.call(statement(`s${made++}`, text), [array]);
  return rows.map(([element]) => element);
}

describe('arrays', () => {
  it.each([
    ['text', 'plain'],
    ['text', ''],
    ['text', '😀 – é, "quoted", {braces}, back\\slash, NULL'],
    ['text', 'x'.repeat(100_000)],
  ])('of %s keep %.20s', async (type, value) => {
    expect(await elements(textArray([value, 'after']), type)).toEqual([value, 'after']);
  });

  it('of text keep nulls and emptiness', async () => {
    expect(await elements(textArray(['a', null, '', null]), 'text')).toEqual(['a', null, '', null]);
    expect(await elements(textArray([null]), 'text')).toEqual([null]);
    expect(await elements(textArray([]), 'text')).toEqual([]);
    const [none, count] = await fields(
      'select $1::text[] is null, cardinality($2::text[])',
      null,
      textArray([]),
    );
    expect([none, count]).toEqual([true, 0]);
  });

  it('of bytea keep every byte, nulls and emptiness', async () => {
    const values = [allBytes, Buffer.alloc(0), null, Buffer.from([0])];
    expect(await elements(byteaArray(values), 'bytea')).toEqual(values);
    expect(await elements(byteaArray([]), 'bytea')).toEqual([]);
    const large = [Buffer.alloc(1_048_576, 0xff), Buffer.alloc(1)];
    const back = (await elements(byteaArray(large), 'bytea')) as Buffer[];
    expect(back.map((bytes, k) => bytes.equals(large[k]))).toEqual([true, true]);
  });

  it('of numbers keep their bounds', async () => {
    const ints = [0, -1, 2147483647, -2147483648];
    expect(await elements(int4Array(ints), 'int')).toEqual(ints);
    expect(await elements(int4Array([]), 'int')).toEqual([]);
    const longs = [0, -1, 2147483648, MAX_EXACT, -MAX_EXACT];
    expect(await elements(int8Array(longs), 'bigint')).toEqual(longs);
    expect(await elements(int8Array([]), 'bigint')).toEqual([]);
  });

  it('of uuid keep their order', async () => {
    const ids = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff'];
    expect(await elements(uuidArray(ids), 'uuid')).toEqual(ids);
    expect(await elements(uuidArray([]), 'uuid')).toEqual([]);
  });
});
