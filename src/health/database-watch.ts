import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { Loop } from '../base/loop/loop.js';
import { clientConfig, DATABASE_OPTIONS, type DatabaseOptions } from '../raw-sql/database-options.js';

export type DatabaseVerdict = 'writable' | 'read-only' | 'no-schema' | 'disconnected';

const PERIOD_MS = 1000;
const LOOK_TIMEOUT_MS = 2000;

/**
 * Looks at the database once a second on a connection of its own and keeps the verdict, so that a probe answers from
 * memory: one that waited for a pooled connection would fail exactly when the pool is busy (field case A16), and a
 * TCP connection to a demoted server stays healthy (A18).
 */
@Injectable()
export class DatabaseWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private verdict: DatabaseVerdict = 'disconnected';
  private client: pg.Client | null = null;
  private readonly loop = new Loop('database watch', PERIOD_MS, () => this.look());

  constructor(@Inject(DATABASE_OPTIONS) private readonly options: DatabaseOptions) {}

  get current(): DatabaseVerdict {
    return this.verdict;
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.look();
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
    await this.client?.end().catch(() => undefined);
  }

  private async look(): Promise<void> {
    try {
      this.client ??= await this.connect();
      const { rows } = await this.client.query<{ writable: boolean; complete: boolean }>(
        `select not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'off' as writable,
                to_regclass('queen.schema_migrations') is not null as complete`,
      );
      const [{ writable, complete }] = rows;
      this.verdict = !writable ? 'read-only' : complete ? 'writable' : 'no-schema';
      // A session keeps the server and the defaults it was opened with; after a failover only a new one sees the change.
      if (this.verdict === 'read-only') this.drop();
    } catch {
      this.verdict = 'disconnected';
      this.drop();
    }
  }

  private async connect(): Promise<pg.Client> {
    const client = new pg.Client({
      ...clientConfig(this.options),
      connectionTimeoutMillis: LOOK_TIMEOUT_MS,
      query_timeout: LOOK_TIMEOUT_MS,
      application_name: 'queen-nest watch',
    });
    client.on('error', () => this.drop());
    await client.connect();
    return client;
  }

  private drop(): void {
    const client = this.client;
    this.client = null;
    client?.end().catch(() => undefined);
  }
}
