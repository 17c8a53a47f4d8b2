import { Logger } from '@nestjs/common';
import { SystemClock } from '../base/clock/clock.js';
import type { Environment } from '../base/config/environment.js';
import { PrimaryLink } from '../workers/primary-link.js';
import { processChannel } from '../workers/process-channel.js';
import { createBroker, type Broker } from './create-broker.js';
import { loggerFor } from './logger-for.js';

/**
 * One of the processes of QUEEN_WORKERS. Its database has been prepared by the primary process, which also says when the
 * port is free. Leaves when it is told to, or by a signal of its own (its place is then filled again). When the primary
 * process dies, Node ends this one at once, so that none is left behind on the port.
 */
export async function runWorker(environment: Environment): Promise<void> {
  let broker: Broker | undefined;
  let stopping: Promise<void> | undefined;
  const leave = (reason: string) => {
    stopping ??= stop(reason);
  };
  const stop = async (reason: string): Promise<void> => {
    const log = new Logger('Broker');
    log.debug(`${reason}: draining`);
    setTimeout(() => {
      log.error(`the drain took longer than ${environment.QUEEN_SHUTDOWN_GRACE_MS} ms; leaving now`);
      process.exit(1);
    }, environment.QUEEN_SHUTDOWN_GRACE_MS);
    // Before there is a broker there is nothing to finish.
    await broker?.close().catch((error: Error) => log.error(`shutdown failed: ${error.message}`));
    process.exit(0);
  };
  const link = new PrimaryLink(processChannel, new SystemClock(), leave);
  // Ctrl-C reaches every process of the terminal, and so do service managers that signal a whole group.
  process.on('SIGTERM', leave);
  process.on('SIGINT', leave);

  try {
    const { number, database } = await link.hello();
    const logger = loggerFor(environment, number);
    Logger.overrideLogger(logger);
    broker = await createBroker(environment, database, logger, link);
    const port = await link.prepared();
    await link.ready(await broker.listen(port));
  } catch (error) {
    if (stopping) return;
    await link.failed((error as Error).message);
    process.exit(1);
  }
}
