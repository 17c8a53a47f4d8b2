import { Controller, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { textFlaw } from '../base/json/text-flaw.js';
import { sendJson } from '../http/json-reply.js';
import { sendJsonStream } from '../http/json-stream.js';
import { messageAddress } from '../http/message-address.js';
import { bodyOf } from '../http/read-body.js';
import { namedTraceFields, renderTraces, traceFields } from './trace.reply.js';
import { parsePage, parseTraceBody } from './trace.request.js';
import { TracesService } from './traces.service.js';

export const BY_NAME_LIMIT = 100;
export const NAMES_LIMIT = 50;

@Controller('api/v1/traces')
export class TracesController {
  constructor(private readonly traces: TracesService) {}

  @Post()
  async record(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const traceId = await this.traces.record(request.owner, parseTraceBody(bodyOf(request)));
    sendJson(reply, 201, { success: true, traceId });
  }

  @Get('names')
  async names(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const pagination = parsePage(request.url, NAMES_LIMIT);
    sendJson(reply, 200, { ...(await this.traces.names(request.tenant, pagination)), pagination });
  }

  @Get('by-name/:traceName')
  async byName(
    @Param('traceName') name: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const pagination = parsePage(request.url, BY_NAME_LIMIT);
    const flaw = textFlaw(name);
    if (flaw) throw new BrokerError('bad_parameter', `traceName must not contain ${flaw}`);
    const total = await this.traces.countByName(request.tenant, name);
    const pieces = this.traces.byName(request.tenant, name, pagination);
    await sendJsonStream(reply, 200, renderTraces(pieces, namedTraceFields, { total, pagination }));
  }

  @Get(':partitionId/:transactionId')
  async ofMessage(
    @Param('partitionId') partitionId: string,
    @Param('transactionId') transactionId: string,
    @Req() { tenant }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const address = messageAddress(tenant, partitionId, transactionId);
    await sendJsonStream(reply, 200, renderTraces(this.traces.ofMessage(address), traceFields));
  }
}
