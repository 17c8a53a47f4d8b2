import { context, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import type { FastifyInstance } from 'fastify';

/**
 * Makes the trace of a request (`traceparent`, `tracestate`) the parent of what is done for it. Once the body is there:
 * reading it leaves the asynchronous chain that the context goes along.
 */
export function followRemoteParents(fastify: FastifyInstance): void {
  fastify.addHook('preHandler', (request, _reply, done) => {
    context.with(propagation.extract(ROOT_CONTEXT, request.headers), done);
  });
}
