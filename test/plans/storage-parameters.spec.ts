import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

async function parametersOf(table: string, toast = false): Promise<Record<string, string>> {
  const { rows } = await db.query<{ reloptions: string[] | null }>(
    `select ${toast ? 't' : 'c'}.reloptions
     from pg_class c left join pg_class t on t.oid = c.reltoastrelid where c.oid = $1::regclass`,
    [`queen.${table}`],
  );
  return Object.fromEntries(
    (rows[0].reloptions ?? []).map((option) => option.split('=') as [string, string]),
  );
}

/** The columns an index depends on: its keys, and what its expressions and its condition name. */
async function indexesOf(table: string): Promise<string[]> {
  const { rows } = await db.query<{ columns: string }>(
    `select string_agg(distinct a.attname, ', ' order by a.attname) as columns
     from pg_index i
     join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
       and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid and d.refobjsubid > 0
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = d.refobjsubid
     where i.indrelid = $1::regclass and not i.indisunique group by i.indexrelid
     union all
     select string_agg(a.attname, ', ' order by k.ord)
     from pg_index i
     cross join unnest(i.indkey) with ordinality k(attnum, ord)
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
     where i.indrelid = $1::regclass and i.indisunique group by i.indexrelid
     order by 1`,
    [`queen.${table}`],
  );
  return rows.map(({ columns }) => columns);
}

describe('the two tables that every push, pop and ack updates', () => {
  it.each([
    ['log_partitions', '70'],
    ['log_consumers', '50'],
  ])(
    '%s is never truncated by vacuum (Z12), is vacuumed by count, and leaves room in its pages',
    async (table, fill) => {
      expect(await parametersOf(table)).toEqual({
        fillfactor: fill,
        vacuum_truncate: 'off',
        autovacuum_vacuum_scale_factor: '0',
        autovacuum_vacuum_threshold: '500',
        autovacuum_vacuum_cost_delay: '0',
      });
    },
  );

  it('index nothing that a push, a pop or an ack changes, but for the write time', async () => {
    const indexed = (await indexesOf('log_partitions')).flatMap((columns) => columns.split(', '));
    expect(indexed).toContain('last_write_at');
    for (const hot of ['last_offset', 'log_start', 'txns_start']) expect(indexed).not.toContain(hot);
    expect(await indexesOf('log_consumers')).toEqual(['partition_id, consumer_group']);
  });
});

describe('the tables that are written once', () => {
  it('are vacuumed by share, the large values as well', async () => {
    const segments = {
      autovacuum_vacuum_scale_factor: '0.1',
      autovacuum_vacuum_insert_scale_factor: '0.3',
      autovacuum_vacuum_cost_limit: '4000',
      autovacuum_vacuum_cost_delay: '0',
    };
    expect(await parametersOf('log_segments')).toEqual(segments);
    expect(await parametersOf('log_segments', true)).toEqual(segments);
    expect(await parametersOf('log_txns')).toMatchObject({
      autovacuum_vacuum_scale_factor: '0.1',
      autovacuum_vacuum_insert_scale_factor: '0.3',
      autovacuum_vacuum_cost_delay: '0',
    });
  });

  it('are found by their primary key alone', async () => {
    expect(await indexesOf('log_segments')).toEqual(['partition_id, base_offset']);
    expect(await indexesOf('log_txns')).toEqual(['partition_id, base_offset']);
  });

  it.each([
    ['log_segments', 'blob'],
    ['log_txns', 'hashes'],
  ])('%s.%s is stored without a second try to compress it', async (table, column) => {
    const { rows } = await db.query(
      'select attstorage::text from pg_attribute where attrelid = $1::regclass and attname = $2',
      [`queen.${table}`, column],
    );
    expect(rows).toEqual([{ attstorage: 'e' }]);
  });

  it('have no foreign key where purging would pay for it', async () => {
    const { rows } = await db.query(
      `select conrelid::regclass::text as table from pg_constraint
       where contype = 'f' and conrelid in ('queen.log_txns'::regclass, 'queen.log_dlq'::regclass)`,
    );
    expect(rows).toEqual([]);
  });
});
