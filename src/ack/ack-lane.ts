import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { LimiterService } from '../limiter/limiter.service.js';
import type { Permit } from '../limiter/permit.js';
import type { SqlConnection } from '../raw-sql/connection-lease.js';
import type { Procedure } from '../raw-sql/procedure.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';

/** A deadlock is a bug here, so it is retried quietly only this often. */
const ATTEMPTS = 3;

/** A connection whose statements count as samples of the ack lane. */
export interface AckConnection {
  callOne<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row>;
  call<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row[]>;
}

/**
 * Permit of the ack lane first, connection second (G2). Never bound to the client: an ack whose sender has left is
 * applied all the same, or its messages would come again for nothing.
 */
@Injectable()
export class AckLane {
  constructor(
    private readonly limiter: LimiterService,
    private readonly rawSql: RawSqlService,
  ) {}

  run<T>(work: (connection: AckConnection) => Promise<T>): Promise<T> {
    return this.limiter.withPermit('ack', null, (permit) =>
      this.rawSql.withConnection(null, (connection) => work(new MeasuredConnection(connection, permit))),
    );
  }
}

class MeasuredConnection implements AckConnection {
  constructor(
    private readonly connection: SqlConnection,
    private readonly permit: Permit,
  ) {}

  callOne<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row> {
    return this.measured(() => this.connection.callOne(procedure, args));
  }

  call<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row[]> {
    return this.measured(() => this.connection.call(procedure, args));
  }

  /** Every statement here is a transaction of its own, so one that failed has left nothing behind. */
  private async measured<T>(statement: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const startedMs = performance.now();
      try {
        const result = await statement();
        this.permit.sample(performance.now() - startedMs);
        return result;
      } catch (error) {
        if (error instanceof SqlStatementError && error.retryable && attempt < ATTEMPTS) continue;
        if (error instanceof BrokerError && error.code === 'statement_timeout') this.permit.timedOut();
        throw error;
      }
    }
  }
}
