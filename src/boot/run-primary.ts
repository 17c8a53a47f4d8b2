import { Logger } from '@nestjs/common';
import { SystemClock } from '../base/clock/clock.js';
import { unknownSettings, type Environment } from '../base/config/environment.js';
import type { DatabaseOptions } from '../raw-sql/database-options.js';
import { forkWorker } from '../workers/fork-worker.js';
import { GatheredMetrics } from '../workers/gathered-metrics.js';
import { Supervisor } from '../workers/supervisor.js';
import { connectionRoom } from '../raw-sql/connection-room.js';
import { connectionsWanted } from './connections-wanted.js';
import { loggerFor } from './logger-for.js';
import { Preparation } from './preparation.js';

/** npm hands a Ctrl-C on to a process that the terminal has told already; nobody means it twice so soon. */
const SAME_SIGNAL_MS = 1000;
/** The workers have the grace period themselves; this is for one that cannot even look at its clock. */
const HUNG_WORKER_MS = 1000;

/**
 * The process that starts the others (QUEEN_WORKERS). It prepares what exists once: the embedded server, the schema, the
 * port while both are not ready. It serves no request and sends no statement afterwards; a worker that ends is replaced.
 * A signal drains the workers and stops the embedded server last; a second one ends the workers at once.
 */
export async function runPrimary(environment: Environment): Promise<void> {
  Logger.overrideLogger(loggerFor(environment));
  const log = new Logger('Broker');
  for (const warning of [...unknownSettings(), ...groupWarnings(environment)]) log.warn(warning);
  // While a worker's place is empty nothing else might keep this process alive.
  setInterval(() => undefined, 60_000);

  let database: DatabaseOptions;
  const preparation = new Preparation(environment, log, () => {
    if (leftAtMs === null) leave('without a database', 1);
  });
  const leaving = new AbortController();
  const clock = new SystemClock();
  const metrics: GatheredMetrics = new GatheredMetrics(() => supervisor.ready, clock);
  const supervisor = new Supervisor({
    workers: environment.QUEEN_WORKERS,
    port: environment.PORT,
    clock,
    fork: forkWorker,
    assignment: (number) => ({ number, database }),
    freePort: () => preparation.freePort(),
    heard: (worker, message) => {
      if (message.kind === 'report') metrics.report(worker, message.id, message.metrics);
      else if (message.kind === 'gather') {
        const { id } = message;
        void metrics.gather().then((gathered) => worker.send({ kind: 'gathered', id, metrics: gathered }));
      }
    },
    left: (worker) => metrics.left(worker),
    log,
  });

  let isPreparing = true;
  /** Ends the workers; stop() then goes on, unless the database is still being prepared. */
  const leaveNow = () => {
    supervisor.kill();
    if (isPreparing) process.exit(1);
  };
  const stop = async (reason: string): Promise<boolean> => {
    log.log(`${reason}: draining`);
    const late = setTimeout(() => {
      log.error(`the drain took longer than ${environment.QUEEN_SHUTDOWN_GRACE_MS} ms; leaving now`);
      leaveNow();
    }, environment.QUEEN_SHUTDOWN_GRACE_MS + HUNG_WORKER_MS);
    leaving.abort();
    const drained = supervisor.drain(reason);
    await booted.catch((error: Error) => {
      if (error.name !== 'AbortError') log.error(`the start failed: ${error.message}`);
    });
    const isClean = await drained;
    clearTimeout(late);
    await preparation.end();
    log.log('stopped');
    return isClean;
  };
  let leftAtMs: number | null = null;
  const leave = (reason: string, exitCode: number) => {
    leftAtMs = clock.monoMs();
    stop(reason).then(
      (isClean) => process.exit(isClean ? exitCode : 1),
      (error: Error) => {
        log.error(`shutdown failed: ${error.message}`);
        process.exit(1);
      },
    );
  };
  const onSignal = (signal: string) => {
    if (leftAtMs === null) return leave(signal, 0);
    if (clock.monoMs() - leftAtMs < SAME_SIGNAL_MS) return;
    log.warn(`${signal} again: leaving now`);
    leaveNow();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);

  const booted = (async () => {
    database = await preparation.run(leaving.signal);
    await warnOfNarrowDatabase(environment, database, log);
    isPreparing = false;
    const port = await supervisor.start();
    if (port === null || leaving.signal.aborted) return;
    log.log(`listening on ${environment.QUEEN_BIND_ADDR}:${port} with ${environment.QUEEN_WORKERS} workers`);
    preparation.greet(port);
  })();
  try {
    await booted;
  } catch (error) {
    if (leaving.signal.aborted) return; // stop() waits for this, and ends the process
    await preparation.end().catch(() => undefined);
    throw error;
  }
}

/** What of the configuration does not go well with several workers. */
export function groupWarnings(environment: Environment): string[] {
  if (environment.QUEEN_WORKERS === 1 || environment.QUEEN_HINT_BUS !== 'off') return [];
  return [
    'QUEEN_HINT_BUS=off with several workers: a message pushed to one worker reaches pops parked at another only when ' +
      `that one looks for itself, every ${environment.QUEEN_HOTLIST_RESEED_MS} ms (QUEEN_HOTLIST_RESEED_MS)`,
  ];
}

async function warnOfNarrowDatabase(
  environment: Environment,
  database: DatabaseOptions,
  log: Logger,
): Promise<void> {
  if (database.pooled) return; // the pooler decides how many reach PostgreSQL
  const [wanted, room] = [connectionsWanted(environment), await connectionRoom(database)];
  if (wanted <= room) return;
  log.warn(
    `${environment.QUEEN_WORKERS} workers with a pool of ${environment.DB_POOL_SIZE} each may want ${wanted} connections, ` +
      `PostgreSQL allows ${room}: lower DB_POOL_SIZE or raise max_connections`,
  );
}
