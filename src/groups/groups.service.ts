import { Injectable } from '@nestjs/common';
import { BrokerError } from '../base/errors/broker-error.js';
import { Reconcile } from '../base/reconcile.js';
import type { Procedure } from '../raw-sql/procedure.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { GroupMemory } from './group-memory.js';
import {
  deleteConsumerGroupForQueueV1,
  deleteConsumerGroupV1,
  getConsumerGroupDetailsV1,
  getConsumerGroupsV4,
  getLaggingPartitionsV1,
  logSeekConsumerGroupV1,
  logSeekPartitionV1,
  logSeekPreviewV1,
  updateConsumerGroupSubscriptionV1,
  type DeletedGroup,
  type GroupArgs,
  type Page,
  type SeekResult,
  type UpdatedSubscription,
} from './groups.procedures.js';
import type { SeekRequest, SubscriptionRequest } from './groups.request.js';

export type SeekTarget = GroupArgs & { queue: string; partition: string | null };

/** Deadlocks are possible on administrative paths: these statements hold many cursors. */
const ATTEMPTS = 5;

/**
 * Looks at groups, moves and deletes them, and makes this broker's memory agree before the client has its answer. Other
 * brokers find the notice that commits with each change (see group-repairs.loop.ts): at once when the announcement
 * reaches them, else in their next pass.
 */
@Injectable()
export class GroupsService {
  constructor(
    private readonly rawSql: RawSqlService,
    private readonly memory: GroupMemory,
    private readonly news: Reconcile,
  ) {}

  list(tenant: string): Promise<unknown[]> {
    return this.rawSql.callOne(getConsumerGroupsV4, tenant);
  }

  lagging(args: Page & { tenant: string; minLagSeconds: number }): Promise<unknown[]> {
    return this.rawSql.callOne(getLaggingPartitionsV1, args);
  }

  details(args: Page & GroupArgs): Promise<Record<string, unknown>> {
    return this.rawSql.callOne(getConsumerGroupDetailsV1, args);
  }

  async delete(args: GroupArgs & { deleteMetadata: boolean }): Promise<DeletedGroup> {
    const { queues, ...deleted } = await this.call(deleteConsumerGroupV1, args);
    for (const queue of queues) this.memory.groupForgotten(args.tenant, queue, args.group);
    this.news.announce();
    return deleted;
  }

  async deleteForQueue(
    args: GroupArgs & { queue: string; deleteMetadata: boolean },
  ): Promise<DeletedGroup & { queueName: string }> {
    const deleted = await this.call(deleteConsumerGroupForQueueV1, args);
    this.memory.groupForgotten(args.tenant, args.queue, args.group);
    this.news.announce();
    return deleted;
  }

  async subscribeFrom(
    args: GroupArgs,
    { timestamp, asSent }: SubscriptionRequest,
  ): Promise<UpdatedSubscription> {
    const { queues, ...updated } = await this.call(updateConsumerGroupSubscriptionV1, { ...args, timestamp });
    for (const queue of queues) this.memory.cursorsMoved(args.tenant, queue, args.group);
    this.news.announce();
    return { ...updated, newTimestamp: asSent };
  }

  /**
   * The reply as clients know it.
   * @throws BrokerError `not_found` when there is nothing to move
   */
  seek(target: SeekTarget, request: SeekRequest): Promise<unknown> {
    return request.dryRun ? this.preview(target, request) : this.move(target, request);
  }

  private async move(target: SeekTarget, request: SeekRequest): Promise<unknown> {
    const { tenant, queue, group, partition } = target;
    const result: SeekResult =
      partition === null
        ? await this.call(logSeekConsumerGroupV1, { ...target, ...request })
        : await this.call(logSeekPartitionV1, { ...target, ...request, partition });
    if (!result.success) {
      const { error, ...rest } = result;
      throw new BrokerError('not_found', error, rest);
    }
    if (partition === null) this.memory.cursorsMoved(tenant, queue, group);
    else this.memory.cursorMoved(tenant, queue, partition, group, true);
    this.news.announce();
    return result;
  }

  private async preview(target: SeekTarget, request: SeekRequest): Promise<unknown> {
    const { queue, group, partition } = target;
    const { partitions, ...counts } = await this.call(logSeekPreviewV1, { ...target, ...request });
    const whole = partition === null;
    const where = { consumerGroup: group, queueName: queue, ...(whole ? {} : { partitionName: partition }) };
    const moved = whole ? { partitionsUpdated: 0 } : { updated: false };
    if (partitions === 0) {
      const error = whole ? 'Queue not found or has no partitions' : 'Partition not found';
      throw new BrokerError('not_found', error, { success: false, ...where, ...moved });
    }
    const { toEnd, timestamp } = request;
    // Milliseconds, as a seek itself answers.
    const to = { seekToEnd: toEnd, targetTimestamp: timestamp?.replace(/\d{3}Z$/, 'Z') ?? null };
    return { success: true, ...where, ...to, ...moved, dryRun: true, partitions, ...counts };
  }

  private async call<Args, Row>(procedure: Procedure<Args, Row>, args: Args): Promise<Row> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.rawSql.callOne(procedure, args);
      } catch (error) {
        if (!(error instanceof SqlStatementError && error.retryable && attempt < ATTEMPTS)) throw error;
      }
    }
  }
}
