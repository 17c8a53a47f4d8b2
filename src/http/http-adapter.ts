import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import type { Environment } from '../base/config/environment.js';
import { limitConnections } from './connection-limit.js';
import { answerFor, frameworkError } from './error-body.js';
import { JSON_TYPE } from './json-reply.js';
import { readBodiesAsBytes } from './read-body.js';
import { echoRequestIds, REQUEST_ID_HEADER, requestIdOf } from './request-id.js';
import type { RouteTable } from './route-table.js';
import { knowSubjects } from './subject.js';
import { resolveTenants } from './tenant.js';
import type { Tls } from './tls.js';

/** 255 bytes of name, each up to three characters when percent-encoded, and some room. */
const PARAM_LENGTH_MAX = 1024;
const SLOW_CLIENT_CHECK_MS = 500;
const NOT_HTTP = 'the request is not well-formed HTTP';

/** Fastify as the broker needs it: bytes in, long names, long idle connections, JSON for every failure. */
export function createHttpAdapter(
  environment: Environment,
  routes: RouteTable,
  tls: Tls | null = null,
): FastifyAdapter {
  // Node looks for slow requests this often; at its default of 30 s both limits would mean half a minute more.
  // Its answer to a request without Host is no JSON; refuseWithoutHost has one.
  const server = { connectionsCheckingInterval: SLOW_CLIENT_CHECK_MS, requireHostHeader: false };
  const adapter = new FastifyAdapter({
    logger: false,
    bodyLimit: environment.QUEEN_MAX_BODY_BYTES,
    keepAliveTimeout: environment.QUEEN_KEEP_ALIVE_TIMEOUT_MS,
    requestTimeout: environment.QUEEN_REQUEST_TIMEOUT_MS,
    ...(tls ? { https: { ...server, ...tls.options } } : { http: server }),
    // A HEAD on a pop would lease messages that nobody receives. Probes get their HEAD from the health controller.
    exposeHeadRoutes: false,
    clientErrorHandler: answerClientError,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX, ignoreTrailingSlash: false },
    genReqId: requestIdOf,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      const answer = answerFor(frameworkError(error) ?? new BrokerError('bad_path'));
      void reply
        .code(answer.status)
        .headers({ ...answer.headers, [REQUEST_ID_HEADER]: request.id })
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
  echoRequestIds(fastify as never);
  refuseWithoutHost(fastify as never);
  knowSubjects(fastify as never);
  resolveTenants(fastify as never, environment.QUEEN_TENANCY_HEADER);
  readBodiesAsBytes(fastify as never, environment.QUEEN_MAX_BODY_BYTES);
  fastify.server.headersTimeout = environment.QUEEN_HEADERS_TIMEOUT_MS;
  limitConnections(fastify.server, environment.DB_POOL_SIZE);
  // What is not expected of HTTP servers by anybody is not looked at (RFC 9110, 10.1.1); Node would answer 417 without a body.
  fastify.server.on('checkExpectation', (request, response) => {
    fastify.server.emit('request', request, response);
  });
  return adapter;
}

/** What is not HTTP, or came too slowly, never becomes a request: it is answered on the socket, which is then closed. */
function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable && !owesAnAnswer(socket)) {
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

/**
 * Whether an answer is under way on the socket, or to come for a request that has arrived whole. What was wrong came behind
 * that request: another answer would be taken for the one that is owed, or land in the middle of it.
 */
function owesAnAnswer(socket: Socket): boolean {
  const { _httpMessage: reply } = socket as Socket & { _httpMessage?: ServerResponse | null };
  return reply != null && (reply.headersSent || reply.req.complete);
}

/** RFC 9112, 3.2: HTTP/1.1 without Host is refused. */
function refuseWithoutHost(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', ({ raw }, reply, done) => {
    if (raw.headers.host !== undefined || raw.httpVersion !== '1.1') return done();
    void reply.header('connection', 'close');
    done(new BrokerError('bad_body', NOT_HTTP));
  });
}
