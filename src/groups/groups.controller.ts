import { Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { nameProblem, type NameKind } from '../base/names/names.js';
import { sendJson } from '../http/json-reply.js';
import { ListQuery } from '../http/list-query.js';
import { bodyOf } from '../http/read-body.js';
import { parseSeekBody, parseSubscriptionBody, type SeekRequest } from './groups.request.js';
import { GroupsService, type SeekTarget } from './groups.service.js';

export const LIMIT = { default: 1000, min: 1, max: 1000 };
export const OFFSET = { default: 0, min: 0, max: 2_147_483_647 };
export const MIN_LAG_SECONDS = { default: 3600, min: 0, max: 2_147_483_647 };

/** Administration of consumer groups. A group called `lagging` cannot be looked at by its name: that path is taken. */
@Controller('api/v1/consumer-groups')
export class GroupsController {
  constructor(private readonly groups: GroupsService) {}

  @Get()
  async list(@Req() { tenant }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendJson(reply, 200, await this.groups.list(tenant));
  }

  @Get('lagging')
  async lagging(@Req() { tenant, url }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = new ListQuery(url);
    const minLagSeconds = query.integer('minLagSeconds', MIN_LAG_SECONDS);
    const found = await this.groups.lagging({ tenant, minLagSeconds, ...pageOf(query) });
    sendJson(reply, 200, found);
  }

  @Get(':group')
  async details(
    @Param('group') group: string,
    @Req() { tenant, url }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    requireName('consumerGroup', group);
    const page = pageOf(new ListQuery(url));
    sendJson(reply, 200, await this.groups.details({ tenant, group, ...page }));
  }

  @Delete(':group')
  async delete(
    @Param('group') group: string,
    @Req() { tenant, url }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    requireName('consumerGroup', group);
    const deleteMetadata = new ListQuery(url).boolean('deleteMetadata', true);
    sendJson(reply, 200, await this.groups.delete({ tenant, group, deleteMetadata }));
  }

  @Delete(':group/queues/:queue')
  async deleteForQueue(
    @Param('group') group: string,
    @Param('queue') queue: string,
    @Req() { tenant, url }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    requireName('consumerGroup', group);
    requireName('queue', queue);
    const deleteMetadata = new ListQuery(url).boolean('deleteMetadata', true);
    const args = { tenant, group, queue, deleteMetadata };
    sendJson(reply, 200, await this.groups.deleteForQueue(args));
  }

  @Post(':group/subscription')
  async subscription(
    @Param('group') group: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    requireName('consumerGroup', group);
    const subscription = parseSubscriptionBody(bodyOf(request));
    sendJson(reply, 200, await this.groups.subscribeFrom({ tenant: request.tenant, group }, subscription));
  }

  @Post(':group/queues/:queue/seek')
  async seekQueue(
    @Param('group') group: string,
    @Param('queue') queue: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const target = seekTarget(request.tenant, group, queue, null);
    sendJson(reply, 200, await this.groups.seek(target, seekOf(request, false)));
  }

  @Post(':group/queues/:queue/partitions/:partition/seek')
  async seekPartition(
    @Param('group') group: string,
    @Param('queue') queue: string,
    @Param('partition') partition: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const target = seekTarget(request.tenant, group, queue, partition);
    sendJson(reply, 200, await this.groups.seek(target, seekOf(request, true)));
  }
}

function pageOf(query: ListQuery): { limit: number; offset: number } {
  return { limit: query.integer('limit', LIMIT), offset: query.integer('offset', OFFSET) };
}

function seekOf(request: FastifyRequest, ofPartition: boolean): SeekRequest {
  const seek = parseSeekBody(bodyOf(request), ofPartition);
  return { ...seek, dryRun: new ListQuery(request.url).boolean('dryRun', seek.dryRun) };
}

function seekTarget(tenant: string, group: string, queue: string, partition: string | null): SeekTarget {
  requireName('consumerGroup', group);
  requireName('queue', queue);
  if (partition !== null) requireName('partition', partition);
  return { tenant, group, queue, partition };
}

/** Without a group in the path there is nobody to speak of; queue mode has a name of its own. */
function requireName(kind: NameKind, name: string): void {
  const isMissing = name === '' && kind === 'consumerGroup';
  const problem = isMissing ? 'consumerGroup must not be empty' : nameProblem(kind, name);
  if (problem) throw new BrokerError('bad_name', problem);
}
