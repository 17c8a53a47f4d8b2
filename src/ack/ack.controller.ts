import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { nameProblem } from '../base/names/names.js';
import { sendJsonBytes } from '../http/json-reply.js';
import { bodyOf } from '../http/read-body.js';
import { renderAckReply } from './ack.reply.js';
import { type AckRequest, parseAckBatchBodyInSlices, parseAckBody } from './ack.request.js';
import { AckService } from './ack.service.js';

/** Both routes answer 200 with an array, one result per acknowledgement in order, whatever became of each. */
@Controller('api/v1/ack')
export class AckController {
  constructor(private readonly acks: AckService) {}

  @Post()
  ackOne(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.answer(parseAckBody(bodyOf(request)), request.owner, reply);
  }

  @Post('batch')
  async ackBatch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const parsed = parseAckBatchBodyInSlices(bodyOf(request));
    const acks = parsed instanceof Promise ? await parsed : parsed;
    return this.answer(acks, request.owner, reply);
  }

  private async answer(request: AckRequest, owner: string | null, reply: FastifyReply): Promise<void> {
    const problem = nameProblem('consumerGroup', request.group);
    if (problem) throw new BrokerError('bad_name', problem);
    const results = await this.acks.acknowledge(request, owner);
    sendJsonBytes(reply, 200, await renderAckReply(request.items, results));
  }
}
