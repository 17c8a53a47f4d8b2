import type pg from 'pg';
import type { TestDatabase } from './database.js';
import { waitFor } from './wait-for.js';

export interface StormOptions {
  sessions: number;
  /** Begin no round after so many milliseconds … */
  forMs?: number;
  /** … nor more than so many rounds per session … */
  rounds?: number;
  /** … nor any once this says no. */
  goesOn?: () => boolean;
}

export interface LockWait {
  /** `transactionid`, `tuple`, `advisory`, … */
  on: string;
  session: number;
}

export interface Storm {
  /** Of all sessions together. */
  rounds: number;
  /** SQLSTATE and message of every round that failed. */
  failures: string[];
  /**
   * Sessions seen waiting for a lock, one entry per sighting. PostgreSQL tells the statement of a session a moment
   * before its wait, so what waits is told apart by session: one that does a single thing.
   */
  lockWaits: LockWait[];
  /** How often each session was looked at. */
  looks: number;
}

/**
 * Sessions that do the same thing over and over, all at once. A failed round is noted and rolled back, the next one
 * goes on. The sessions are ended before this returns, so that their statistics are in pg_stat_database.
 */
export async function storm(
  db: TestDatabase,
  { sessions, forMs = Infinity, rounds = Infinity, goesOn = () => true }: StormOptions,
  work: (client: pg.Client, session: number, round: number) => Promise<unknown>,
): Promise<Storm> {
  const result: Storm = { rounds: 0, failures: [], lockWaits: [], looks: 0 };
  const observer = await db.connect({ application_name: 'observer' });
  const clients = await Promise.all(
    Array.from({ length: sessions }, (_, i) => db.connect({ application_name: `session ${i}` })),
  );
  const untilMs = performance.now() + forMs;
  let running = sessions;

  const loops = clients.map(async (client, session) => {
    for (let round = 0; round < rounds && performance.now() < untilMs && goesOn(); round++) {
      try {
        await work(client, session, round);
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        result.failures.push(`${code}: ${message}`);
        await client.query('rollback');
      }
      result.rounds++;
    }
    running--;
  });
  const watch = waitFor(
    async () => {
      const { rows } = await observer.query<LockWait>(
        `select wait_event as on, substr(application_name, 9)::int as session from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and application_name ~ '^session '`,
      );
      result.lockWaits.push(...rows);
      result.looks++;
      return running === 0;
    },
    { within: 60_000, what: `${sessions} sessions to finish` },
  );
  await Promise.all([...loops, watch]);
  await Promise.all([...clients, observer].map((client) => client.end()));
  return result;
}

/** Deadlocks in this database so far, of sessions that have ended. */
export async function deadlocks(db: TestDatabase): Promise<number> {
  const { rows } = await db.query<{ deadlocks: number }>(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  return rows[0].deadlocks;
}
