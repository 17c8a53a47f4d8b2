import { describe, expect, it } from '@jest/globals';
import { BrokerError } from '../base/errors/broker-error.js';
import {
  connectFailure,
  isDatabaseAway,
  mayPassLater,
  SqlStatementError,
  statementFailure,
} from './sql-failure.js';

const driver = (message: string, code?: string) => Object.assign(new Error(message), code ? { code } : {});

describe('isDatabaseAway', () => {
  it.each([
    ['nothing listens', driver('connect ECONNREFUSED 127.0.0.1:5432', 'ECONNREFUSED')],
    ['the host is unknown', driver('getaddrinfo ENOTFOUND db', 'ENOTFOUND')],
    ['the host does not answer', driver('Connection terminated due to connection timeout')],
    ['the server is starting', driver('the database system is starting up', '57P03')],
    ['the server is shutting down', driver('the database system is shutting down', '57P03')],
    ['the connection breaks off', driver('Connection terminated unexpectedly')],
  ])('is true for a connection that cannot be made because %s', (_, error) => {
    expect(isDatabaseAway(connectFailure(error))).toBe(true);
  });

  it.each([
    ['none came free in the pool', driver('timeout exceeded when trying to connect')],
    ['the server has too many clients', driver('sorry, too many clients already', '53300')],
    ['the password is wrong', driver('password authentication failed', '28P01')],
    ['the database is unknown', driver('database "x" does not exist', '3D000')],
    ['of something unknown', driver('whatever')],
  ])('is false for a connection that cannot be had because %s', (_, error) => {
    expect(isDatabaseAway(connectFailure(error))).toBe(false);
  });

  it.each([
    ['the connection broke', driver('Connection terminated unexpectedly'), true],
    ['an operator ended the session', driver('terminating connection', '57P01'), true],
    ['the socket was reset', driver('read ECONNRESET', 'ECONNRESET'), true],
    ['its disk is full', driver('No space left on device', '53100'), true],
    ['the server is read-only', driver('read-only transaction', '25006'), false],
    ['it took too long', driver('canceling statement', '57014'), false],
    ['it was refused', driver('division by zero', '22012'), false],
    ['of a deadlock', driver('deadlock detected', '40P01'), false],
    ['the server is out of memory', driver('out of memory', '53200'), false],
  ])('for a statement that failed because %s: %#', (_, error, isAway) => {
    expect(isDatabaseAway(statementFailure(error).error)).toBe(isAway);
  });

  it('is false for what is no failure of the database', () => {
    expect(isDatabaseAway(new BrokerError('overloaded'))).toBe(false);
    expect(isDatabaseAway(new Error('Connection terminated'))).toBe(false);
  });
});

describe('a statement that was refused', () => {
  it.each([
    ['22012', 'sql_failed'],
    ['QPUSH', 'sql_failed'],
    ['QOFFS', 'offset_too_large'],
  ])('with SQLSTATE %s is %s to the client', (sqlState, code) => {
    expect(statementFailure(driver('no', sqlState))).toMatchObject({ error: { code }, retryable: false });
  });

  it('because its partition is full is not tried again later (A09)', () => {
    expect(mayPassLater(statementFailure(driver('no', 'QOFFS')).error as BrokerError)).toBe(false);
  });
});

describe('mayPassLater', () => {
  it.each([undefined, '40001', '40P01', '55P03', 'QGONE', '08006', '53300', '57P01', '58030'])(
    'is true for SQLSTATE %s',
    (sqlState) => {
      expect(mayPassLater(new SqlStatementError(sqlState, '', null))).toBe(true);
    },
  );

  it.each(['22P02', '23505', '42883', 'QPUSH', 'QMULT'])('is false for SQLSTATE %s', (sqlState) => {
    expect(mayPassLater(new SqlStatementError(sqlState, '', null))).toBe(false);
  });

  it.each([
    ['pool', true],
    ['overloaded', true],
    ['statement_timeout', true],
    ['database_unavailable', true],
    ['internal', false],
    ['bad_name', false],
  ] as const)('for %s is %s', (code, later) => {
    expect(mayPassLater(new BrokerError(code))).toBe(later);
  });
});
