import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.js';
import { SchemaApplier } from '../../src/schema/schema.applier.js';
import type { TestDatabase } from './database.js';

/** A PostgreSQL of the test's own, that it may stop and start: same address, same data. */
export interface OwnPostgres {
  /** To be lent to brokers. */
  readonly database: TestDatabase;
  readonly url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its files. For `afterAll`. */
  remove(): Promise<void>;
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  // Not called like the directory of the run's own server, which a later run would take for a leftover.
  const dataDir = await mkdtemp(join(tmpdir(), 'queen-nest-own-postgres-'));
  await chmod(dataDir, 0o755); // as root the server is another user, who must be able to enter
  const start = () =>
    startEmbeddedPostgres({
      dataDir,
      fsync: false,
      log: () => undefined,
      extraSettings: { max_connections: '100' },
    });
  let server: EmbeddedPostgres | null = await start();
  const { url } = server;
  const database = databaseAt(url);
  const connect = async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  };
  await new SchemaApplier(connect, () => undefined).apply();

  const stop = async () => {
    await server?.stop();
    server = null;
  };
  return {
    database,
    url,
    stop,
    async start() {
      server ??= await start();
      if (server.url !== url) throw new Error('PostgreSQL came back under another address');
    },
    async remove() {
      await stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A connection for each statement, since the server comes and goes. */
function databaseAt(url: string): TestDatabase {
  return {
    url,
    name: new URL(url).pathname.slice(1),
    async query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]) {
      const client = new pg.Client({ connectionString: url, application_name: 'test' });
      client.on('error', () => undefined);
      await client.connect();
      try {
        return await client.query<Row>(text, values);
      } finally {
        await client.end();
      }
    },
    connect: () => Promise.reject(new Error('a session would not survive the server')),
    expectNoSessions: () => Promise.resolve(),
    drop: () => Promise.resolve(),
  };
}
