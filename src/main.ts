import 'reflect-metadata';
import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import { loadEnvironment, unknownSettings } from './base/config/environment.js';
import { createBroker, type Broker } from './boot/create-broker.js';
import { databaseFrom, namesDatabase } from './boot/database-from.js';
import { printFirstSteps } from './boot/first-steps.js';
import { loggerFor } from './boot/logger-for.js';
import { lookAtDatabase } from './raw-sql/look-at-database.js';
import { prepareSchema } from './boot/prepare-schema.js';
import { runPrimary } from './boot/run-primary.js';
import { runWorker } from './boot/run-worker.js';
import { startEmbedded } from './boot/start-embedded.js';
import { StartingServer } from './boot/starting-server.js';
import type { EmbeddedPostgres } from './embedded-postgres/embedded-postgres.js';

/*
 * Boot: configuration → port, where probes are told that it starts → database (embedded when none is named) → schema →
 * application → listen. A signal ends it after the step under way, inside the schema after the file under way.
 * Shutdown: not ready → parked pops leave → work under way finishes → HTTP closes → pool closes → the embedded
 * server stops last, since everything before it may still write.
 */
async function main(): Promise<void> {
  const environment = loadEnvironment();
  if (cluster.isWorker) return runWorker(environment);
  if (environment.QUEEN_WORKERS > 1) return runPrimary(environment);
  const logger = loggerFor(environment);
  Logger.overrideLogger(logger);
  const log = new Logger('Broker');
  for (const warning of unknownSettings()) log.warn(warning);

  let embedded: EmbeddedPostgres | undefined;
  let starting = null as StartingServer | null;
  let broker: Broker | undefined;
  const leaving = new AbortController();
  let stopping: Promise<void> | undefined;
  const stop = async (reason: string): Promise<void> => {
    log.log(`${reason}: draining`);
    const late = setTimeout(() => {
      log.error(`the drain took longer than ${environment.QUEEN_SHUTDOWN_GRACE_MS} ms; leaving now`);
      process.exit(1);
    }, environment.QUEEN_SHUTDOWN_GRACE_MS);
    leaving.abort();
    await booted.catch((error: Error) => {
      if (error.name !== 'AbortError') log.error(`the start failed: ${error.message}`);
    });
    await starting?.close();
    await broker?.close();
    await embedded?.stop();
    clearTimeout(late);
    log.log('stopped');
  };
  const leave = (reason: string, exitCode: number) => {
    if (stopping) return; // a second signal changes nothing: the first is being obeyed
    stopping = stop(reason);
    stopping.then(
      () => process.exit(exitCode),
      (error: Error) => {
        log.error(`shutdown failed: ${error.message}`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', (signal) => leave(signal, 0));
  process.on('SIGINT', (signal) => leave(signal, 0));

  const booted = (async () => {
    const { signal } = leaving;
    starting = await StartingServer.open(environment);
    if (!namesDatabase(environment)) {
      embedded = await startEmbedded(environment, log, (reason) => {
        log.error(`the embedded PostgreSQL is lost: ${reason}`);
        leave('without a database', 1);
      });
    }
    signal.throwIfAborted();
    const database = await lookAtDatabase(databaseFrom(environment, embedded?.url));
    await prepareSchema(database, environment.QUEEN_APPLY_SCHEMA, signal);
    signal.throwIfAborted();
    broker = await createBroker(environment, database, logger);
    signal.throwIfAborted();
    await starting?.close();
    const port = await broker.listen();
    log.log(`listening on ${environment.QUEEN_BIND_ADDR}:${port}`);
    if (embedded) printFirstSteps(port, environment);
  })();
  try {
    await booted;
  } catch (error) {
    if (leaving.signal.aborted) return; // stop() waits for this, and ends the process
    await starting?.close();
    await broker?.close().catch(() => undefined);
    await embedded?.stop().catch(() => undefined);
    throw error;
  }
}

main().catch((error: Error) => {
  // Errors of configuration, embedded server and schema are whole sentences; a stack would bury them.
  process.stderr.write(`queen-nest cannot start: ${error.message}\n`);
  process.exit(1);
});
