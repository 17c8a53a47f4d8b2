import { chmodSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { serverAccount } from './account.js';
import { adoptServer, wrongPassword, type AdoptedServer } from './adopt.js';
import { locateBinaries } from './binaries.js';
import { BrokerLock } from '../base/process-lock/broker-lock.js';
import {
  buildDatabaseUrl,
  loadAccess,
  newPassword,
  saveAccess,
  SERVER_DATABASE,
  SERVER_HOST,
  SERVER_USER,
  type SavedAccess,
} from './database-url.js';
import { hasCluster, initialiseCluster, resetPassword, type ClusterOptions } from './initialise.js';
import { choosePort, FIRST_PORT, isPortFree } from './port.js';
import { runCommand } from './run-command.js';
import { ensureDatabase } from './server-connection.js';
import { startServer, stopServer, type ServerSettings } from './server-process.js';
import { DEFAULT_SHELTER_DIR, placeCluster, reachableBinaries } from './shelter.js';
import { Supervisor } from './supervisor.js';
import { isAlive, type ProcessIdentity } from '../base/process-lock/process-identity.js';

export interface EmbeddedPostgresOptions {
  /** Holds the cluster (`pg`), the access (`database.url`, mode 0600) and the broker's lock. Made when missing. */
  dataDir: string;
  /** False only for tests: no fsync, no synchronous commit. Default true. */
  fsync?: boolean;
  log: (line: string) => void;
  /**
   * The server ended by itself and could not be started again, or too often: called once, with a sentence for the log.
   * Until then it is started again on the same port whenever it ends.
   */
  onGivenUp?: (reason: string) => void;
  /** PostgreSQL settings by name, over ours. They do not change a server that is adopted. */
  extraSettings?: Record<string, string>;
  /** Where root keeps what the server's user could not reach otherwise; see shelter.ts. */
  shelterDir?: string;
}

export interface EmbeddedPostgres {
  /** With the password: never to be logged. */
  url: string;
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  /** True when the server was still running, left behind by a broker that was killed. */
  adopted: boolean;
  /** Of the server that runs now. */
  readonly pid: number;
  /** Stops the server, adopted or not, and frees the data directory. A second call joins the first. */
  stop(): Promise<void>;
}

/**
 * A real PostgreSQL for a broker without a configured connection, its data kept in `dataDir` between runs.
 * Rejects with one sentence a person can act on: a second broker on the directory, files of another major version,
 * missing binaries, a directory that the server may not enter.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const binaries = locateBinaries();
  if (mkdirSync(dataDir, { recursive: true }) !== undefined) chmodSync(dataDir, 0o755);
  const lock = BrokerLock.acquire(dataDir);
  try {
    const server = await runServer({ ...options, dataDir }, binaries);
    lock.assertHeld();
    saveAccess(dataDir, server.access);
    const supervisor = new Supervisor(server.process, {
      isAlive,
      start: () => server.restart(server.access.port),
      log: options.log,
      onGivenUp: (reason) => options.onGivenUp?.(reason),
    });
    supervisor.begin();
    return handle(server, supervisor, async () => {
      await stopServer(await supervisor.end(), options.log);
      lock.release();
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

type RunningServer = AdoptedServer & {
  adopted: boolean;
  /** Starts the server anew where it was. */
  restart: (port: number) => Promise<ProcessIdentity>;
};

function handle(
  server: RunningServer,
  supervisor: Supervisor<ProcessIdentity>,
  stopOnce: () => Promise<void>,
): EmbeddedPostgres {
  let stopped: Promise<void> | null = null;
  return {
    url: buildDatabaseUrl(server.access),
    host: SERVER_HOST,
    port: server.access.port,
    user: SERVER_USER,
    password: server.access.password,
    database: SERVER_DATABASE,
    adopted: server.adopted,
    get pid() {
      return supervisor.current.pid;
    },
    stop: () => (stopped ??= stopOnce()),
  };
}

async function runServer(
  options: EmbeddedPostgresOptions,
  found: ReturnType<typeof locateBinaries>,
): Promise<RunningServer> {
  const { dataDir, log } = options;
  const durable = options.fsync ?? true;
  const shelterDir = options.shelterDir ?? DEFAULT_SHELTER_DIR;
  const account = serverAccount(ownerOf(join(dataDir, 'pg')), log);
  const place = placeCluster(dataDir, account, shelterDir, log);
  const { pgData } = place;

  const restart = async (port: number) => {
    const cluster = { pgData, binaries: await reachableBinaries(found, account, shelterDir, log), account };
    return startServer(cluster, settingsOf(options, port), startLogOf(dataDir), log);
  };
  const exists = hasCluster(pgData, found.major);
  const adopted = exists ? await adoptServer(dataDir, pgData, log) : null;
  if (adopted !== null) {
    log(`took over PostgreSQL (process ${adopted.process.pid}), left running by a broker that was killed`);
    return { ...adopted, adopted: true, restart };
  }

  const binaries = await reachableBinaries(found, account, shelterDir, log);
  const cluster: ClusterOptions = { pgData, binaries, account };
  const saved = exists ? loadAccess(dataDir) : null;
  const password = saved?.password ?? newPassword();
  if (!exists) {
    log(`creating a PostgreSQL ${binaries.major} database in ${pgData}`);
    await initialiseCluster({ ...cluster, password, durable });
    if (place.linkFrom !== null) symlinkSync(pgData, place.linkFrom);
  } else {
    await handToAccount(cluster);
    if (saved === null) await resetPassword(cluster, password);
  }
  const server = await startOnSomePort(options, cluster, { saved, password });
  try {
    await ensureDatabase(server.access);
  } catch (error) {
    await stopServer(server.process, log);
    throw (error as { code?: string }).code === '28P01'
      ? new Error(wrongPassword(dataDir), { cause: error })
      : error;
  }
  return { ...server, adopted: false, restart };
}

/**
 * Starts on the port of the last run, so that the URL stays the same, and elsewhere when another program has it.
 * The access is saved before each attempt: whoever dies from here on leaves a server that can be adopted.
 */
async function startOnSomePort(
  options: EmbeddedPostgresOptions,
  cluster: ClusterOptions,
  known: { saved: SavedAccess | null; password: string },
): Promise<AdoptedServer> {
  const { dataDir, log } = options;
  let wished: number | null = known.saved?.port ?? FIRST_PORT;
  for (let attempt = 1; ; attempt++) {
    const port = await choosePort(wished);
    if (known.saved !== null && port !== known.saved.port) {
      log(`port ${known.saved.port} is taken by another program: PostgreSQL moves to port ${port}`);
    }
    const access = { password: known.password, port };
    saveAccess(dataDir, access);
    try {
      const process = await startServer(cluster, settingsOf(options, port), startLogOf(dataDir), log);
      log(`PostgreSQL ${cluster.binaries.major} runs as process ${process.pid} on ${SERVER_HOST}:${port}`);
      return { process, access };
    } catch (error) {
      // Remains of a killed server hold its shared memory for a moment; a port can go between the look and the bind.
      const remains = /shared memory block/.test((error as Error).message);
      const portLost = !(await isPortFree(port));
      if (attempt >= 10 || !(remains || portLost)) throw error;
      if (portLost) wished = null;
      if (remains) await pause(500);
    }
  }
}

function settingsOf({ fsync, extraSettings }: EmbeddedPostgresOptions, port: number): ServerSettings {
  return { port, durable: fsync ?? true, extra: extraSettings ?? {} };
}

const startLogOf = (dataDir: string) => join(dataDir, 'postgres-start.log');

/** A cluster that root copied or restored belongs to root; the server's user must own it. */
async function handToAccount({ pgData, account }: ClusterOptions): Promise<void> {
  if (account === null || ownerOf(pgData)?.uid === account.uid) return;
  await runCommand('chown', ['-R', `${account.uid}:${account.gid}`, pgData], null);
}

function ownerOf(path: string): { uid: number; gid: number } | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null;
}
