import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { WORKER_GROUP, type WorkerGroup } from '../base/worker-group/worker-group.js';
import { PrometheusExposition } from './prometheus.exposition.js';

@Controller('metrics')
export class MetricsController {
  constructor(
    private readonly exposition: PrometheusExposition,
    @Inject(WORKER_GROUP) private readonly group: WorkerGroup,
  ) {}

  @Get('prometheus')
  async prometheus(@Res() reply: FastifyReply): Promise<void> {
    const all = await this.group.gather();
    const text = all ? all.exposition : await this.exposition.render();
    void reply.code(200).header('cache-control', 'no-cache').type(this.exposition.contentType).send(text);
  }
}
