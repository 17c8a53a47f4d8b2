import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { SampledLogger } from '../base/log/sampled-logger.js';

/** For log, spool, certificates, listening sockets and what Node itself has open. */
const FILES_OF_OUR_OWN = 64;
/** A broker that takes nobody could not be asked for its health either. */
const CONNECTIONS_MIN = 16;

/** Files this process may have open at once; null where that cannot be read. Node has raised it to the hard limit. */
export function fileLimit(read = () => readFileSync('/proc/self/limits', 'utf8')): number | null {
  try {
    const soft = /^Max open files +(\d+)/m.exec(read())?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}

/** Connections that leave enough files for the database pool and ourselves. */
export function connectionsFor(files: number, poolSize: number): number {
  return Math.max(CONNECTIONS_MIN, files - poolSize - FILES_OF_OUR_OWN);
}

/**
 * A connection costs a file. Without a bound a crowd of them would take the files that database connections need, and
 * every request would fail; beyond the bound new connections are closed at once, and those that are there go on.
 */
export function limitConnections(server: Server, poolSize: number, files = fileLimit()): void {
  const logger = new SampledLogger('Http');
  if (files !== null) {
    server.maxConnections = connectionsFor(files, poolSize);
    server.on('drop', () =>
      logger.warn(
        'drop',
        `a connection was closed: ${server.maxConnections} are open, raise the file limit (ulimit -n)`,
      ),
    );
  }
  // Accepting can fail all the same, when the whole machine is short of files. Unheard, it would end the process.
  server.on('error', (error) => {
    if (server.listening) logger.error('accept', `a connection could not be accepted: ${error.message}`);
  });
}
