import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { TENANT_HEADER } from '../http/tenant.js';
import type { Access } from './access.js';
import type { AuthService } from './auth.service.js';
import { bearerToken } from './bearer-token.js';
import type { Identity } from './identity.js';
import { accessTo, isShared } from './route-access.js';

/** Of a body that nobody is going to read, what is let in so that the connection can go on. */
const UNREAD_BYTES_MAX = 65_536;

/**
 * Lets a request pass, or answers it, before a byte of its body is read: no handler, and no guard of Nest, sees
 * a request that was refused. What matches no route needs a good token of any role to be told so.
 */
export class AuthGuard {
  constructor(
    private readonly auth: AuthService,
    private readonly skipPaths: readonly string[],
  ) {}

  attach(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', (request, reply, done) => {
      const { method, url } = request.routeOptions;
      const access = url === undefined ? null : accessTo(String(method), url);
      if (access === 'public' || this.skips(pathOf(request.url))) return done();
      const fail = (error: unknown) => {
        endUnread(request, reply);
        done(error as Error);
      };
      const admit = (identity: Identity) => {
        try {
          enter(request, identity, access, url);
        } catch (error) {
          return fail(error);
        }
        done();
      };
      const token = bearerToken(request.headers.authorization);
      if (token === null) return fail(new BrokerError('authentication_required', 'Authentication required'));
      const known = this.auth.recall(token);
      if (known) admit(known);
      else void this.auth.verify(token).then(admit, fail);
    });
  }

  /** An entry is a path, or with a slash at its end all paths below. Compared as sent: an escape does not match. */
  private skips(path: string): boolean {
    return this.skipPaths.some((one) =>
      one.length > 1 && one.endsWith('/') ? path.startsWith(one) : path === one,
    );
  }
}

/** @param access null where there is no route */
function enter(
  request: FastifyRequest,
  { grants, tenant, subject }: Identity,
  access: Access | null,
  url: string | undefined,
): void {
  if (access !== null && !grants.has(access)) throw forbidden();
  request.subject = subject;
  if (tenant === null || url === undefined) return;
  if (isShared(url)) throw forbidden();
  if (request.headers[TENANT_HEADER] && request.tenant !== tenant) throw forbidden();
  request.owner = request.tenant = tenant;
}

function forbidden(): BrokerError {
  return new BrokerError('insufficient_permissions', 'Insufficient permissions');
}

/** Node reads what is left of a body so that the next request can follow; a long or endless one is not worth that. */
function endUnread(request: FastifyRequest, reply: FastifyReply): void {
  const { headers } = request;
  const bytes = Number(headers['content-length'] ?? 0);
  if (headers['transfer-encoding'] !== undefined || bytes > UNREAD_BYTES_MAX) {
    void reply.header('connection', 'close');
  }
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
