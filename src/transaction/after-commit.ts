import { Injectable } from '@nestjs/common';
import type { AckGroup } from '../ack/ack-group.js';
import { DeadLetter } from '../ack/dead-letter.js';
import { AckRegistry } from '../ack-registry/ack-registry.js';
import { PartitionMemo } from '../ack-registry/partition-memo.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { errorTable } from '../base/errors/error-table.js';
import { SampledLogger } from '../base/log/sampled-logger.js';
import { queueKey } from '../base/queue-key.js';
import { HotlistService } from '../hotlist/hotlist.service.js';
import type { PushSegmentArgs } from '../push/push.procedures.js';
import type { SqlConnection } from '../raw-sql/connection-lease.js';
import { heldBy } from './group-acks.js';
import type { TransactionAck } from './transaction.procedures.js';

/** What became of a message that had to be put aside; null when none had to. */
export type Filing = { readonly ok: true } | { readonly ok: false; readonly error: string } | null;

/**
 * What a committed transaction does outside the database: offers what it stored, files what it gave up, and announces
 * the leases it ended. Nothing here may happen before the commit, and nothing here may fail the request after it.
 */
@Injectable()
export class AfterCommit {
  private readonly logger = new SampledLogger('Transaction');

  constructor(
    private readonly hotlist: HotlistService,
    private readonly registry: AckRegistry,
    private readonly memo: PartitionMemo,
    private readonly deadLetter: DeadLetter,
  ) {}

  /** At once, not with the marks of the next milliseconds: the next pop must find the messages. */
  offer(segments: readonly PushSegmentArgs[]): void {
    for (const { target, count } of segments) {
      const key = queueKey(target.tenant, target.queue);
      this.hotlist.offer(key, target.partition, count, { immediate: true, broadcast: true });
    }
  }

  /** Files the dead letter of one ack, if it asks for one, and tells memory what the ack did to the lease. */
  async settle(
    connection: SqlConnection,
    tenant: string,
    acks: AckGroup,
    outcome: TransactionAck,
  ): Promise<Filing> {
    const { partitionId, group } = acks;
    const filing = outcome.dlq ? await this.file(connection, acks, outcome) : null;
    const isReleased = filing ? filing.ok : !outcome.leased;
    const key = queueKey(tenant, outcome.queue);
    this.memo.remember(partitionId, key, outcome.partition);
    if (!isReleased) {
      // What is left of the batch is no longer what was handed out.
      this.registry.spoil(partitionId, group, outcome.worker);
      return filing;
    }
    this.registry.drop(partitionId, group, outcome.worker);
    const isCovered = outcome.worker !== '' && acks.isCompletion;
    this.hotlist.promote(key, group, { name: outcome.partition }, isCovered);
    return filing;
  }

  private async file(connection: SqlConnection, acks: AckGroup, outcome: TransactionAck): Promise<Filing> {
    try {
      const isFiled = await this.deadLetter.file(connection, heldBy(acks, outcome.worker), outcome.off);
      return isFiled ? { ok: true } : { ok: false, error: 'dlq rejected' };
    } catch (cause) {
      const where = `partition ${acks.partitionId} offset ${outcome.off}`;
      this.logger.warn('dead letter', `dead letter not filed, ${where}: ${(cause as Error).message}`);
      const error = cause instanceof BrokerError ? cause.message : errorTable.internal.meaning;
      return { ok: false, error };
    }
  }
}
