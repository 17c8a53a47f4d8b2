import { BrokerError } from '../base/errors/broker-error.js';
import { AbortedError } from '../base/errors/aborted-error.js';

/**
 * The only reader of SQLSTATEs. Says which of our errors a failure is, and whether the connection may be used again.
 * The exhausted pool throws an error without a code, so its text is the only mark.
 */
export interface SqlFailure {
  error: Error;
  /** False: the connection must not go back to the pool (late bytes, dead socket, demoted server). */
  connectionUsable: boolean;
  /** True for failures that a second attempt may not meet: serialization, deadlock, lock timeout. */
  retryable: boolean;
  sqlState?: string;
}

interface DriverError {
  code?: string;
  message?: string;
}

/** QGONE is ours: a delete got in between a push's look at the partition and its lock. */
const RETRYABLE = new Set(['40001', '40P01', '55P03', 'QGONE']);
/** Read-only, admin shutdown, crash, cannot connect now, too many connections, disk full. */
const UNAVAILABLE = new Set(['25006', '57P01', '57P02', '57P03', '53300', '53100', '53200']);
/** Ours too: log_push_one_v1 gives out no offset beyond 2^53 - 1 (field case A09). */
const LAST_OFFSET_REACHED = 'QOFFS';
const SOCKET = /ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN/;
/** The last: TypeORM gives a connection up by itself when it is lost between two statements. */
const CONNECTION_LOST =
  /Connection terminated|connection ended|not queryable|Client was closed|server closed|Query runner already released/i;
const POOL_EXHAUSTED =
  /timeout exceeded when trying to connect|Connection terminated due to connection timeout/i;

export function driverErrorOf(error: unknown): DriverError {
  const outer = error as { driverError?: DriverError; code?: string; message?: string };
  return outer?.driverError ?? { code: outer?.code, message: outer?.message };
}

/** While getting a connection: everything is `pool`, the seed's word for "no connection to be had". */
export function connectFailure(error: unknown): Error {
  if (error instanceof BrokerError || error instanceof AbortedError) return error;
  return new BrokerError('pool', 'pool', undefined, { cause: error });
}

export function isPoolExhausted(error: unknown): boolean {
  return POOL_EXHAUSTED.test(driverErrorOf(error).message ?? '');
}

/** Too many connections, out of memory: the server is there and has too much to do. */
const OVERLOAD = new Set(['53300', '53200']);
const READ_ONLY = '25006';
const POOL_BUSY = /timeout exceeded when trying to connect/i;

/**
 * Whether a call failed because PostgreSQL is not there: nothing listens, it is starting or stopping, the connection
 * broke. False for everything that says "too much at once", for a primary that became a replica (its clients shall
 * hear of it), and for a statement that was refused or took too long.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof BrokerError)) return false;
  if (error.code !== 'pool' && error.code !== 'database_unavailable') return false;
  const { code, message = '' } = driverErrorOf(error.cause);
  if (code === READ_ONLY || (code !== undefined && OVERLOAD.has(code))) return false;
  if (error.code === 'database_unavailable') return true;
  if (code !== undefined) return UNAVAILABLE.has(code) || code.startsWith('08') || SOCKET.test(code);
  return !POOL_BUSY.test(message) && (POOL_EXHAUSTED.test(message) || CONNECTION_LOST.test(message));
}

/** Classes of SQLSTATE that say nothing about the data: connection, resources, operator, system. */
const NOT_THE_DATA = /^(08|53|57|58)/;

/**
 * Whether the same data may well be stored another time. False when PostgreSQL answered that it will not have this
 * data, and for what cannot even be sent.
 */
export function mayPassLater(error: BrokerError): boolean {
  if (error instanceof SqlStatementError) {
    const { sqlState } = error;
    return sqlState === undefined || error.retryable || NOT_THE_DATA.test(sqlState);
  }
  return error.code !== 'internal' && error.status >= 429;
}

/** While running a statement. */
export function statementFailure(error: unknown): SqlFailure {
  if (error instanceof BrokerError || error instanceof AbortedError) {
    return { error, connectionUsable: error instanceof AbortedError, retryable: false };
  }
  const driverError = driverErrorOf(error);
  if (driverError instanceof BrokerError) {
    // Thrown by a decoder of ours while pg read the rows; pg reads on to the end, so the connection is in step.
    return { error: driverError, connectionUsable: true, retryable: false };
  }
  const { code, message = '' } = driverError;
  if (code === '57014') {
    return {
      error: new BrokerError('statement_timeout', undefined, undefined, { cause: error }),
      connectionUsable: false,
      retryable: false,
      sqlState: code,
    };
  }
  if (code && (UNAVAILABLE.has(code) || code.startsWith('08') || SOCKET.test(code))) {
    return {
      error: new BrokerError('database_unavailable', undefined, undefined, { cause: error }),
      connectionUsable: false,
      retryable: false,
      sqlState: code,
    };
  }
  if (!code && CONNECTION_LOST.test(message)) {
    return {
      error: new BrokerError('database_unavailable', undefined, undefined, { cause: error }),
      connectionUsable: false,
      retryable: false,
    };
  }
  return {
    error: new SqlStatementError(code, message, error),
    connectionUsable: code !== undefined,
    retryable: code !== undefined && RETRYABLE.has(code),
    sqlState: code,
  };
}

/**
 * A statement PostgreSQL refused. `sqlMessage` is the server's text: procedures raise their own prefixes (QPUSH, QCONF…)
 * there, and the caller who knows the prefix turns it into an answer; otherwise the client sees `sql_failed`, or
 * `offset_too_large` when a partition is at its end.
 */
export class SqlStatementError extends BrokerError {
  constructor(
    readonly sqlState: string | undefined,
    readonly sqlMessage: string,
    cause: unknown,
  ) {
    super(sqlState === LAST_OFFSET_REACHED ? 'offset_too_large' : 'sql_failed', undefined, undefined, {
      cause,
    });
    this.name = 'SqlStatementError';
  }

  get retryable(): boolean {
    return this.sqlState !== undefined && RETRYABLE.has(this.sqlState);
  }
}

/** PostgreSQL answered and said no, so nothing was committed and the connection lives. */
export function isRefusal(error: unknown): boolean {
  return error instanceof SqlStatementError && error.sqlState !== undefined;
}
