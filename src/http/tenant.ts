import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { DEFAULT_TENANT } from '../base/names/names.js';
import { parseUuid } from '../segment/uuid-v7.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose names the request means (http-api 1.2). */
    tenant: string;
    /** Whose partitions and leases an id in the request may mean; null: those of anybody, as long as tenancy is off. */
    owner: string | null;
  }
}

export const TENANT_HEADER = 'x-queen-tenant';
const API = '/api/';
const INVALID = `invalid ${TENANT_HEADER} header (must be a UUID)`;

/**
 * Resolves the tenant of each request, once; behind this it is a value like any other. Off, the header is not even
 * looked at, and a request costs nothing more.
 */
export function resolveTenants(fastify: FastifyInstance, isOn: boolean): void {
  fastify.decorateRequest('tenant', DEFAULT_TENANT);
  fastify.decorateRequest('owner', null);
  if (!isOn) return;
  fastify.addHook('onRequest', (request, _reply, done) => {
    // Probes and metrics belong to no tenant, and a proxy's header must not make one fail.
    // Judged by the route: a path with percent escapes is routed like any other, and must not slip past.
    if (!request.routeOptions.url?.startsWith(API)) return done();
    try {
      request.owner = request.tenant = tenantOf(request);
      done();
    } catch (error) {
      done(error as Error);
    }
  });
}

/** Lower case, as PostgreSQL spells it: rings, gates and caches are found by this text. */
function tenantOf({ headers }: FastifyRequest): string {
  const value = headers[TENANT_HEADER];
  if (value === undefined || value === '') return DEFAULT_TENANT;
  if (typeof value !== 'string' || !parseUuid(value)) throw new BrokerError('bad_tenant', INVALID);
  return value.toLowerCase();
}
