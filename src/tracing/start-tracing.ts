import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AckService } from '../ack/ack.service.js';
import { HandOver } from '../pop/hand-over.js';
import { PopService } from '../pop/pop.service.js';
import { PushService } from '../push/push.service.js';
import { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { TransactionService } from '../transaction/transaction.service.js';
import { followRemoteParents } from './remote-parent.js';
import { TraceProvider, type TraceOptions } from './trace-provider.js';
import { traceAcks } from './traced-ack.js';
import { tracePops } from './traced-pop.js';
import { tracePushes, traceTransactions } from './traced-push.js';
import { traceStatements } from './traced-statements.js';

/**
 * Puts spans around the entry points of the application, between its making and its initialisation. The services know
 * nothing of it: without tracing neither this folder nor OpenTelemetry is loaded, and a request meets no wrapper.
 */
export function startTracing(app: NestFastifyApplication, options: TraceOptions): TraceProvider {
  const provider = new TraceProvider(options);
  const { tracer } = provider;
  followRemoteParents(app.getHttpAdapter().getInstance() as never);
  tracePushes(app.get(PushService), tracer);
  traceTransactions(app.get(TransactionService), tracer);
  tracePops(app.get(PopService), app.get(HandOver), tracer);
  traceAcks(app.get(AckService), tracer);
  traceStatements(app.get(RawSqlService), tracer);
  return provider;
}
