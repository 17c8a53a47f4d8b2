import type { TestDatabase } from './database.js';
import { waitFor } from './wait-for.js';

/**
 * Backends of the broker that wait for a lock. Asked outside of any transaction: inside one, PostgreSQL shows the
 * sessions as they were when they were first looked at.
 */
export async function blockedBackends(db: TestDatabase): Promise<number[]> {
  const { rows } = await db.query<{ pid: number }>(
    `select pid from pg_stat_activity
       where datname = current_database() and application_name like 'queen-nest%' and wait_event_type = 'Lock'`,
  );
  return rows.map(({ pid }) => pid);
}

/** Waits until so many statements of the broker are held up, and gives their backends. */
export async function untilBlocked(db: TestDatabase, count: number): Promise<number[]> {
  const exactly = async () => {
    const backends = await blockedBackends(db);
    return backends.length === count ? backends : null;
  };
  return waitFor(exactly, { within: 30_000, what: `${count} statements of the broker to wait for a lock` });
}
