import { Controller, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { nameProblem } from '../base/names/names.js';
import { sendJson } from '../http/json-reply.js';
import { bodyOf } from '../http/read-body.js';
import { parsePauseBody } from './pause.request.js';
import { PauseService } from './pause.service.js';

@Controller('api/v1/resources/queues/:queue')
export class PauseController {
  constructor(private readonly pauses: PauseService) {}

  @Post('pause')
  async pause(
    @Param('queue') queue: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    requireName(queue);
    sendJson(reply, 200, await this.pauses.pause(request.tenant, queue, parsePauseBody(bodyOf(request))));
  }

  @Post('resume')
  async resume(
    @Param('queue') queue: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    requireName(queue);
    sendJson(reply, 200, await this.pauses.resume(request.tenant, queue, parsePauseBody(bodyOf(request))));
  }
}

function requireName(queue: string): void {
  const problem = nameProblem('queue', queue);
  if (problem) throw new BrokerError('bad_name', problem);
}
