import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { WORKER_GROUP, type WorkerGroup } from '../base/worker-group/worker-group.js';
import { sendJson } from '../http/json-reply.js';
import { OwnMetrics } from './own-metrics.js';

/** The few numbers of this broker that older clients read as JSON; for everything else there is the exposition. */
@Controller('metrics')
export class MetricsJsonController {
  constructor(
    private readonly own: OwnMetrics,
    @Inject(WORKER_GROUP) private readonly group: WorkerGroup,
  ) {}

  @Get()
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    const all = await this.group.gather();
    sendJson(reply, 200, all ? all.numbers : this.own.numbers());
  }
}
