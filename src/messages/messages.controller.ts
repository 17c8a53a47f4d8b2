import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendJsonBytes } from '../http/json-reply.js';
import { sendJsonStream } from '../http/json-stream.js';
import { messageAddress } from '../http/message-address.js';
import { renderDetail, renderPage } from './message.reply.js';
import { parseMessageList } from './messages.request.js';
import { MessagesService } from './messages.service.js';

@Controller('api/v1/messages')
export class MessagesController {
  constructor(private readonly messages: MessagesService) {}

  @Get()
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const page = await this.messages.page(parseMessageList(request.url, request.tenant));
    await sendJsonStream(reply, 200, renderPage(page, this.messages.withContents(page.rows)));
  }

  @Get(':partitionId/:transactionId')
  async detail(
    @Param('partitionId') partitionId: string,
    @Param('transactionId') transactionId: string,
    @Req() { tenant }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const address = messageAddress(tenant, partitionId, transactionId);
    const { row, content } = await this.messages.detail(address);
    sendJsonBytes(reply, 200, Buffer.from(renderDetail(address, row, content)));
  }
}
