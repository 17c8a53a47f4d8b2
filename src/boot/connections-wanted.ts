import type { Environment } from '../base/config/environment.js';

/** Of one process beside its pool: two for hints, one for the probe, one for a statement to be cancelled. */
const BESIDE_THE_POOL = 4;
/** For people, the schema, and what PostgreSQL keeps for its superuser. */
const SPARE = 10;

/** What an embedded server allows when nobody wants more. */
export const EMBEDDED_CONNECTIONS = 200;

/** Connections that PostgreSQL must allow: each worker has a pool of its own. */
export function connectionsWanted(environment: Environment): number {
  return environment.QUEEN_WORKERS * (environment.DB_POOL_SIZE + BESIDE_THE_POOL) + SPARE;
}
