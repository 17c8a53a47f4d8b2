import { Injectable } from '@nestjs/common';
import { CoalescedCalls } from '../base/coalesced-calls.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { namedFailure } from '../raw-sql/named-failure.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { QueueCounts } from './queue-counts.js';
import { statsReportV1 } from './stats.procedures.js';
import {
  getAnalyticsV1,
  getQueueDetailV2,
  getStatusQueuesV2,
  getStatusV3,
  type QueueFilter,
  type QueuePageArgs,
  type Reply,
  type TimeRange,
} from './status.procedures.js';

/** A refresh on demand goes further than a run of the loop, and still ends. */
const REFRESH_BUDGET = 200_000;

@Injectable()
export class StatusService {
  private readonly refreshes = new CoalescedCalls<Reply>();

  constructor(
    private readonly rawSql: RawSqlService,
    private readonly counts: QueueCounts,
  ) {}

  status(args: QueueFilter & TimeRange): Promise<Reply> {
    return namedFailure('status', this.rawSql.callOne(getStatusV3, args));
  }

  queues(args: QueueFilter & { limit: number; offset: number }): Promise<Reply> {
    return namedFailure('status queues', this.rawSql.callOne(getStatusQueuesV2, args));
  }

  /** @throws BrokerError `not_found` */
  async queue(args: QueuePageArgs): Promise<Reply> {
    const reply = await namedFailure('queue detail', this.rawSql.callOne(getQueueDetailV2, args));
    if (typeof reply.error === 'string') throw new BrokerError('not_found', reply.error);
    return reply;
  }

  analytics(args: QueueFilter & TimeRange & { interval: string }): Promise<Reply> {
    return namedFailure('analytics', this.rawSql.callOne(getAnalyticsV1, args));
  }

  /** Counts and weighs now, as far as the budget goes; those who ask at the same time share it. */
  refresh(tenant: string): Promise<Reply> {
    return this.refreshes.call(tenant, async () => {
      const { finished } = await namedFailure('refresh', this.counts.count(0, REFRESH_BUDGET));
      await namedFailure('refresh', this.counts.weigh(0, REFRESH_BUDGET));
      const report = await namedFailure('refresh', this.rawSql.callOne(statsReportV1, tenant));
      return { engine: 'segments', queuesUpdated: finished, ...report };
    });
  }
}
