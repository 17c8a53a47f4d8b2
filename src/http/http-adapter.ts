import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import { BrokerError } from '../base/errors/broker-error.js';
import type { Environment } from '../base/config/environment.js';
import { answerFor, frameworkError } from './error-body.js';
import { JSON_TYPE } from './json-reply.js';
import { readBodiesAsBytes } from './read-body.js';
import type { RouteTable } from './route-table.js';
import { resolveTenants } from './tenant.js';

/** 255 bytes of name, each up to three characters when percent-encoded, and some room. */
const PARAM_LENGTH_MAX = 1024;
const SLOW_CLIENT_CHECK_MS = 500;
const NOT_HTTP = 'the request is not well-formed HTTP';

/** Fastify as the broker needs it: bytes in, long names, long idle connections, JSON for every failure. */
export function createHttpAdapter(environment: Environment, routes: RouteTable): FastifyAdapter {
  const adapter = new FastifyAdapter({
    logger: false,
    bodyLimit: environment.QUEEN_MAX_BODY_BYTES,
    keepAliveTimeout: environment.QUEEN_KEEP_ALIVE_TIMEOUT_MS,
    requestTimeout: environment.QUEEN_REQUEST_TIMEOUT_MS,
    // Node looks for slow requests this often; at its default of 30 s both limits would mean half a minute more.
    http: { connectionsCheckingInterval: SLOW_CLIENT_CHECK_MS },
    // A HEAD on a pop would lease messages that nobody receives. Probes get their HEAD from the health controller.
    exposeHeadRoutes: false,
    clientErrorHandler: answerClientError,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX, ignoreTrailingSlash: false },
    genReqId: (request: { headers: Record<string, string | string[] | undefined> }) =>
      requestId(request.headers['x-request-id']),
    frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) => {
      const answer = answerFor(frameworkError(error) ?? new BrokerError('bad_path'));
      void reply
        .code(answer.status)
        .headers(answer.headers)
        .type(JSON_TYPE)
        .send(JSON.stringify(answer.body));
    },
  });
  // Nest answers 404 for an empty parameter. The empty partition is a legal name, and an empty queue deserves its 400.
  Object.defineProperty(adapter, 'requireNonEmptyParams', {
    value: (_url: string, handler: unknown) => handler,
  });
  const fastify = adapter.getInstance();
  routes.collectFrom(fastify as never);
  resolveTenants(fastify as never, environment.QUEEN_TENANCY_HEADER);
  readBodiesAsBytes(fastify as never, environment.QUEEN_MAX_BODY_BYTES);
  fastify.server.headersTimeout = environment.QUEEN_HEADERS_TIMEOUT_MS;
  return adapter;
}

/** What is not HTTP, or came too slowly, never becomes a request: it is answered on the socket, which is then closed. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) {
    const { status, body } = answerFor(frameworkError(error) ?? new BrokerError('bad_body', NOT_HTTP));
    const text = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Connection: close',
      `Content-Type: ${JSON_TYPE}`,
      `Content-Length: ${Buffer.byteLength(text)}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}`);
  }
  socket.destroy(error);
}

/** A caller's id is kept when it is harmless in a log line; otherwise one is minted. */
function requestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && /^[\w.:/+=-]{1,128}$/.test(header)
    ? header
    : uuidText(mintUuid(Date.now()));
}
