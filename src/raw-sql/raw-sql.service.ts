import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { AbortedError } from '../base/errors/aborted-error.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { SampledLogger } from '../base/log/sampled-logger.js';
import { sendCancelRequest } from './cancel-request.js';
import { ConnectionLease, type LeaseHooks, type SqlConnection } from './connection-lease.js';
import { createDataSource } from './data-source.js';
import { DATABASE_OPTIONS, type DatabaseOptions } from './database-options.js';
import type { Procedure } from './procedure.js';
import { connectFailure, isPoolExhausted } from './sql-failure.js';

export interface PoolStats {
  size: number;
  total: number;
  idle: number;
  waiting: number;
  statements: number;
  statementErrors: number;
  statementMs: number;
  quarantined: number;
}

interface PgPool {
  totalCount: number;
  idleCount: number;
  waitingCount: number;
}

/** The only way to PostgreSQL on the message path: borrow a connection, run procedures, give it back. */
@Injectable()
export class RawSqlService implements OnModuleInit, OnApplicationShutdown {
  /** A database that is away would otherwise write one line a request. */
  private readonly logger = new SampledLogger(RawSqlService.name);
  private readonly dataSource: DataSource;
  private readonly hooks: LeaseHooks;
  private readonly counters = { statements: 0, statementErrors: 0, statementMs: 0, quarantined: 0 };

  constructor(@Inject(DATABASE_OPTIONS) private readonly options: DatabaseOptions) {
    this.dataSource = createDataSource(options, (error) =>
      this.logger.warn('pool', `idle connection lost: ${error.message}`),
    );
    this.hooks = {
      statementTimeoutMs: options.statementTimeoutMs,
      namedStatements: options.namedStatements,
      cancel: (client) =>
        sendCancelRequest(
          options,
          client as { processID: number; secretKey: number; host: string; port: number },
          (error) => this.logger.warn('cancel', `cancel request failed: ${error.message}`),
        ),
      onStatement: (ms, failed) => {
        this.counters.statements++;
        this.counters.statementMs += ms;
        if (failed) this.counters.statementErrors++;
      },
      onQuarantine: (reason) => {
        this.counters.quarantined++;
        this.logger.warn('quarantine', `connection destroyed: ${reason}`);
      },
    };
  }

  async onModuleInit(): Promise<void> {
    await this.dataSource.initialize();
  }

  /** The pool closes last, after every module that may still use it (layout.md, Shutdown). */
  async onApplicationShutdown(): Promise<void> {
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  /**
   * Borrows a connection for `run` and gives it back whatever happens inside.
   * `gone` ends the waiting only; once `run` has begun, its statement commits or rolls back by itself.
   * @throws BrokerError `pool` when none came free in time, `overloaded` when too many wait already
   */
  async withConnection<T>(
    gone: AbortSignal | null,
    run: (connection: SqlConnection) => Promise<T>,
  ): Promise<T> {
    const lease = await this.lease(gone);
    try {
      return await run(lease);
    } finally {
      await lease.end();
    }
  }

  /** Like withConnection, with `run` inside one transaction: committed when it returns, rolled back when it throws. */
  async withTransaction<T>(
    gone: AbortSignal | null,
    run: (connection: SqlConnection) => Promise<T>,
  ): Promise<T> {
    const lease = await this.lease(gone);
    try {
      await lease.statement('begin');
      try {
        const result = await run(lease);
        lease.requireNoFailure();
        await lease.statement('commit');
        return result;
      } catch (error) {
        // A rollback that fails leaves an open transaction on a pooled connection: destroy it instead.
        await lease.statement('rollback').catch((reason: Error) => lease.quarantine(reason));
        throw error;
      }
    } finally {
      await lease.end();
    }
  }

  /** One procedure on a connection of its own. */
  call<Args, Row>(
    procedure: Procedure<Args, Row>,
    args: Args,
    gone: AbortSignal | null = null,
  ): Promise<Row[]> {
    return this.withConnection(gone, (connection) => connection.call(procedure, args));
  }

  callOne<Args, Row>(
    procedure: Procedure<Args, Row>,
    args: Args,
    gone: AbortSignal | null = null,
  ): Promise<Row> {
    return this.withConnection(gone, (connection) => connection.callOne(procedure, args));
  }

  stats(): PoolStats {
    const pool = this.pool();
    return {
      size: this.options.poolSize,
      total: pool?.totalCount ?? 0,
      idle: pool?.idleCount ?? 0,
      waiting: pool?.waitingCount ?? 0,
      ...this.counters,
    };
  }

  private async lease(gone: AbortSignal | null): Promise<ConnectionLease> {
    if (gone?.aborted) throw new AbortedError();
    if ((this.pool()?.waitingCount ?? 0) >= this.options.poolWaitersMax) throw new BrokerError('overloaded');
    // A query runner that failed to connect stays failed, so each attempt makes a new one.
    const runner = this.dataSource.createQueryRunner();
    let client: unknown;
    try {
      client = await runner.connect();
    } catch (error) {
      await runner.release();
      this.logger.warn(
        'connect',
        isPoolExhausted(error) ? 'no connection came free in time' : `cannot connect: ${String(error)}`,
      );
      throw connectFailure(error);
    }
    if (gone?.aborted) {
      await runner.release();
      throw new AbortedError();
    }
    return new ConnectionLease(runner, client, this.hooks);
  }

  private pool(): PgPool | undefined {
    return (this.dataSource.driver as unknown as { master?: PgPool }).master;
  }
}
