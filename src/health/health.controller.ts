import { Controller, Get, Head, HttpException, Res } from '@nestjs/common';
import { HealthCheck, HealthCheckService, type HealthCheckResult } from '@nestjs/terminus';
import type { FastifyReply } from 'fastify';
import { brokerVersion, ENGINE } from '../base/version.js';
import { sendJson } from '../http/json-reply.js';
import { DatabaseIndicator } from './database.indicator.js';
import { DrainingIndicator } from './draining.indicator.js';

/**
 * `startup`: the database is prepared. `live`: the process turns its loop. `ready`: it may be sent work. `/health` keeps
 * the shape its clients know. Until the broker itself listens, the starting server answers in its place.
 */
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly database: DatabaseIndicator,
    private readonly draining: DrainingIndicator,
  ) {}

  /** Independent of the database: restarting a broker does not bring PostgreSQL back. */
  @Get('live')
  @HealthCheck()
  async live(@Res() reply: FastifyReply): Promise<void> {
    await this.answer(reply, () => this.health.check([]));
  }

  /** Whoever is answered here at all finds a broker that has started; it never goes back. */
  @Get('startup')
  @HealthCheck()
  async startup(@Res() reply: FastifyReply): Promise<void> {
    await this.answer(reply, () => this.health.check([]));
  }

  @Get('ready')
  @HealthCheck()
  async ready(@Res() reply: FastifyReply): Promise<void> {
    await this.answer(reply, () =>
      this.health.check([() => this.draining.check(), () => this.database.check()]),
    );
  }

  @Get()
  @HealthCheck()
  async overall(@Res() reply: FastifyReply): Promise<void> {
    const { status } = await this.outcome(() => this.health.check([() => this.database.check()]));
    sendJson(reply, status, {
      status: status === 200 ? 'healthy' : 'unhealthy',
      database: status === 200 ? 'connected' : 'disconnected',
      engine: ENGINE,
      version: brokerVersion,
    });
  }

  /** Some load balancers probe by HEAD; Node leaves the body out. */
  @Head('live')
  liveHead(@Res() reply: FastifyReply): Promise<void> {
    return this.live(reply);
  }

  @Head('ready')
  readyHead(@Res() reply: FastifyReply): Promise<void> {
    return this.ready(reply);
  }

  @Head('startup')
  startupHead(@Res() reply: FastifyReply): Promise<void> {
    return this.startup(reply);
  }

  @Head()
  overallHead(@Res() reply: FastifyReply): Promise<void> {
    return this.overall(reply);
  }

  private async answer(reply: FastifyReply, check: () => Promise<HealthCheckResult>): Promise<void> {
    const { status, result } = await this.outcome(check);
    sendJson(reply, status, result);
  }

  /** Terminus tells "unhealthy" by throwing a 503; the body of both is the same report. */
  private async outcome(
    check: () => Promise<HealthCheckResult>,
  ): Promise<{ status: number; result: unknown }> {
    try {
      return { status: 200, result: await check() };
    } catch (error) {
      if (error instanceof HttpException) return { status: error.getStatus(), result: error.getResponse() };
      throw error;
    }
  }
}
