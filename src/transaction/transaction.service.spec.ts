import { beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { AckGroup } from '../ack/ack-group.js';
import type { DeadLetter } from '../ack/dead-letter.js';
import type { AckRegistry } from '../ack-registry/ack-registry.js';
import { PartitionMemo } from '../ack-registry/partition-memo.js';
import { ManualClock } from '../base/clock/manual-clock.js';
import { parseEnvironment } from '../base/config/environment.js';
import { BrokerError } from '../base/errors/broker-error.js';
import type { HotlistService } from '../hotlist/hotlist.service.js';
import type { LimiterService } from '../limiter/limiter.service.js';
import type { QueueEncryption } from '../encryption/queue-encryption.js';
import type { PushAdmission } from '../queue-controls/push-admission.js';
import type { Procedure } from '../raw-sql/procedure.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { AfterCommit } from './after-commit.js';
import type { CommittedTransaction, TransactionAck, TransactionArgs } from './transaction.procedures.js';
import { parseTransactionBody } from './transaction.request.js';
import { TransactionService } from './transaction.service.js';

Logger.overrideLogger(false);

const P1 = '00000000-0000-7000-8000-000000000001';
const P2 = '00000000-0000-7000-8000-000000000002';
const KEY = 'tenant\u001forders';

let steps: unknown[][];
let sent: TransactionArgs[];
let answer: (args: TransactionArgs) => Partial<CommittedTransaction> | Promise<never>;
let filed: (acks: AckGroup, offset: number) => Promise<boolean>;
let service: TransactionService;

const acked = (over: Partial<TransactionAck> = {}): TransactionAck => ({
  ...{ ok: true, acked: 1, off: 0, noopHashes: [], staleHashes: [], unresolvedHashes: [] },
  ...{ queue: 'orders', partition: 'p', worker: 'lease', leased: false },
  ...over,
});

const push = (queue: string, partition: string, transactionId?: string) => ({
  ...{ type: 'push', queue, partition, payload: 1, transactionId },
});
const ack = (partitionId: string, transactionId: string, over = {}) => ({
  ...{ type: 'ack', partitionId, transactionId, consumerGroup: 'g' },
  ...over,
});

function run(operations: unknown[], requiredLeases: string[] = ['lease']) {
  const request = parseTransactionBody(Buffer.from(JSON.stringify({ operations, requiredLeases })));
  return service.run(request, { tenant: 'tenant', bodyBytes: 100, producerSub: null });
}

const failure = (sqlState: string, text: string) => new SqlStatementError(sqlState, text, null);

beforeEach(() => {
  steps = [];
  sent = [];
  answer = ({ acks }) => ({ pushes: [], acks: acks.map(() => acked()) });
  filed = () => Promise.resolve(true);
  const connection = {
    callOne: async ({ name }: Procedure<unknown, unknown>, args: TransactionArgs) => {
      sent.push(args);
      steps.push([name]);
      return answer(args);
    },
  };
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void steps.push([name, ...args]);
  service = new TransactionService(
    {
      withPermit: (lane: string, _: null, work: (permit: unknown) => Promise<unknown>) => {
        steps.push(['permit', lane]);
        return work({ sample: () => undefined, timedOut: note('timed out') });
      },
    } as unknown as LimiterService,
    {
      withConnection: (_: null, work: (with_: unknown) => Promise<unknown>) => work(connection),
    } as unknown as RawSqlService,
    new AfterCommit(
      { offer: note('offer'), promote: note('promote') } as unknown as HotlistService,
      { drop: note('drop'), spoil: note('spoil') } as unknown as AckRegistry,
      new PartitionMemo(),
      {
        file: async (_: unknown, acks: AckGroup, offset: number) => {
          steps.push(['file', acks.worker, acks.items.length, offset]);
          return filed(acks, offset);
        },
      } as unknown as DeadLetter,
    ),
    { isOpen: true } as unknown as PushAdmission,
    { seals: () => false } as unknown as QueueEncryption,
    new ManualClock(),
    parseEnvironment({}),
  );
});

describe('a committed transaction', () => {
  it('offers what it stored and announces what it released, after the commit', async () => {
    const outcome = await run([push('a', 'x', 't1'), ack(P1, 'm1'), push('b', 'y')]);
    expect(outcome).toMatchObject({ success: true });
    const how = { immediate: true, broadcast: true };
    expect(steps).toEqual([
      ['permit', 'push'],
      ['log_transaction_wire_v1'],
      ['offer', 'tenant\u001fa', 'x', 1, how],
      ['offer', 'tenant\u001fb', 'y', 1, how],
      ['drop', P1, 'g', 'lease'],
      ['promote', KEY, 'g', { name: 'p' }, true],
    ]);
  });

  it('without pushes takes the lane of the acks', async () => {
    await run([ack(P1, 'm1')]);
    expect(steps[0]).toEqual(['permit', 'ack']);
  });

  it('gathers the acks of a cursor, whatever stands between them', async () => {
    await run([ack(P1, 'm1'), ack(P2, 'm1'), ack(P1, 'm2', { status: 'failed' })]);
    expect(sent[0].acks.map(({ partitionId, positions }) => [partitionId, positions])).toEqual([
      [P1, [0, 2]],
      [P2, [1]],
    ]);
    expect(sent[0].ackHashes.map(({ length }) => length)).toEqual([32, 16]);
  });

  it('gives the lease that one ack names to all acks of its cursor', async () => {
    await run([ack(P1, 'm1'), ack(P1, 'm2', { leaseId: 'own' }), ack(P2, 'm1')]);
    expect(sent[0].acks.map(({ worker }) => worker)).toEqual(['own', '']);
    expect(sent[0].leases).toEqual(['lease', 'own']);
  });

  it('does not call a batch covered when a message was refused or no lease was held', async () => {
    await run([ack(P1, 'm1', { status: 'retry' })]);
    answer = () => ({ acks: [acked({ worker: '' })] });
    await run([ack(P1, 'm1')], []);
    expect(steps.filter(([step]) => step === 'promote').map((step) => step.at(-1))).toEqual([false, false]);
  });

  it('spoils a batch that it acked in part, and announces nothing', async () => {
    answer = () => ({ acks: [acked({ leased: true })] });
    await run([ack(P1, 'm1')]);
    expect(steps.slice(2)).toEqual([['spoil', P1, 'g', 'lease']]);
  });

  it('files the message it gave up under the lease that the database found', async () => {
    answer = () => ({ acks: [acked({ dlq: true, off: 7, worker: 'found', leased: true })] });
    const outcome = await run([ack(P1, 'm1'), ack(P1, 'm2', { status: 'dlq' })]);
    expect(steps.slice(2)).toEqual([
      ['file', 'found', 2, 7],
      ['drop', P1, 'g', 'found'],
      ['promote', KEY, 'g', { name: 'p' }, false],
    ]);
    expect(outcome).toMatchObject({
      results: [
        { success: true, dlq: true },
        { success: true, dlq: true },
      ],
    });
    expect(service.stats()).toMatchObject({ committed: 1, deadLetters: 1 });
  });

  it.each<[string, () => Promise<boolean>, string]>([
    ['is refused', () => Promise.resolve(false), 'dlq rejected'],
    ['fails', () => Promise.reject(new BrokerError('pool', 'pool')), 'pool'],
    ['breaks', () => Promise.reject(new Error('secret')), 'Something unexpected happened'],
  ])('stands when the filing %s: the refused messages say so', async (_, file, error) => {
    filed = file;
    answer = () => ({ acks: [acked({ dlq: true, off: 1, leased: true }), acked()] });
    const outcome = await run([ack(P1, 'm1'), ack(P1, 'm2', { status: 'failed' }), ack(P2, 'm1')]);
    expect(outcome).toMatchObject({
      success: true,
      results: [
        { success: true, error: null, dlq: false },
        { success: false, error: expect.stringContaining(error), dlq: false },
        { success: true, error: null, dlq: false },
      ],
    });
    // The lease of the first is still out; the second is released all the same.
    expect(steps.filter(([step]) => step === 'promote')).toHaveLength(1);
  });

  it('of nothing asks nobody', async () => {
    expect(await run([])).toEqual({ success: true, results: [] });
    expect(steps).toEqual([]);
  });
});

describe('a transaction that is not committed', () => {
  it.each([
    ['QTXN0', 'QTXN ack references unknown transactionId; transaction rolled back'],
    ['23505', 'QDUP duplicate messages in queue "a" partition "x"; transaction rolled back'],
  ])('says why, and leaves memory alone: %s', async (sqlState, text) => {
    answer = () => Promise.reject(failure(sqlState, text));
    expect(await run([push('a', 'x', 't'), ack(P1, 'm1')])).toEqual({ success: false, error: text });
    expect(steps).toEqual([['permit', 'push'], ['log_transaction_wire_v1']]);
    expect(service.stats()).toMatchObject({ committed: 0, rolledBack: 1 });
  });

  it.each([failure('23505', 'duplicate key value'), failure('22P02', 'QTXN not from us')])(
    'for a reason that is not its own is a failure: %s',
    async (error) => {
      answer = () => Promise.reject(error);
      await expect(run([push('a', 'x')])).rejects.toMatchObject({ code: 'sql_failed' });
    },
  );

  it('is tried again after a deadlock or a deleted queue, four times in all', async () => {
    let failures = 3;
    answer = ({ acks }) =>
      failures-- > 0
        ? Promise.reject(failure(failures % 2 ? '40P01' : 'QGONE', ''))
        : { acks: acks.map(() => acked()) };
    expect(await run([ack(P1, 'm1')])).toMatchObject({ success: true });
    expect(sent).toHaveLength(4);
    failures = 4;
    await expect(run([ack(P1, 'm1')])).rejects.toMatchObject({ code: 'sql_failed' });
  });

  it('is not tried again when nobody knows what became of it', async () => {
    for (const code of ['statement_timeout', 'database_unavailable', 'pool'] as const) {
      answer = () => Promise.reject(new BrokerError(code));
      await expect(run([push('a', 'x')])).rejects.toMatchObject({ code });
    }
    expect(sent).toHaveLength(3);
    expect(steps.filter(([step]) => step === 'timed out')).toHaveLength(1);
  });

  it('never reaches the database with an id that cannot exist or with two leases for one cursor', async () => {
    expect(await run([ack(P1, 'a\0')])).toMatchObject({
      success: false,
      error: 'QTXN ack references unknown transactionId; transaction rolled back',
    });
    expect(await run([ack(P1, 'm1', { leaseId: 'a' }), ack(P1, 'm2', { leaseId: 'b' })])).toMatchObject({
      success: false,
      error: `QTXN ack failed for partition ${P1} group "g": several leases named; transaction rolled back`,
    });
    expect(steps).toEqual([]);
  });
});
