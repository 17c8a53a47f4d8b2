import type { Logger } from '@nestjs/common';
import type { Environment } from '../base/config/environment.js';
import type { EmbeddedPostgres } from '../embedded-postgres/embedded-postgres.js';
import { connectionsWanted, EMBEDDED_CONNECTIONS } from './connections-wanted.js';

/**
 * The PostgreSQL of a broker that is told of none, with room for the connections of all its processes.
 * @param onGivenUp the server ended and does not come back; called once, with a sentence for the log
 */
export async function startEmbedded(
  environment: Environment,
  log: Logger,
  onGivenUp: (reason: string) => void,
): Promise<EmbeddedPostgres> {
  log.log(
    `no database is named (DATABASE_URL or PG_HOST): using an embedded PostgreSQL in ${environment.QUEEN_DATA_DIR}`,
  );
  const { startEmbeddedPostgres } = await import('../embedded-postgres/embedded-postgres.js');
  const connections = Math.max(EMBEDDED_CONNECTIONS, connectionsWanted(environment));
  return startEmbeddedPostgres({
    dataDir: environment.QUEEN_DATA_DIR,
    log: (line) => log.log(line),
    onGivenUp,
    extraSettings: connections === EMBEDDED_CONNECTIONS ? {} : { max_connections: String(connections) },
  });
}
