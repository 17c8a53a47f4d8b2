import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendJson } from '../http/json-reply.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { Activity } from './activity.js';

/** The few numbers of this process that older clients read as JSON; for everything else there is the exposition. */
@Controller('metrics')
export class MetricsJsonController {
  constructor(
    private readonly activity: Activity,
    private readonly rawSql: RawSqlService,
  ) {}

  @Get()
  metrics(@Res() reply: FastifyReply): void {
    const counts = this.activity.counts();
    const pool = this.rawSql.stats();
    const memory = process.memoryUsage();
    const cpu = process.cpuUsage();
    sendJson(reply, 200, {
      uptime: process.uptime(),
      // Rates need two readings, and the reader has them.
      requests: { total: counts.pushRequests + counts.popRequests + counts.ackRequests, rate: 0 },
      messages: { total: counts.pushMessages + counts.popMessages + counts.ackMessages, rate: 0 },
      database: { poolSize: pool.size, idleConnections: pool.idle, waitingRequests: pool.waiting },
      memory: {
        rss: memory.rss,
        heapTotal: memory.heapTotal,
        heapUsed: memory.heapUsed,
        external: memory.external,
        arrayBuffers: memory.arrayBuffers,
      },
      cpu: { user: cpu.user, system: cpu.system },
    });
  }
}
