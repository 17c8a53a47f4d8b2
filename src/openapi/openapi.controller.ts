import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { sendJsonBytes } from '../http/json-reply.js';

/** The document, written once when it is first asked for; neither it nor its parts are loaded before. */
@Controller('openapi.json')
export class OpenApiController {
  private bytes: Promise<Buffer> | undefined;

  @Get()
  async document(@Res() reply: FastifyReply): Promise<void> {
    this.bytes ??= import('./document.js').then(({ openApiDocument }) =>
      Buffer.from(JSON.stringify(openApiDocument())),
    );
    const bytes = await this.bytes;
    void reply.header('cache-control', 'no-cache');
    sendJsonBytes(reply, 200, bytes);
  }
}
