import { Inject, Injectable } from '@nestjs/common';
import type { AckGroup } from '../ack/ack-group.js';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { QueueEncryption } from '../encryption/queue-encryption.js';
import { LimiterService } from '../limiter/limiter.service.js';
import type { Permit } from '../limiter/permit.js';
import { ByteBudget } from '../push/byte-budget.js';
import type { PushItem } from '../push/push-item.js';
import { PushAdmission } from '../queue-controls/push-admission.js';
import type { SqlConnection } from '../raw-sql/connection-lease.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { uuidText } from '../segment/uuid-v7.js';
import { AfterCommit, type Filing } from './after-commit.js';
import { groupAcks } from './group-acks.js';
import type { Operation } from './operation.js';
import { packPushes, type PushedItem } from './pack-pushes.js';
import { asRolledBack, rolledBack, RolledBackError, UNKNOWN_TRANSACTION_ID } from './rolled-back.js';
import {
  logTransactionWireV1,
  type CommittedTransaction,
  type TransactionArgs,
} from './transaction.procedures.js';
import type { TransactionRequest } from './transaction.request.js';

export interface TransactionOrigin {
  tenant: string;
  /** Size of the body, which the payloads are slices of and keep in memory. */
  bodyBytes: number;
  /** The authenticated producer's `sub`, UTF-8. */
  producerSub: Buffer | null;
}

/** One entry of the reply, without its index. */
export type OperationResult =
  | {
      type: 'push';
      success: true;
      transactionId: string;
      messageId: string;
      queueName: string;
      duplicate?: true;
    }
  | { type: 'ack'; success: boolean; transactionId: string; error: string | null; dlq: boolean };

export type TransactionOutcome =
  | { readonly success: true; readonly results: readonly OperationResult[] }
  | { readonly success: false; readonly error: string };

export interface TransactionStats {
  committed: number;
  rolledBack: number;
  deadLetters: number;
  /** Bytes of requests without an answer. */
  bufferedBytes: number;
}

/** What one operation costs beside its bytes in the body. */
const OPERATION_BYTES = 512;
/** Deadlocks, and a queue deleted while the transaction was on its way to it. */
const ATTEMPTS = 4;

/**
 * The life of a transaction, all of it or nothing:
 *
 *   pack (ids, segments, hashes) → permit → connection → one statement, one commit → offer → file → announce
 */
@Injectable()
export class TransactionService {
  private readonly budget: ByteBudget;
  private readonly counters = { committed: 0, rolledBack: 0, deadLetters: 0 };

  constructor(
    private readonly limiter: LimiterService,
    private readonly rawSql: RawSqlService,
    private readonly afterCommit: AfterCommit,
    private readonly admission: PushAdmission,
    private readonly encryption: QueueEncryption,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(environmentConfig.KEY) environment: Environment,
  ) {
    this.budget = new ByteBudget(environment.QUEEN_TRANSACTION_BUFFER_BYTES);
  }

  /**
   * One result per operation, in order, when all is committed; else the reason why nothing was.
   * @throws BrokerError when it is not known to be wrong: no connection, no permit, a failed or lost statement;
   *   and `queue_paused` or `too_many_messages` when a queue it pushes to takes nothing now
   */
  async run(request: TransactionRequest, origin: TransactionOrigin): Promise<TransactionOutcome> {
    const { operations } = request;
    if (operations.length === 0) return { success: true, results: [] };
    using _held = this.budget.take(origin.bodyBytes + operations.length * OPERATION_BYTES);
    using _room = this.admission.isOpen
      ? null
      : await this.admission.admit(origin.tenant, pushesByQueue(operations));
    try {
      const results = await this.execute(request, origin);
      this.counters.committed += 1;
      return { success: true, results };
    } catch (error) {
      if (!(error instanceof RolledBackError)) throw error;
      this.counters.rolledBack += 1;
      return { success: false, error: error.message };
    }
  }

  stats(): TransactionStats {
    return { ...this.counters, bufferedBytes: this.budget.takenBytes };
  }

  private async execute(
    { operations, leases }: TransactionRequest,
    { tenant, producerSub }: TransactionOrigin,
  ): Promise<OperationResult[]> {
    refuseUnknown(operations);
    const acks = await groupAcks(operations);
    const ackHashes = await hashesOf(acks);
    const pushes = await packPushes(
      tenant,
      itemsOf(operations),
      this.clock.wallMs(),
      this.encryption,
      producerSub,
    );
    const args = { tenant, leases, segments: pushes.segments, acks, ackHashes };

    const lane = pushes.segments.length > 0 ? 'push' : 'ack';
    // Never bound to the client: what has begun is finished whether or not it stays.
    const filings = await this.limiter.withPermit(lane, null, (permit) =>
      this.rawSql.withConnection(null, async (connection) => {
        const committed = await this.commit(connection, permit, args);
        this.afterCommit.offer(pushes.segments);
        const filings: Filing[] = [];
        for (let i = 0; i < acks.length; i++)
          filings.push(await this.afterCommit.settle(connection, tenant, acks[i], committed.acks[i]));
        return filings;
      }),
    );
    this.counters.deadLetters += filings.filter((filing) => filing?.ok).length;
    return resultsOf(operations, pushes.items, acks, filings);
  }

  private async commit(
    connection: SqlConnection,
    permit: Permit,
    args: TransactionArgs,
  ): Promise<CommittedTransaction> {
    for (let attempt = 1; ; attempt++) {
      const startedMs = this.clock.monoMs();
      try {
        const committed = await connection.callOne(logTransactionWireV1, args);
        permit.sample(this.clock.monoMs() - startedMs);
        return committed;
      } catch (error) {
        if (error instanceof SqlStatementError && error.retryable && attempt < ATTEMPTS) continue;
        if (error instanceof BrokerError && error.code === 'statement_timeout') permit.timedOut();
        throw asRolledBack(error);
      }
    }
  }
}

/** An id with U+0000 or a lone surrogate belongs to no message, but its hash might. */
function refuseUnknown(operations: readonly Operation[]): void {
  for (const operation of operations) {
    if (operation.kind === 'ack' && operation.ack.problem !== null) throw rolledBack(UNKNOWN_TRANSACTION_ID);
  }
}

async function hashesOf(acks: readonly AckGroup[]): Promise<Buffer[]> {
  const hashes: Buffer[] = [];
  for (const group of acks) hashes.push(await group.hashes());
  return hashes;
}

function pushesByQueue(operations: readonly Operation[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { queue } of itemsOf(operations)) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  return counts;
}

function itemsOf(operations: readonly Operation[]): PushItem[] {
  const items: PushItem[] = [];
  for (const operation of operations) if (operation.kind === 'push') items.push(operation.item);
  return items;
}

function resultsOf(
  operations: readonly Operation[],
  pushed: readonly PushedItem[],
  acks: readonly AckGroup[],
  filings: readonly Filing[],
): OperationResult[] {
  const filingOf = new Map<number, Filing>();
  acks.forEach(({ positions }, k) => {
    if (filings[k]) for (const position of positions) filingOf.set(position, filings[k]);
  });
  let next = 0;
  return operations.map((operation, i) =>
    operation.kind === 'push' ? pushResult(pushed[next++]) : ackResult(operation, filingOf.get(i) ?? null),
  );
}

function pushResult({ queue, transactionId, messageId, isRepetition }: PushedItem): OperationResult {
  return {
    type: 'push',
    success: true,
    transactionId,
    messageId: uuidText(messageId),
    queueName: queue,
    ...(isRepetition ? { duplicate: true } : {}),
  };
}

/** The commit stands even where a dead letter could not be filed; then its refusals are what did not happen. */
function ackResult({ ack }: Extract<Operation, { kind: 'ack' }>, filing: Filing): OperationResult {
  const isLost = filing !== null && !filing.ok && ack.status !== 'completed';
  return {
    type: 'ack',
    success: !isLost,
    transactionId: ack.transactionId,
    error: isLost ? filing.error : null,
    dlq: filing?.ok ?? false,
  };
}
