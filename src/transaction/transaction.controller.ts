import { Controller, Inject, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CLOCK, type Clock } from '../base/clock/clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { sendJson, sendJsonBytes } from '../http/json-reply.js';
import { bodyOf } from '../http/read-body.js';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import { renderResults } from './transaction.reply.js';
import { parseTransactionBody, type TransactionRequest } from './transaction.request.js';
import { TransactionService } from './transaction.service.js';

/**
 * 200 for what was decided, also for a rollback: `success` says which. A request that cannot be carried out at all is
 * 400 in the same shape. `transactionId` is this call's own, for the log of whoever made it.
 */
@Controller('api/v1/transaction')
export class TransactionController {
  constructor(
    private readonly transactions: TransactionService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Post()
  async run(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const transactionId = uuidText(mintUuid(this.clock.wallMs()));
    const body = bodyOf(request);
    const outcome = await this.transactions.run(parse(body, transactionId), {
      tenant: request.tenant,
      bodyBytes: body.length,
      producerSub: request.subject,
    });
    if (outcome.success) sendJsonBytes(reply, 200, await renderResults(transactionId, outcome.results));
    else sendJson(reply, 200, { transactionId, success: false, error: outcome.error, results: [] });
  }
}

function parse(body: Buffer, transactionId: string): TransactionRequest {
  try {
    return parseTransactionBody(body);
  } catch (error) {
    if (!(error instanceof BrokerError) || error.code !== 'bad_transaction') throw error;
    throw new BrokerError(error.code, error.message, { transactionId, success: false, results: [] });
  }
}
