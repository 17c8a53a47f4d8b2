import { Logger } from '@nestjs/common';
import { unknownSettings, type Environment } from '../base/config/environment.js';
import { createBroker, type Broker } from './create-broker.js';
import { loggerFor } from './logger-for.js';
import { Preparation } from './preparation.js';

/**
 * A broker in this process. Boot: port, where probes are told that it starts → database → schema → application → listen. A
 * signal ends it after the step under way.
 * Shutdown: not ready → parked pops leave → work under way finishes → HTTP closes → pool closes → the embedded
 * server stops last, since everything before it may still write.
 */
export async function runAlone(environment: Environment): Promise<void> {
  const logger = loggerFor(environment);
  Logger.overrideLogger(logger);
  const log = new Logger('Broker');
  for (const warning of unknownSettings()) log.warn(warning);

  let broker: Broker | undefined;
  const preparation = new Preparation(environment, log, () => leave('without a database', 1));
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
    await preparation.freePort();
    await broker?.close();
    await preparation.end();
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
    const database = await preparation.run(leaving.signal);
    broker = await createBroker(environment, database, logger);
    leaving.signal.throwIfAborted();
    await preparation.freePort();
    const port = await broker.listen();
    log.log(`listening on ${environment.QUEEN_BIND_ADDR}:${port}`);
    preparation.greet(port);
  })();
  try {
    await booted;
  } catch (error) {
    if (leaving.signal.aborted) return; // stop() waits for this, and ends the process
    await broker?.close().catch(() => undefined);
    await preparation.end().catch(() => undefined);
    throw error;
  }
}
