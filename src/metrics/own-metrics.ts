import { Inject, Injectable } from '@nestjs/common';
import {
  WORKER_GROUP,
  type ProcessMetrics,
  type ProcessNumbers,
  type WorkerGroup,
} from '../base/worker-group/worker-group.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { Activity } from './activity.js';
import { PrometheusExposition } from './prometheus.exposition.js';

/** What this process counted, alone. Other processes of the broker add it to theirs. */
@Injectable()
export class OwnMetrics {
  constructor(
    private readonly activity: Activity,
    private readonly rawSql: RawSqlService,
    private readonly exposition: PrometheusExposition,
    @Inject(WORKER_GROUP) group: WorkerGroup,
  ) {
    group.answerWith(() => this.take());
  }

  numbers(): ProcessNumbers {
    const counts = this.activity.counts();
    const pool = this.rawSql.stats();
    const memory = process.memoryUsage();
    const cpu = process.cpuUsage();
    return {
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
    };
  }

  private async take(): Promise<ProcessMetrics> {
    return { families: await this.exposition.values(), numbers: this.numbers() };
  }
}
