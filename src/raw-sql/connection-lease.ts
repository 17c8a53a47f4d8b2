import type { QueryRunner } from 'typeorm';
import { BrokerError } from '../base/errors/broker-error.js';
import type { Procedure } from './procedure.js';
import { statementFailure } from './sql-failure.js';

/** What a feature may do with a connection while it has one. */
export interface SqlConnection {
  /** Runs a stored procedure: one statement, one transaction unless `begin` came before. */
  call<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row[]>;
  /** The first row, for procedures that always return exactly one. */
  callOne<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row>;
}

export interface LeaseHooks {
  statementTimeoutMs: number;
  namedStatements: boolean;
  /** Called on a timeout, before the connection is destroyed. */
  cancel(client: unknown): void;
  onStatement(ms: number, failed: boolean): void;
  onQuarantine(reason: string): void;
}

interface BinaryQuery {
  name?: string;
  text: string;
  values: unknown[];
  rowMode: 'array';
  binary: true;
}

/**
 * One query runner's life: given out, used, then released or quarantined exactly once. A connection is quarantined
 * (destroyed, never handed out again) when bytes of an abandoned statement could still arrive on it, or when the
 * server behind it can no longer write.
 */
export class ConnectionLease implements SqlConnection {
  private poison: Error | null = null;
  private firstFailure: Error | null = null;

  constructor(
    private readonly runner: QueryRunner,
    private readonly client: unknown,
    private readonly hooks: LeaseHooks,
  ) {}

  async call<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row[]> {
    const query: BinaryQuery = {
      ...(this.hooks.namedStatements ? { name: procedure.name } : {}),
      text: procedure.text,
      values: procedure.values(args),
      rowMode: 'array',
      binary: true,
    };
    const rows = await this.run(query);
    return rows.map((fields) => procedure.row(fields));
  }

  async callOne<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row> {
    const rows = await this.call(procedure, args);
    if (rows.length !== 1)
      throw new BrokerError('internal', `${procedure.name} returned ${rows.length} rows`);
    return rows[0]!;
  }

  /** Ends the lease. After a transaction that may be half done, pass the reason: the connection is destroyed. */
  async end(): Promise<void> {
    const poison = this.poison;
    if (!poison) return this.runner.release();
    this.hooks.onQuarantine(poison.message);
    // TypeORM's plain release() gives the connection back to the pool; with an error the pool destroys it.
    const quarantining = this.runner as QueryRunner & {
      releasePostgresConnection(error: Error): Promise<void>;
    };
    await quarantining.releasePostgresConnection(poison);
  }

  quarantine(reason: Error): void {
    this.poison ??= reason;
  }

  /**
   * Throws the first failure of this lease. Before a commit: after a failed statement PostgreSQL answers `commit` with a
   * rollback and no error, so a failure that was caught on the way would pass for committed.
   */
  requireNoFailure(): void {
    if (this.firstFailure) throw this.firstFailure;
  }

  /** One statement that is not a procedure: `begin`, `commit`, settings. */
  async statement(text: string): Promise<void> {
    await this.run({ text, values: [], rowMode: 'array', binary: true });
  }

  private async run(query: BinaryQuery): Promise<unknown[][]> {
    if (this.poison) throw this.poison;
    const startedMs = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const error = new BrokerError('statement_timeout');
        this.quarantine(error);
        this.hooks.cancel(this.client);
        reject(error);
      }, this.hooks.statementTimeoutMs);
    });
    // TypeORM hands its first argument to pg unchanged; its type knows only text.
    const running = this.runner.query(query as unknown as string) as Promise<unknown[][]>;
    running.catch(() => undefined); // after a timeout nobody listens any more
    try {
      const rows = await Promise.race([running, timedOut]);
      this.hooks.onStatement(performance.now() - startedMs, false);
      return rows;
    } catch (cause) {
      this.hooks.onStatement(performance.now() - startedMs, true);
      const failure = statementFailure(cause);
      this.firstFailure ??= failure.error;
      if (!failure.connectionUsable) this.quarantine(failure.error);
      throw failure.error;
    } finally {
      clearTimeout(timer);
    }
  }
}
