import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { waitFor } from './wait-for.js';

/** A database of its own for one test file: a clone of the run's template, with the schema applied and no data. */
export interface TestDatabase {
  url: string;
  name: string;
  /** One statement on a connection that is kept for such calls. */
  query<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>>;
  /** A connection of the test's own; ended by `drop` at the latest. */
  connect(options?: pg.ClientConfig): Promise<pg.Client>;
  /**
   * Fails when sessions are open that were not made by `query` or `connect`: the broker under test has not given
   * its connections back. Waits a moment first, since a backend ends after its client.
   */
  expectNoSessions(): Promise<void>;
  /** Ends our connections, checks for leaks, drops the database in any case. For `afterAll`. */
  drop(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Clone an empty database instead: for tests that apply the schema themselves. */
  empty?: boolean;
}

export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const adminUrl = fromSetup('QUEEN_TEST_ADMIN_URL');
  const template = fromSetup('QUEEN_TEST_TEMPLATE');
  const name = `${template}_${randomBytes(4).toString('hex')}`;
  await asAdmin(adminUrl, async (admin) => {
    const source = options.empty ? 'template0' : template;
    // Either takes 0.1 s without fsync; on a server that keeps it, file_copy takes four times as long as wal_log.
    await admin.query(`create database ${name} template ${source} strategy wal_log`);
  });
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return new ClonedDatabase(url.href, name, adminUrl);
}

class ClonedDatabase implements TestDatabase {
  private readonly clients: pg.Client[] = [];
  private shared: Promise<pg.Client> | null = null;

  constructor(
    readonly url: string,
    readonly name: string,
    private readonly adminUrl: string,
  ) {}

  async query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<pg.QueryResult<Row>> {
    const client = await (this.shared ??= this.connect());
    return client.query<Row>(text, values);
  }

  async connect(options: pg.ClientConfig = {}): Promise<pg.Client> {
    const client = new pg.Client({ application_name: 'test', ...options, connectionString: this.url });
    client.on('error', () => undefined); // a test may kill its backends; the statement under way tells
    await client.connect();
    this.clients.push(client);
    return client;
  }

  async expectNoSessions(): Promise<void> {
    await asAdmin(this.adminUrl, async (admin) => {
      const ours = this.clients.map((client) => processIdOf(client));
      let open: string[] = [];
      const noneLeft = async () => {
        const { rows } = await admin.query<{ pid: number; session: string }>(
          `select pid, concat_ws(' | ', application_name, state, wait_event, left(query, 200)) as session
             from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
          [this.name],
        );
        open = rows.filter(({ pid }) => !ours.includes(pid)).map(({ session }) => session);
        return open.length === 0;
      };
      await waitFor(noneLeft, { within: 3000, what: 'foreign sessions to end' }).catch(() => {
        throw new Error(`${open.length} sessions are still open on ${this.name}:\n  ${open.join('\n  ')}`);
      });
    });
  }

  async drop(): Promise<void> {
    try {
      await this.expectNoSessions();
    } finally {
      await Promise.all(this.clients.map((client) => client.end().catch(() => undefined)));
      await asAdmin(this.adminUrl, (admin) =>
        admin.query(`drop database if exists ${this.name} with (force)`),
      );
    }
  }
}

/** The backend's process id: pg has it, its types do not. */
export function processIdOf(client: pg.Client): number {
  const { processID } = client as unknown as { processID: number | null };
  return processID ?? 0;
}

async function asAdmin<T>(adminUrl: string, use: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: adminUrl, application_name: 'test admin' });
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.end();
  }
}

function fromSetup(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(
    `${name} is not set: this test needs the global setup of the "database" project of jest.config.mjs.`,
  );
}
