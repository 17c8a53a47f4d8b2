import type { Logger } from '@nestjs/common';
import type { Environment } from '../base/config/environment.js';
import type { EmbeddedPostgres } from '../embedded-postgres/embedded-postgres.js';
import type { DatabaseOptions } from '../raw-sql/database-options.js';
import { lookAtDatabase } from '../raw-sql/look-at-database.js';
import { databaseFrom, namesDatabase } from './database-from.js';
import { printFirstSteps } from './first-steps.js';
import { prepareSchema } from './prepare-schema.js';
import { startEmbedded } from './start-embedded.js';
import { StartingServer } from './starting-server.js';

/**
 * What exists once, however many processes serve: the port, where probes are told that the broker starts; the database,
 * embedded when none is named; its schema.
 */
export class Preparation {
  private starting: StartingServer | null = null;
  private embedded: EmbeddedPostgres | undefined;

  constructor(
    private readonly environment: Environment,
    private readonly log: Logger,
    /** The embedded server is gone and will not come back. */
    private readonly databaseLost: () => void,
  ) {}

  /** Ends with an AbortError after the step under way, inside the schema after the file under way. */
  async run(signal: AbortSignal): Promise<DatabaseOptions> {
    this.starting = await StartingServer.open(this.environment);
    if (!namesDatabase(this.environment)) {
      this.embedded = await startEmbedded(this.environment, this.log, (reason) => {
        this.log.error(`the embedded PostgreSQL is lost: ${reason}`);
        this.databaseLost();
      });
    }
    signal.throwIfAborted();
    const database = await lookAtDatabase(databaseFrom(this.environment, this.embedded?.url));
    await prepareSchema(database, this.environment.QUEEN_APPLY_SCHEMA, signal);
    signal.throwIfAborted();
    return database;
  }

  /** For whoever listens on it now. */
  async freePort(): Promise<void> {
    await this.starting?.close();
  }

  /** What a person at a terminal may try first. */
  greet(port: number): void {
    if (this.embedded) printFirstSteps(port, this.environment);
  }

  /** When nobody needs the database any more. */
  async end(): Promise<void> {
    await this.freePort();
    await this.embedded?.stop();
  }
}
