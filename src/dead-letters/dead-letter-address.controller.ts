import { Controller, Delete, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { sendJson } from '../http/json-reply.js';
import { messageAddress, type MessageAddress } from '../http/message-address.js';
import { replayReply } from './dead-letter.reply.js';
import { DeadLettersService } from './dead-letters.service.js';
import { moved } from './replay-refusal.js';
import { ReplayService } from './replay.service.js';

const NOTHING_THERE = 'There is no dead letter at this address; messages in the log cannot be changed';

/**
 * What can be done to a message by its address: only to the dead letters it left behind. Messages in the log never
 * change, so these routes live here and not with the reading ones.
 */
@Controller('api/v1/messages/:partitionId/:transactionId')
export class DeadLetterAddressController {
  constructor(
    private readonly letters: DeadLettersService,
    private readonly replays: ReplayService,
  ) {}

  /** Removes the dead letters of all groups. */
  @Delete()
  async delete(
    @Param('partitionId') partitionId: string,
    @Param('transactionId') transactionId: string,
    @Req() { tenant }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const address = messageAddress(tenant, partitionId, transactionId);
    const deleted = await this.letters.deleteAt(address);
    if (!deleted.success) throw notFound(address);
    sendJson(reply, 200, deleted);
  }

  /** Replays the newest dead letter to where it came from. */
  @Post('retry')
  async retry(
    @Param('partitionId') partitionId: string,
    @Param('transactionId') transactionId: string,
    @Req() { tenant }: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const address = messageAddress(tenant, partitionId, transactionId);
    const outcome = await this.replays.replayNewest(address);
    if (outcome.result === 'gone') throw notFound(address);
    sendJson(reply, 200, replayReply(moved(outcome)));
  }
}

function notFound({ partitionId, transactionId }: MessageAddress): BrokerError {
  return new BrokerError('message_not_found', 'Message not found', {
    ...{ success: false, partitionId, transactionId, message: NOTHING_THERE },
  });
}
