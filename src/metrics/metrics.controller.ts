import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { PrometheusExposition } from './prometheus.exposition.js';

@Controller('metrics')
export class MetricsController {
  constructor(private readonly exposition: PrometheusExposition) {}

  @Get('prometheus')
  async prometheus(@Res() reply: FastifyReply): Promise<void> {
    const text = await this.exposition.render();
    void reply.code(200).header('cache-control', 'no-cache').type(this.exposition.contentType).send(text);
  }
}
