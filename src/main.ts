import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { loadEnvironment, unknownSettings, type Environment } from './base/config/environment.js';
import { createBroker, type Broker } from './boot/create-broker.js';
import { databaseFrom, namesDatabase } from './boot/database-from.js';
import { prepareSchema } from './boot/prepare-schema.js';
import { BrokerLogger } from './boot/broker-logger.js';
import type { EmbeddedPostgres } from './embedded-postgres/embedded-postgres.js';

/*
 * Boot: configuration → database (embedded when none is named) → schema → application → listen.
 * Shutdown: not ready → parked pops leave → work under way finishes → HTTP closes → pool closes → the embedded
 * server stops last, since everything before it may still write.
 */
async function main(): Promise<void> {
  const environment = loadEnvironment();
  const logger = new BrokerLogger(environment.LOG_LEVEL);
  Logger.overrideLogger(logger);
  const log = new Logger('Broker');
  for (const warning of unknownSettings()) log.warn(warning);

  let embedded: EmbeddedPostgres | undefined;
  let broker: Broker | undefined;
  let stopping: Promise<void> | undefined;
  const stop = async (reason: string): Promise<void> => {
    log.log(`${reason}: draining`);
    const late = setTimeout(() => {
      log.error(`the drain took longer than ${environment.QUEEN_SHUTDOWN_GRACE_MS} ms; leaving now`);
      process.exit(1);
    }, environment.QUEEN_SHUTDOWN_GRACE_MS);
    await broker?.close();
    await embedded?.stop();
    clearTimeout(late);
    log.log('stopped');
  };
  const onSignal = (signal: string) => {
    if (stopping) return; // a second signal changes nothing: the first is being obeyed
    stopping = booted.catch(() => undefined).then(() => stop(signal));
    stopping.then(
      () => process.exit(0),
      (error: Error) => {
        log.error(`shutdown failed: ${error.message}`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);

  const booted = (async () => {
    if (!namesDatabase(environment)) embedded = await startEmbedded(environment, log);
    const database = databaseFrom(environment, embedded?.url);
    await prepareSchema(database, environment.QUEEN_APPLY_SCHEMA);
    broker = await createBroker(environment, database, logger);
    const port = await broker.listen();
    log.log(`listening on ${environment.QUEEN_BIND_ADDR}:${port}`);
    if (embedded) printFirstSteps(port);
  })();
  try {
    await booted;
  } catch (error) {
    await broker?.close().catch(() => undefined);
    await embedded?.stop().catch(() => undefined);
    throw error;
  }
}

async function startEmbedded(environment: Environment, log: Logger): Promise<EmbeddedPostgres> {
  log.log(
    `no database is named (DATABASE_URL or PG_HOST): using an embedded PostgreSQL in ${environment.QUEEN_DATA_DIR}`,
  );
  const { startEmbeddedPostgres } = await import('./embedded-postgres/embedded-postgres.js');
  return startEmbeddedPostgres({ dataDir: environment.QUEEN_DATA_DIR, log: (line) => log.log(line) });
}

function printFirstSteps(port: number): void {
  const base = `http://localhost:${port}`;
  process.stdout.write(
    [
      '',
      `queen-nest is ready on ${base}. Push a message and pop it:`,
      '',
      `  curl -s ${base}/api/v1/push -d '{"items":[{"queue":"orders","partition":"customer-1","payload":{"hello":"world"}}]}'`,
      `  curl -s '${base}/api/v1/pop/queue/orders?consumerGroup=billing&autoAck=true'`,
      '',
      'Ctrl-C stops it; the data stays.',
      '',
    ].join('\n'),
  );
}

main().catch((error: Error) => {
  // Errors of configuration, embedded server and schema are whole sentences; a stack would bury them.
  process.stderr.write(`queen-nest cannot start: ${error.message}\n`);
  process.exit(1);
});
