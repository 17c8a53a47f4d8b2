import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.js';
import { locateBinaries, postgresOf } from '../../src/embedded-postgres/binaries.js';
import { spawnOptions } from '../../src/embedded-postgres/run-command.js';
import { serverArguments } from '../../src/embedded-postgres/server-process.js';
import { DEFAULT_SHELTER_DIR, reachableBinaries } from '../../src/embedded-postgres/shelter.js';
import { SchemaApplier } from '../../src/schema/schema.applier.js';
import type { TestDatabase } from './database.js';
import { waitFor } from './wait-for.js';

/** A PostgreSQL of the test's own, that it may stop and start: same address, same data. */
export interface OwnPostgres {
  /** To be lent to brokers. */
  readonly database: TestDatabase;
  readonly url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Every process of it ends at once, as in a crash, and it is started again. */
  crash(): Promise<void>;
  /** None of its processes moves any more, and connections are neither taken nor refused; `thaw` ends it. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Stopped and started again as a standby of nobody, on the same data at the same address: the primary was demoted. */
  demote(): Promise<void>;
  /** The standby takes writes again, without a restart. */
  promote(): Promise<void>;
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
      log: () => undefined,
      // What is committed outlives a crash of the server, as in production; only that of the machine is left out.
      extraSettings: { fsync: 'off', max_connections: '100' },
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

  let standby: ChildProcess | null = null;
  let frozen: number[] = [];
  const thaw = () => {
    for (const pid of frozen.splice(0)) signal(pid, 'SIGCONT');
  };
  const stop = async () => {
    thaw();
    await server?.stop();
    server = null;
    if (standby === null) return;
    const exited = once(standby, 'exit');
    standby.kill('SIGINT');
    await exited;
    standby = null;
  };
  return {
    database,
    url,
    stop,
    async start() {
      server ??= await start();
      if (server.url !== url) throw new Error('PostgreSQL came back under another address');
    },
    async crash() {
      process.kill(server!.pid, 'SIGQUIT');
      await stop();
      server = await start();
    },
    async freeze() {
      const { rows } = await database.query<{ pid: number }>('select pid from pg_stat_activity');
      frozen = [server!.pid, ...rows.map(({ pid }) => pid)];
      for (const pid of frozen) signal(pid, 'SIGSTOP');
    },
    thaw,
    async demote() {
      await stop();
      standby = await startStandby(join(dataDir, 'pg'), Number(new URL(url).port));
      await waitFor(async () => (await database.query('select 1')).rowCount === 1, {
        within: 60_000,
        what: 'the standby to answer',
      });
    },
    async promote() {
      await database.query('select pg_promote(true, 60)');
    },
    async remove() {
      await stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A backend of the list may have ended by itself. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** As its owner, since PostgreSQL refuses to run as root. */
async function startStandby(pgData: string, port: number): Promise<ChildProcess> {
  const { uid, gid } = statSync(pgData);
  await writeFile(join(pgData, 'standby.signal'), '');
  await chown(join(pgData, 'standby.signal'), uid, gid);
  const settings = { port, durable: false, extra: { max_connections: '100' } };
  const account = process.getuid?.() === 0 ? { uid, gid, name: 'owner' } : null;
  // A checkout that only root may enter: the programs are then run from a copy, as the embedded server's are.
  const binaries = await reachableBinaries(locateBinaries(), account, DEFAULT_SHELTER_DIR, () => undefined);
  return spawn(postgresOf(binaries), serverArguments(pgData, settings), {
    ...spawnOptions(account),
    stdio: 'ignore',
  });
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
