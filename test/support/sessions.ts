import type pg from 'pg';
import { processIdOf, type TestDatabase } from './database.js';
import { waitFor } from './wait-for.js';

type Rows = Record<string, unknown>[];

/**
 * Named sessions for interleavings: `const { s1, s2 } = await openSessions(db, ['s1', 's2'])`. Each is a connection
 * of its own, whose name shows in pg_stat_activity. `db.drop()` ends them, open transactions and all.
 */
export async function openSessions<const Name extends string>(
  db: TestDatabase,
  names: readonly Name[],
): Promise<Record<Name, TestSession>> {
  const observer = await db.connect({ application_name: 'observer' });
  const sessions = await Promise.all(
    names.map(async (name) => {
      const client = await db.connect({ application_name: name });
      return [name, new TestSession(name, client, observer)] as const;
    }),
  );
  return Object.fromEntries(sessions) as Record<Name, TestSession>;
}

export class TestSession {
  constructor(
    readonly name: string,
    readonly client: pg.Client,
    private readonly observer: pg.Client,
  ) {}

  /** The backend's process id. */
  get pid(): number {
    return processIdOf(this.client);
  }

  /** One statement from beginning to end. A step that is expected to wait is `start`ed instead. */
  async run(sql: string, values?: unknown[]): Promise<Rows> {
    return this.start(sql, values).result();
  }

  async begin(isolation = 'read committed'): Promise<void> {
    await this.run(`begin isolation level ${isolation}`);
  }

  async commit(): Promise<void> {
    await this.run('commit');
  }

  async rollback(): Promise<void> {
    await this.run('rollback');
  }

  /** Sends a statement and returns at once, with the step to observe. */
  start(sql: string, values?: unknown[]): Step {
    return new Step(this, this.observer, this.client.query<Record<string, unknown>>(sql, values));
  }
}

/** A statement under way in a session. */
export class Step {
  private settled = false;
  private readonly outcome: Promise<Rows>;

  constructor(
    private readonly session: TestSession,
    private readonly observer: pg.Client,
    query: Promise<pg.QueryResult<Record<string, unknown>>>,
  ) {
    this.outcome = query.then((result) => result.rows).finally(() => (this.settled = true));
    this.outcome.catch(() => undefined); // whoever asks for the result gets the error; nobody has to
  }

  /**
   * True as soon as the step is seen waiting for a lock of another session; false when it ended without, or is not
   * seen to wait within the limit. With `by`, only a wait for that session counts.
   */
  async isBlocked(by?: TestSession, within = 3000): Promise<boolean> {
    const seen = async () => {
      if (this.settled) return 'ended' as const;
      const { rows } = await this.observer.query<{ blockers: number[] }>(
        'select pg_blocking_pids($1) as blockers',
        [this.session.pid],
      );
      const blockers = rows[0]?.blockers ?? [];
      const counts = by === undefined ? blockers.length > 0 : blockers.includes(by.pid);
      return counts ? ('blocked' as const) : null;
    };
    const what = `a step of ${this.session.name} to block or end`;
    return (await waitFor(seen, { within, what }).catch(() => null)) === 'blocked';
  }

  /** The rows, or the error of the statement. Fails when the step does not end within the limit. */
  async result(within = 15_000): Promise<Rows> {
    return waitFor(this.outcome, { within, what: `a step of ${this.session.name} to end` });
  }

  /** Whether the step ends, well or with an error, within so many milliseconds. */
  async finishedWithin(ms: number): Promise<boolean> {
    const ended = waitFor(() => this.settled, { within: ms, what: `a step of ${this.session.name} to end` });
    return ended.catch(() => false);
  }
}
