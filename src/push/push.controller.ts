import { Controller, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendJsonBytes } from '../http/json-reply.js';
import { bodyOf } from '../http/read-body.js';
import { renderPushResults } from './push.reply.js';
import { parsePushBodyInSlices } from './push.request.js';
import { PushService } from './push.service.js';

/** Body in, items to the service, results out. A push that began is finished whether or not its client stays. */
@Controller('api/v1/push')
export class PushController {
  constructor(private readonly pushes: PushService) {}

  @Post()
  async push(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const body = bodyOf(request);
    const parsed = parsePushBodyInSlices(body);
    const push = parsed instanceof Promise ? await parsed : parsed;
    const results = await this.pushes.push(push, {
      tenant: request.tenant,
      bodyBytes: body.length,
      producerSub: request.subject,
    });
    // In push maintenance a client is told of a full disk by the status as well; the array is there in any case.
    const status = results.some(({ failure }) => failure?.code === 'spool_failed') ? 500 : 201;
    sendJsonBytes(reply, status, await renderPushResults(results));
  }
}
