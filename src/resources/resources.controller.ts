import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { nameProblem, type NameKind } from '../base/names/names.js';
import { sendJson } from '../http/json-reply.js';
import { ListQuery } from '../http/list-query.js';
import { partitionPage } from '../http/partition-page.js';
import { ResourcesService } from './resources.service.js';

export const LIMIT = { default: 1000, min: 1, max: 1000 };

@Controller('api/v1/resources')
export class ResourcesController {
  constructor(private readonly resources: ResourcesService) {}

  /** All of them: clients of this route know no paging. `status/queues` has it. */
  @Get('queues')
  async queues(@Req() { tenant }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendJson(reply, 200, await this.resources.queues(tenant));
  }

  @Get('queues/:queue')
  async queue(
    @Param('queue') queue: string,
    @Req() { tenant, url }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    requireName('queue', queue);
    const args = { tenant, queue, ...partitionPage(url) };
    sendJson(reply, 200, await this.resources.queue(args));
  }

  @Get('queues/:queue/depth')
  async depth(
    @Param('queue') queue: string,
    @Req() { tenant, url }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    requireName('queue', queue);
    const query = new ListQuery(url);
    const group = query.text('group');
    if (group !== null) requireName('consumerGroup', group);
    const args = { tenant, queue, group, limit: query.integer('limit', LIMIT) };
    sendJson(reply, 200, await this.resources.depth(args));
  }

  @Get('overview')
  async overview(@Req() { tenant }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendJson(reply, 200, await this.resources.overview(tenant));
  }

  @Get('namespaces')
  async namespaces(@Req() { tenant }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendJson(reply, 200, await this.resources.namespaces(tenant));
  }

  @Get('tasks')
  async tasks(@Req() { tenant }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendJson(reply, 200, await this.resources.tasks(tenant));
  }
}

function requireName(kind: NameKind, name: string): void {
  const problem = nameProblem(kind, name);
  if (problem) throw new BrokerError('bad_name', problem);
}
