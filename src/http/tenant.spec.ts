import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { BrokerError } from '../base/errors/broker-error.js';
import { DEFAULT_TENANT } from '../base/names/names.js';
import { resolveTenants } from './tenant.js';

const TENANT = '0a0b0c0d-0000-4000-8000-00000000ABCD';

let app: FastifyInstance;

function start(isOn: boolean): void {
  app = fastify();
  app.setErrorHandler((error, _request, reply) =>
    error instanceof BrokerError
      ? reply.code(error.status).send({ error: error.message, code: error.code })
      : reply.code(500).send({ error: String(error) }),
  );
  resolveTenants(app, isOn);
  for (const url of ['/api/v1/x', '/health']) {
    app.get(url, ({ tenant, owner }) => ({ tenant, owner }));
  }
}

async function ask(tenant?: string, url = '/api/v1/x'): Promise<unknown> {
  const headers = tenant === undefined ? {} : { 'X-Queen-Tenant': tenant };
  return (await app.inject({ url, headers })).json();
}

afterEach(() => app.close());

describe('with tenancy', () => {
  beforeEach(() => start(true));

  it('the header names the tenant, in any case', async () => {
    const tenant = TENANT.toLowerCase();
    expect(await ask(TENANT)).toEqual({ tenant, owner: tenant });
    expect(await ask(tenant)).toEqual({ tenant, owner: tenant });
  });

  it.each([undefined, ''])('without one (%j) it is the default tenant', async (header) => {
    expect(await ask(header)).toEqual({ tenant: DEFAULT_TENANT, owner: DEFAULT_TENANT });
  });

  it.each(['x', TENANT.replaceAll('-', ''), `{${TENANT}}`, `${TENANT}, ${TENANT}`])(
    '%j is refused',
    async (header) => {
      expect(await ask(header)).toEqual({
        error: 'invalid x-queen-tenant header (must be a UUID)',
        code: 'bad_tenant',
      });
    },
  );

  it('a path that is escaped does not slip past', async () => {
    expect(await ask(TENANT, '/%61pi/v1/x')).toMatchObject({ tenant: TENANT.toLowerCase() });
  });

  it('what is not of the API belongs to no tenant', async () => {
    expect(await ask('x', '/health')).toEqual({ tenant: DEFAULT_TENANT, owner: null });
  });
});

it('without tenancy the header is not read', async () => {
  start(false);
  for (const header of [undefined, TENANT, 'x']) {
    expect(await ask(header)).toEqual({ tenant: DEFAULT_TENANT, owner: null });
  }
});
