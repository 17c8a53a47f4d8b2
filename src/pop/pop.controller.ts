import { Controller, Get, Inject, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { AbortedError } from '../base/errors/aborted-error.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { clientGone } from '../http/client-gone.js';
import { PopMetrics } from './pop.metrics.js';
import { sendDelivery } from './pop.reply.js';
import { PopRequestParser, type PopTarget } from './pop.request.js';
import { PopService } from './pop.service.js';

/** The three shapes of a pop (seed). Query in, request to the service, delivery out. */
@Controller('api/v1/pop')
export class PopController {
  private readonly parser: PopRequestParser;

  constructor(
    private readonly pops: PopService,
    private readonly metrics: PopMetrics,
    @Inject(environmentConfig.KEY) environment: Environment,
  ) {
    this.parser = new PopRequestParser(environment.DEFAULT_TIMEOUT);
  }

  @Get('queue/:queue')
  popQueue(
    @Param('queue') queue: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.answer({ scope: 'queue', queue }, request, reply);
  }

  @Get('queue/:queue/partition/:partition')
  popPartition(
    @Param('queue') queue: string,
    @Param('partition') partition: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    return this.answer({ scope: 'partition', queue, partition }, request, reply);
  }

  @Get()
  popDiscover(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer({ scope: 'discovery' }, request, reply);
  }

  private async answer(target: PopTarget, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const pop = this.parser.of(request.url, target, request.tenant);
    try {
      this.metrics.request();
      const delivery = await this.pops.serve(pop, clientGone(reply));
      this.metrics.delivered(delivery.count);
      sendDelivery(reply, pop, delivery);
    } catch (error) {
      if (error instanceof AbortedError) return void reply.hijack(); // nobody is there to read an answer
      throw named(error);
    }
  }
}

/** Clients of the original broker look for this text; the code says which failure it was. */
function named(error: unknown): unknown {
  if (error instanceof BrokerError && (error.code === 'sql_failed' || error.code === 'statement_timeout')) {
    return new BrokerError(error.code, 'pop failed', error.extra, { cause: error.cause });
  }
  return error;
}
