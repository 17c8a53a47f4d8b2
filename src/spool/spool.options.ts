import type { Environment } from '../base/config/environment.js';

export interface SpoolOptions {
  enabled: boolean;
  /** Directories to choose from, the first that can be written wins; one when the operator named it. */
  directories: readonly string[];
  drainEveryMs: number;
  /** Messages replayed together. */
  batchMax: number;
  eventsPerFile: number;
  /** Disk space of all files. */
  bytesMax: number;
  strictOrder: boolean;
}

export const SPOOL_OPTIONS = Symbol('SpoolOptions');

const SYSTEM_DIRECTORY = '/var/lib/queen/buffers';

export function spoolOptions(environment: Environment): SpoolOptions {
  return {
    enabled: environment.QUEEN_SPOOL,
    directories: directories(environment),
    drainEveryMs: environment.FILE_BUFFER_FLUSH_MS,
    batchMax: environment.FILE_BUFFER_MAX_BATCH,
    eventsPerFile: environment.FILE_BUFFER_EVENTS_PER_FILE,
    bytesMax: environment.FILE_BUFFER_MAX_BYTES,
    strictOrder: environment.QUEEN_SPOOL_STRICT_ORDER,
  };
}

/** What waits for an embedded database stays beside it: another data directory is another database. */
function directories(environment: Environment): string[] {
  if (environment.FILE_BUFFER_DIR !== '') return [environment.FILE_BUFFER_DIR];
  const beside = `${environment.QUEEN_DATA_DIR}/buffers`;
  const isEmbedded = environment.DATABASE_URL === '' && environment.PG_HOST === '';
  return isEmbedded ? [beside] : [SYSTEM_DIRECTORY, beside];
}
