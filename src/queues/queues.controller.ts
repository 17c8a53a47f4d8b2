import { Controller, Delete, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { nameProblem } from '../base/names/names.js';
import { sendJson } from '../http/json-reply.js';
import { bodyOf } from '../http/read-body.js';
import { parseConfigureBody } from './configure.request.js';
import { QueuesService } from './queues.service.js';

@Controller('api/v1')
export class QueuesController {
  constructor(private readonly queues: QueuesService) {}

  @Post('configure')
  async configure(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const configured = await this.queues.configure(request.tenant, parseConfigureBody(bodyOf(request)));
    sendJson(reply, 200, configured);
  }

  /** Always 200 with a body, also for a queue that is not there: clients delete before they create. */
  @Delete('resources/queues/:queue')
  async delete(
    @Param('queue') queue: string,
    @Req() { tenant }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const problem = nameProblem('queue', queue);
    if (problem) throw new BrokerError('bad_name', problem);
    sendJson(reply, 200, await this.queues.delete(tenant, queue));
  }
}
