import { SqlStatementError } from '../raw-sql/sql-failure.js';

/**
 * The transaction came to nothing for a reason of its own: a repeated message, a lost lease, an unknown id. The client
 * is told with 200: it must not send the same again, as it would after a 5xx. `message` is the client's text.
 */
export class RolledBackError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'RolledBackError';
  }
}

/** `QTXN <what>; transaction rolled back`, as the database words it too. */
export function rolledBack(what: string): RolledBackError {
  return new RolledBackError(`QTXN ${what}; transaction rolled back`);
}

export const UNKNOWN_TRANSACTION_ID = 'ack references unknown transactionId';

/** How log_transaction_wire_v1 refuses: SQLSTATE and the head of its text. */
const REFUSALS = new Map([
  ['QTXN0', 'QTXN '],
  ['23505', 'QDUP '],
]);

/** The database's refusal as what it means to the client; other failures stay what they are. */
export function asRolledBack(error: unknown): unknown {
  if (!(error instanceof SqlStatementError)) return error;
  const head = REFUSALS.get(error.sqlState ?? '');
  const isRefusal = head !== undefined && error.sqlMessage.startsWith(head);
  return isRefusal ? new RolledBackError(error.sqlMessage, { cause: error }) : error;
}
