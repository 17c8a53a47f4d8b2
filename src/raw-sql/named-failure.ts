import { BrokerError } from '../base/errors/broker-error.js';
import { SqlStatementError } from './sql-failure.js';

/**
 * A refused statement of an administrative route, in the words its clients know: `overview failed: <the server's text>`.
 * Any other failure keeps its own.
 */
export async function namedFailure<T>(verb: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof SqlStatementError) || error.code !== 'sql_failed') throw error;
    throw new BrokerError('sql_failed', `${verb} failed: ${error.sqlMessage}`, undefined, { cause: error });
  }
}
