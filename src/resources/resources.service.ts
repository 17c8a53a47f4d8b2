import { Injectable } from '@nestjs/common';
import { CoalescedCalls } from '../base/coalesced-calls.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { namedFailure } from '../raw-sql/named-failure.js';
import type { Procedure } from '../raw-sql/procedure.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import {
  getNamespacesV2,
  getQueuesV2,
  getQueueV2,
  getSystemOverviewV3,
  getTasksV2,
  logQueueDepthV1,
  type Found,
  type QueueArgs,
  type QueuePageArgs,
  type Reply,
} from './resources.procedures.js';

/**
 * What there is, for people and tools. Views over all queues are shared between those who ask at the same time: a wall
 * of dashboards costs as much as one.
 */
@Injectable()
export class ResourcesService {
  private readonly views = new CoalescedCalls<Reply>();

  constructor(private readonly rawSql: RawSqlService) {}

  queues(tenant: string): Promise<Reply> {
    return this.view('list', getQueuesV2, tenant);
  }

  overview(tenant: string): Promise<Reply> {
    return this.view('overview', getSystemOverviewV3, tenant);
  }

  namespaces(tenant: string): Promise<Reply> {
    return this.view('namespaces', getNamespacesV2, tenant);
  }

  tasks(tenant: string): Promise<Reply> {
    return this.view('tasks', getTasksV2, tenant);
  }

  /** @throws BrokerError `not_found` */
  queue(args: QueuePageArgs): Promise<Reply> {
    return this.found('detail', getQueueV2, args);
  }

  /** @throws BrokerError `not_found` */
  depth(args: QueueArgs & { group: string | null }): Promise<Reply> {
    return this.found('depth', logQueueDepthV1, args);
  }

  private view(verb: string, procedure: Procedure<string, Reply>, tenant: string): Promise<Reply> {
    return this.views.call(`${procedure.name}\u001f${tenant}`, () =>
      namedFailure(verb, this.rawSql.callOne(procedure, tenant)),
    );
  }

  private async found<Args>(verb: string, procedure: Procedure<Args, Found>, args: Args): Promise<Reply> {
    const reply = await namedFailure(verb, this.rawSql.callOne(procedure, args));
    if (typeof reply.error === 'string') throw new BrokerError('not_found', reply.error);
    return reply;
  }
}
