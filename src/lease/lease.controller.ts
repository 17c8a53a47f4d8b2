import { Controller, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendJson } from '../http/json-reply.js';
import { bodyOf } from '../http/read-body.js';
import { parseExtendBody } from './lease.request.js';
import { LeaseService } from './lease.service.js';

@Controller('api/v1/lease')
export class LeaseController {
  constructor(private readonly leases: LeaseService) {}

  /** Always 200: that nothing is left to renew is an answer, `success:false`. Clients differ in the key they read. */
  @Post(':leaseId/extend')
  async extend(
    @Param('leaseId') leaseId: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { renewed, expiresAt } = await this.leases.extend(
      leaseId,
      parseExtendBody(bodyOf(request)),
      request.owner,
    );
    sendJson(reply, 200, {
      leaseId,
      success: renewed > 0,
      renewed,
      newExpiresAt: expiresAt,
      expiresAt,
      lease_expires_at: expiresAt,
    });
  }
}
