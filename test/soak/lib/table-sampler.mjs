/** The tables that every push, pop and ack changes in place. */
export const HOT_TABLES = ['log_partitions', 'log_consumers'];
const GROWING_TABLES = ['log_segments', 'log_txns'];

/** @returns one sample: what was pushed and consumed so far, and how each table stands */
export async function sampleTables(sql) {
  const { rows } = await sql.query(
    `select c.relname as name, pg_table_size(c.oid)::float8 as table_bytes, pg_indexes_size(c.oid)::float8 as index_bytes,
            s.n_dead_tup::float8 as dead, s.n_live_tup::float8 as live, s.n_tup_upd::float8 as updates, s.n_tup_hot_upd::float8 as hot
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_stat_all_tables s on s.relid = c.oid
      where n.nspname = 'queen' and c.relname = any ($1)`,
    [[...HOT_TABLES, ...GROWING_TABLES]],
  );
  const { rows: counts } = await sql.query(
    `select (select coalesce(sum(last_offset + 1), 0) from queen.log_partitions)::float8 as pushed,
            (select coalesce(sum(total_consumed), 0) from queen.log_consumers)::float8 as consumed`,
  );
  const tables = Object.fromEntries(
    rows.map(({ name, table_bytes: tableBytes, index_bytes: indexBytes, ...rest }) => [
      name,
      { tableBytes, indexBytes, ...rest },
    ]),
  );
  return { ...counts[0], tables };
}
