import type { SqlSession } from './sql-session.js';

/** Held by the one session that changes the schema; every build of every broker uses this number. */
export const SCHEMA_LOCK_KEY = 778_120_010;

/**
 * Asks for the lock without waiting in PostgreSQL. A session that waits there sits in an open transaction, whose
 * snapshot holds up vacuum and a concurrent index build of the very session it waits for.
 */
export async function trySchemaLock(session: SqlSession): Promise<boolean> {
  const { rows } = await session.query('select pg_try_advisory_lock($1) as locked', [SCHEMA_LOCK_KEY]);
  return rows[0]?.locked === true;
}

export async function schemaUnlock(session: SqlSession): Promise<void> {
  await session.query('select pg_advisory_unlock($1)', [SCHEMA_LOCK_KEY]);
}

/** Who holds it, in words for a log line: process, address, what it does. */
export async function describeHolder(session: SqlSession): Promise<string> {
  // A one-argument advisory lock shows its upper 32 bits as classid, its lower as objid, and 1 as objsubid.
  const { rows } = await session.query(
    `select l.pid, coalesce(host(a.client_addr), 'local') as address, a.application_name, a.state
       from pg_locks l left join pg_stat_activity a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and l.classid = 0 and l.objid = $1::bigint::oid
        and l.database = (select oid from pg_database where datname = current_database())`,
    [SCHEMA_LOCK_KEY],
  );
  const [holder] = rows;
  if (!holder) return 'nobody any more';
  return `backend ${String(holder.pid)} (${String(holder.application_name)} from ${String(holder.address)}, ${String(holder.state)})`;
}
