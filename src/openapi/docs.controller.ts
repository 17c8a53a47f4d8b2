import { Controller, Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { PAGE, pageFile } from './page.js';
import { PAGE_POLICY } from './page-policy.js';

/** The document as a page. Its parts are read from disk for each visitor: there are few, and memory is for messages. */
@Controller('docs')
export class DocsController {
  @Get()
  page(@Res() reply: FastifyReply): void {
    send(reply, 'text/html; charset=utf-8', PAGE);
  }

  @Get(':asset')
  async asset(@Param('asset') name: string, @Res() reply: FastifyReply): Promise<void> {
    const file = await pageFile(name);
    if (!file) throw new BrokerError('not_found', 'The page has no such file');
    send(reply, file.mediaType, file.bytes);
  }
}

function send(reply: FastifyReply, mediaType: string, body: string | Buffer): void {
  void reply.code(200).headers(PAGE_POLICY).header('cache-control', 'no-cache').type(mediaType).send(body);
}
