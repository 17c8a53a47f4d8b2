import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendJson } from '../http/json-reply.js';
import { bodyOf } from '../http/read-body.js';
import { BufferReplies } from './buffer-replies.js';
import { parseSwitchBody } from './maintenance.request.js';
import { MaintenanceService } from './maintenance.service.js';

/** The texts are read by people and by the command line client, so they are those of the original broker. */
const PUSH_ON = 'Maintenance mode ENABLED. All PUSHes routing to file buffer.';
const PUSH_OFF = 'Maintenance mode DISABLED. Background processor will drain buffer to DB.';
const POP_IS_ON = 'Pop maintenance mode is ON. All POP operations return empty arrays.';
const POP_IS_OFF = 'Pop maintenance mode is OFF. Normal operation.';
const POP_ON = 'Pop maintenance mode ENABLED. All POP operations will return empty arrays.';
const POP_OFF = 'Pop maintenance mode DISABLED. Normal operation resumed.';

@Controller('api/v1/system')
export class MaintenanceController {
  constructor(
    private readonly maintenance: MaintenanceService,
    private readonly buffer: BufferReplies,
  ) {}

  /** Never fails: an operator asks during an outage. */
  @Get('maintenance')
  async status(@Res() reply: FastifyReply): Promise<void> {
    const { push, pop } = await this.maintenance.current();
    sendJson(reply, 200, { maintenanceMode: push, popMaintenanceMode: pop, ...this.buffer.get() });
  }

  @Post('maintenance')
  async setPush(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const enabled = parseSwitchBody(bodyOf(request));
    await this.maintenance.setPush(enabled);
    const { bufferedMessages, bufferHealthy } = this.buffer.get();
    const message = enabled ? PUSH_ON : PUSH_OFF;
    sendJson(reply, 200, { maintenanceMode: enabled, bufferedMessages, bufferHealthy, message });
  }

  @Get('maintenance/pop')
  async popStatus(@Res() reply: FastifyReply): Promise<void> {
    const { pop } = await this.maintenance.current();
    sendJson(reply, 200, { popMaintenanceMode: pop, message: pop ? POP_IS_ON : POP_IS_OFF });
  }

  @Post('maintenance/pop')
  async setPop(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const enabled = parseSwitchBody(bodyOf(request));
    await this.maintenance.setPop(enabled);
    sendJson(reply, 200, { popMaintenanceMode: enabled, message: enabled ? POP_ON : POP_OFF });
  }

  /** Brokers share their state in PostgreSQL only; the keys are those that clients look for. */
  @Get('shared-state')
  async sharedState(@Res() reply: FastifyReply): Promise<void> {
    const { push, pop } = await this.maintenance.current();
    sendJson(reply, 200, {
      enabled: false,
      reason: 'single_node_segments_broker',
      maintenance_mode: push,
      pop_maintenance_mode: pop,
    });
  }
}
