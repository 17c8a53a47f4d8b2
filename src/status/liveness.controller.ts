import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ENGINE } from '../base/version.js';
import { sendJson } from '../http/json-reply.js';

/** The oldest question a client may ask: is there a broker? Asks nobody else. */
@Controller('status')
export class LivenessController {
  @Get()
  status(@Res() reply: FastifyReply): void {
    sendJson(reply, 200, { status: 'ok', engine: ENGINE });
  }
}
