import { Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { isoMillis } from '../base/time/iso-millis.js';
import { clientGone } from '../http/client-gone.js';
import { sendJson } from '../http/json-reply.js';
import { sendJsonStream } from '../http/json-stream.js';
import { ListQuery } from '../http/list-query.js';
import { bodyOf } from '../http/read-body.js';
import { uuidParameter } from '../http/message-address.js';
import { BulkReplayService } from './bulk-replay.service.js';
import { FILTER_PARAMETERS, filterOf, passesAll } from './dead-letter-filter.js';
import { renderDeadLetters, replayReply } from './dead-letter.reply.js';
import { DeadLettersService } from './dead-letters.service.js';
import { moved } from './replay-refusal.js';
import { parseBulkReplayBody, parseReplayBody } from './replay.request.js';
import { ReplayService } from './replay.service.js';

export const LIMIT = { default: 100, min: 1, max: 1000 };
export const OFFSET = { default: 0, min: 0, max: 1_000_000 };
const PURGE_PARAMETERS = [...FILTER_PARAMETERS, 'all', 'dryRun'];

@Controller('api/v1/dlq')
export class DeadLettersController {
  constructor(
    private readonly letters: DeadLettersService,
    private readonly replays: ReplayService,
    private readonly bulkReplays: BulkReplayService,
  ) {}

  @Get()
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = new ListQuery(request.url);
    const page = { limit: query.integer('limit', LIMIT), offset: query.integer('offset', OFFSET) };
    const pieces = this.letters.list(filterOf(query, request.tenant), page);
    await sendJsonStream(reply, 200, renderDeadLetters(pieces, page));
  }

  /** Deletes by filter. Without one it wants `all=true`: a forgotten parameter must not empty the whole list. */
  @Delete()
  async purge(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = new ListQuery(request.url).allowOnly(PURGE_PARAMETERS);
    const filter = filterOf(query, request.tenant);
    if (passesAll(filter) && !query.boolean('all', false)) throw new BrokerError('filter_required');
    const dryRun = query.boolean('dryRun', false);
    const answer = dryRun
      ? { matched: await this.letters.count(filter), deleted: 0 }
      : { deleted: await this.letters.purge(filter, clientGone(reply)) };
    sendJson(reply, 200, { success: true, dryRun, ...answer });
  }

  @Post('replay')
  async replayMany(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const bulk = parseBulkReplayBody(bodyOf(request), request.tenant);
    if (bulk.dryRun) {
      const { matched, withoutPayload, oldest, newest } = await this.bulkReplays.preview(bulk);
      sendJson(reply, 200, {
        ...{ success: true, dryRun: true, matched, replayable: matched - withoutPayload },
        oldestFailedAt: oldest === null ? null : isoMillis(oldest),
        newestFailedAt: newest === null ? null : isoMillis(newest),
      });
      return;
    }
    const { stopped, ...progress } = await this.bulkReplays.run(bulk, clientGone(reply));
    sendJson(reply, 200, {
      ...{ success: stopped === null, dryRun: false, ...progress, done: progress.next === null },
      ...(stopped ? { stopped: { error: stopped.message, code: stopped.code } } : {}),
    });
  }

  @Post(':id/replay')
  async replay(
    @Param('id') id: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const letterId = uuidParameter('id', id);
    const outcome = await this.replays.replay(request.tenant, letterId, parseReplayBody(bodyOf(request)));
    if (outcome.result === 'gone') {
      throw new BrokerError('dead_letter_not_found', 'Dead letter not found', { success: false });
    }
    sendJson(reply, 200, replayReply(moved(outcome)));
  }
}
