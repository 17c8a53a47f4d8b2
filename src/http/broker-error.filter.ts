import { Catch, HttpException, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AbortedError } from '../base/errors/aborted-error.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { LogSampler } from '../base/log/log-sampler.js';
import { answerFor, frameworkError } from './error-body.js';
import { JSON_TYPE } from './json-reply.js';
import type { RouteTable } from './route-table.js';

/** The only writer of error bodies: `{"error","code"}`, never a stack, never a page. */
@Catch()
export class BrokerErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger(BrokerErrorFilter.name);
  private readonly sampler = new LogSampler();

  constructor(private readonly routes: RouteTable) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    if (reply.sent) return;
    const path = pathOf(request.url);
    if (isRouterMiss(thrown)) {
      const methods = this.routes.methodsFor(path);
      if (methods.length > 0) {
        const body = answerFor(new BrokerError('method_not_allowed')).body;
        void reply.code(405).header('allow', methods.join(', ')).type(JSON_TYPE).send(JSON.stringify(body));
        return;
      }
    }
    const error = this.translate(thrown, request);
    const answer = answerFor(error);
    void reply.code(answer.status).headers(answer.headers).type(JSON_TYPE).send(JSON.stringify(answer.body));
  }

  private translate(thrown: unknown, request: FastifyRequest): BrokerError {
    if (thrown instanceof BrokerError) {
      if (thrown.status >= 500 && thrown.code !== 'pool' && thrown.code !== 'overloaded')
        this.log(thrown, request);
      return thrown;
    }
    if (thrown instanceof AbortedError) return new BrokerError('request_timeout');
    if (isRouterMiss(thrown)) return new BrokerError('no_such_route', 'Not Found');
    const known = frameworkError(thrown);
    if (known) return known;
    if (thrown instanceof HttpException && thrown.getStatus() === 413)
      return new BrokerError('body_too_large');
    this.log(thrown, request);
    return new BrokerError('internal', undefined, { requestId: request.id });
  }

  /**
   * Cause and stack go to the log with the request's id. Of one code on one route a line in ten seconds is enough, except
   * where the answer tells its client an id to look for.
   */
  private log(thrown: unknown, request: FastifyRequest): void {
    const error = thrown as Error & { cause?: { message?: string; code?: string } };
    const cause = error.cause ? ` (cause: ${error.cause.code ?? ''} ${error.cause.message ?? ''})` : '';
    const route = `${request.method} ${request.routeOptions.url ?? '?'}`;
    const code = thrown instanceof BrokerError ? thrown.code : 'internal';
    const line = `${route}: ${error.message}${cause}`;
    const msg = code === 'internal' ? line : this.sampler.pass(`${route} ${code}`, line);
    if (msg !== null) this.logger.error({ msg, requestId: request.id, code }, error.stack);
  }
}

/** Nest turns a router miss into its own 404; no handler of ours throws that class. */
function isRouterMiss(thrown: unknown): boolean {
  return thrown instanceof HttpException && thrown.getStatus() === 404;
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
