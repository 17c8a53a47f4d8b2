import { Controller, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { nameProblem } from '../base/names/names.js';
import { WORKER_GROUP, type WorkerGroup } from '../base/worker-group/worker-group.js';
import { sendJson } from '../http/json-reply.js';
import { partitionPage } from '../http/partition-page.js';
import { Buffers } from './buffers.js';
import { parseAnalytics, parseStatus, parseStatusQueues } from './status.request.js';
import { StatusService } from './status.service.js';

@Controller('api/v1')
export class StatusController {
  constructor(
    private readonly statuses: StatusService,
    private readonly buffers: Buffers,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(WORKER_GROUP) private readonly group: WorkerGroup,
  ) {}

  @Get('status')
  async status(@Req() { tenant, url }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const request = parseStatus(url, tenant);
    sendJson(reply, 200, await this.statuses.status(request));
  }

  @Get('status/analytics')
  async analytics(@Req() { tenant, url }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const request = parseAnalytics(url, tenant, this.clock.wallMs());
    sendJson(reply, 200, await this.statuses.analytics(request));
  }

  /** Of the process that answers; `worker` says which of QUEEN_WORKERS it is. The sum is in the metrics. */
  @Get('status/buffers')
  buffered(@Res() reply: FastifyReply): void {
    const { pending, failed, dbHealthy } = this.buffers.stats();
    sendJson(reply, 200, { pending, failed, dbHealthy, worker: this.group.number });
  }

  @Get('status/queues')
  async queues(@Req() { tenant, url }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendJson(reply, 200, await this.statuses.queues(parseStatusQueues(url, tenant)));
  }

  @Get('status/queues/:queue')
  async queue(
    @Param('queue') queue: string,
    @Req() { tenant, url }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const problem = nameProblem('queue', queue);
    if (problem) throw new BrokerError('bad_name', problem);
    sendJson(reply, 200, await this.statuses.queue({ tenant, queue, ...partitionPage(url) }));
  }

  /** Whatever its body says: some clients send none, others an empty object. */
  @Post('stats/refresh')
  @HttpCode(200)
  async refresh(@Req() { tenant }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendJson(reply, 200, await this.statuses.refresh(tenant));
  }
}
