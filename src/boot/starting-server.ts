import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import type { Environment } from '../base/config/environment.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { brokerVersion, ENGINE } from '../base/version.js';
import { answerFor, type ErrorAnswer } from '../http/error-body.js';
import { JSON_TYPE } from '../http/json-reply.js';
import { Tls } from '../http/tls.js';

const STARTING = { startup: { status: 'down', message: 'this broker is starting' } };
const NOT_YET = { status: 'error', info: {}, error: STARTING, details: STARTING };
const UNHEALTHY = {
  status: 'unhealthy',
  database: 'disconnected',
  engine: ENGINE,
  version: brokerVersion,
};

/**
 * Holds the broker's port while the database is prepared, which may take minutes on an upgrade: probes are told that
 * the process lives and is not ready (field case A16), everybody else to come again. A port that another program has
 * is found out before anything is changed. Gives the port up just before the broker takes it.
 */
export class StartingServer {
  private constructor(private readonly server: Server) {}

  /** Null for PORT=0: a port that nobody knows yet cannot be asked. */
  static async open(environment: Environment): Promise<StartingServer | null> {
    const { PORT, QUEEN_BIND_ADDR } = environment;
    const tls = Tls.from(environment);
    if (PORT === 0) return null;
    const server = tls ? createTlsServer(tls.options, answer) : createServer(answer);
    server.listen({ port: PORT, host: QUEEN_BIND_ADDR });
    await once(server, 'listening');
    server.on('error', () => undefined); // a connection that could not be accepted: whoever it was asks again
    return new StartingServer(server);
  }

  /** The port is free when this returns; a second call does nothing. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { status, headers, body } = answerTo(request.url ?? '');
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    ...headers,
    'content-type': JSON_TYPE,
    'content-length': bytes.length,
    'cache-control': 'no-cache, no-store, must-revalidate',
    // The next request shall meet the broker itself.
    connection: 'close',
  });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

function answerTo(url: string): ErrorAnswer {
  const refusal = answerFor(new BrokerError('starting'));
  switch (url.split('?')[0]) {
    case '/health/live':
      return { status: 200, headers: {}, body: { status: 'ok', info: {}, error: {}, details: {} } };
    case '/health/ready':
    case '/health/startup':
      return { ...refusal, body: NOT_YET };
    case '/health':
      return { ...refusal, body: UNHEALTHY };
    default:
      return refusal;
  }
}
