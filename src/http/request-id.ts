import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';

export const REQUEST_ID_HEADER = 'x-request-id';

/** Harmless in a log line and in a header, and bounded. */
const SANE = /^[\w.:/+=-]{1,128}$/;

/** Of this process; the number of the request follows. Unique without a random number, or a clock, for each. */
const PREFIX = `${randomBytes(8).toString('hex')}-`;
let requests = 0;

/** The caller's id for a request, when it is sane; otherwise one of ours. */
export function requestIdOf({ headers }: { headers: Record<string, string | string[] | undefined> }): string {
  const given = headers[REQUEST_ID_HEADER];
  if (typeof given === 'string' && SANE.test(given)) return given;
  requests += 1;
  return PREFIX + requests.toString(36);
}

/** Every answer names the request's id, so that client and log can be brought together. */
export function echoRequestIds(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header(REQUEST_ID_HEADER, request.id);
    done();
  });
}
