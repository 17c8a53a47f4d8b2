import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Role } from '../../src/auth/access.js';
import { acksFor, startBroker, type PopBody, type TestBroker } from '../support/broker.js';
import { MAY, requestOf, ROUTE_ROWS, type Names, type RouteRow } from '../support/route-rows.js';
import { forge, roleToken, SECRET, sign } from '../support/tokens.js';

/** Every route × every role × tenant, over HTTP: who is let in, and what somebody who is not can tell. */

const A = 'aaaaaaaa-0000-4000-8000-00000000000a';
const B = 'bbbbbbbb-0000-4000-8000-00000000000b';
const TENANT_HEADER = 'x-queen-tenant';
const ROLES = ['write-only', 'read-only', 'read-write', 'admin'] as const satisfies readonly Role[];

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker({
    JWT_ENABLED: true,
    JWT_SECRET: SECRET,
    JWT_TENANT_CLAIM: 'org',
    JWT_SKIP_PATHS: '/nothing',
    QUEEN_TENANCY_HEADER: true,
    QUEEN_HOTLIST_RESEED_MS: 200,
  });
});
afterAll(() => broker.stop());

interface Reply {
  status: number;
  text: string;
  headers: Headers;
}

async function send(
  [method, path, body]: [method: string, path: string, body?: string],
  token: string | null,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const authorization: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(broker.base + path, {
    method,
    headers: { ...authorization, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

let fixtures = 0;

/** Things of one tenant, of every kind that a route can speak of. */
async function furnish(tenant: string): Promise<Names> {
  const token = await roleToken('admin', { org: tenant });
  const mark = `mark-${++fixtures}`;
  const names = {
    queue: `${mark}-space.task`,
    namespace: `${mark}-space`,
    partition: `${mark}-partition`,
    group: `${mark}-group`,
    trace: `${mark}-trace`,
    transactionId: `${mark}-dead`,
    leasedTransactionId: `${mark}-leased`,
  };
  const json = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const { status, text } = await send([method, path, body && JSON.stringify(body)] as never, token);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
  const { queue, partition } = names;
  const items = [names.transactionId, names.leasedTransactionId, `${mark}-third`].map((transactionId) => ({
    ...{ queue, partition, transactionId, payload: mark },
  }));
  await json('POST', '/api/v1/push', { items });
  const pop = async () =>
    (await json('GET', `/api/v1/pop/queue/${queue}?batch=1&consumerGroup=${names.group}`)) as PopBody;
  const first = await pop();
  await json('POST', '/api/v1/ack/batch', acksFor(first.messages, 'dlq', mark));
  const { partitionId } = first.messages[0];
  await json('POST', '/api/v1/traces', {
    ...{ partitionId, transactionId: names.transactionId, traceNames: [names.trace], data: { mark } },
  });
  const letters = (await json('GET', `/api/v1/dlq?queue=${queue}`)) as { messages: { id: string }[] };
  const second = await pop();
  return { ...names, partitionId, leaseId: second.messages[0].leaseId, letterId: letters.messages[0].id };
}

/** The like of a tenant's things, of which none exists. */
function imagine(like: Names): Names {
  const entries = Object.entries(like).map(([key, value]) => [
    key,
    /^[0-9a-f-]{36}$/.test(value) ? randomUUID() : value.replace('mark-', 'none-'),
  ]);
  return Object.fromEntries(entries) as unknown as Names;
}

const cellsOf = (asks: RouteRow['asks'], roles: readonly (Role | 'nobody')[]) =>
  roles.filter((role) => asks === 'public' || MAY[role].includes(asks));

describe('the rows', () => {
  it('are the routes there are', () => {
    expect(ROUTE_ROWS.map(({ route }) => route).sort()).toEqual(broker.broker.routes.list());
  });
});

describe('nobody is let in', () => {
  type Credential = [about: string, token: () => Promise<string | null>, error: string, code: string];
  const credentials: Credential[] = [
    ['without a token', () => Promise.resolve(null), 'Authentication required', 'authentication_required'],
    ['with an empty one', () => Promise.resolve(''), 'Authentication required', 'authentication_required'],
    ['with nonsense', () => Promise.resolve('x.y'), 'Bad token header', 'invalid_token'],
    [
      'with one that is not signed',
      () => Promise.resolve(forge({ alg: 'none' }, { role: 'admin', org: A })),
      'Unsupported token algorithm',
      'invalid_token',
    ],
    [
      'with a stranger`s',
      () => sign({ key: Buffer.alloc(32, 7), claims: { role: 'admin', org: A } }),
      'Invalid token signature',
      'invalid_token',
    ],
    [
      'with one that has expired',
      () => sign({ expInSeconds: -31, claims: { role: 'admin', org: A } }),
      'Token has expired',
      'token_expired',
    ],
    [
      'with one that names no tenant, and is not an administrator`s',
      () => roleToken('read-write'),
      'Invalid token tenant',
      'invalid_token',
    ],
  ];
  it.each(credentials)('%s', async (_, token, error, code) => {
    const given = await token();
    const names = imagine(await furnish(A));
    for (const row of ROUTE_ROWS) {
      const { status, text, headers } = await send(requestOf(row, names), given);
      if (row.asks === 'public') {
        expect([row.route, status]).toEqual([row.route, 200]);
        continue;
      }
      expect([row.route, status, JSON.parse(text)]).toEqual([row.route, 401, { error, code }]);
      expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="queen-nest"/);
    }
  });
});

describe('a role that does not reach', () => {
  it.each(['nobody', ...ROLES] as const)('%s is refused, and nothing happens', async (role) => {
    const names = await furnish(A);
    const token = await roleToken(role, { org: A });
    for (const row of ROUTE_ROWS) {
      if (cellsOf(row.asks, [role]).length > 0) continue;
      const { status, text, headers } = await send(requestOf(row, names), token);
      expect([row.route, status, JSON.parse(text)]).toEqual([
        row.route,
        403,
        { error: 'Insufficient permissions', code: 'insufficient_permissions' },
      ]);
      expect(headers.get('www-authenticate')).toContain('insufficient_scope');
    }
    // All of it is there still: whoever may do everything finds what it speaks of.
    await expectOwn(await roleToken('admin', { org: A }), 'admin', names);
  });
});

async function expectOwn(token: string, role: Role, names: Names): Promise<void> {
  const outcomes = [];
  const expected = [];
  for (const row of ROUTE_ROWS) {
    if (cellsOf(row.asks, [role]).length === 0) continue;
    const { status } = await send(requestOf(row, names), token);
    outcomes.push([row.route, status]);
    expected.push([row.route, row.shared ? 403 : row.own]);
  }
  expect(outcomes).toEqual(expected);
}

describe('a role that reaches', () => {
  it.each(['write-only', 'read-only', 'read-write'] as const)(
    '%s acts for its own tenant on every route that asks no more',
    async (role) => {
      await expectOwn(await roleToken(role, { org: A }), role, await furnish(A));
    },
  );

  it('an administrator of no tenant acts for the one that the header names, and for the broker', async () => {
    const names = await furnish(A);
    const token = await roleToken('admin');
    const outcomes = [];
    for (const row of ROUTE_ROWS) {
      const { status } = await send(requestOf(row, names), token, { [TENANT_HEADER]: A });
      outcomes.push([row.route, status]);
    }
    expect(outcomes).toEqual(ROUTE_ROWS.map(({ route, own }) => [route, own]));
  });
});

describe('another tenant', () => {
  /** What a body says, apart from the names in it and from what differs between any two answers. */
  function told(text: string, names: Names): string {
    let rest = text;
    for (const [key, value] of Object.entries(names)) rest = rest.replaceAll(value, `<${key}>`);
    return rest
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, '<time>')
      .replaceAll(/none-\d+|mark-\d+/g, '<mark>');
  }

  it.each(['write-only', 'read-only', 'read-write', 'admin'] as const)(
    '%s cannot tell what a tenant has from what nobody has',
    async (role) => {
      const real = await furnish(A);
      const imagined = imagine(real);
      const token = await roleToken(role, { org: B });
      const rows = ROUTE_ROWS.filter((row) => !row.shared && cellsOf(row.asks, [role]).length > 0);
      const [statuses, bodies]: [unknown[], [string, string, string][]] = [[], []];
      for (const row of rows) {
        const there = await send(requestOf(row, real), token);
        const nowhere = await send(requestOf(row, imagined), token);
        statuses.push([row.route, there.status, nowhere.status]);
        const types = [there, nowhere].map(({ headers }) => headers.get('content-type') ?? 'none');
        if (isActivity(row)) continue;
        const [about, other] = [told(there.text, real), told(nowhere.text, imagined)];
        bodies.push([row.route, `${types[0]} ${about}`, `${types[1]} ${other}`]);
      }
      expect(statuses).toEqual(rows.map(({ route, other }) => [route, other, other]));
      expect(bodies.filter(([, about, other]) => about !== other)).toEqual([]);
      // And it has changed nothing: the owner finds everything.
      await expectOwn(await roleToken('admin', { org: A }), 'admin', real);
    },
  );

  /** Numbers that go on while one looks: of the process, and of what this very test pushes for B. */
  const isActivity = ({ route }: RouteRow) =>
    /^GET \/(health|api\/v1\/(status$|status\/analytics|status\/buffers|status\/queues$|resources\/))/.test(
      route,
    ) && !route.includes(':');

  it.each(['read-only', 'admin'] as const)('%s finds no name of it in any list', async (role) => {
    const real = await furnish(A);
    const token = await roleToken(role, { org: B });
    for (const row of ROUTE_ROWS) {
      if (!row.route.startsWith('GET /api/') || row.route.includes(':') || row.shared) continue;
      const [method, path] = row.route.split(' ');
      const { status, text } = await send([method, path], token);
      if (status === 403 || status === 400) continue;
      for (const value of Object.values(real))
        expect([row.route, text.includes(value)]).toEqual([row.route, false]);
    }
  });

  it.each(ROLES)('%s is not let in by a header that names it', async (role) => {
    const names = await furnish(A);
    const token = await roleToken(role, { org: B });
    for (const row of ROUTE_ROWS) {
      if (row.asks === 'public') continue;
      const { status, text } = await send(requestOf(row, names), token, { [TENANT_HEADER]: A });
      expect([row.route, status, text]).toEqual([
        row.route,
        403,
        '{"error":"Insufficient permissions","code":"insufficient_permissions"}',
      ]);
    }
    const same = await send(['GET', '/api/v1/resources/queues'], await roleToken('read-only', { org: B }), {
      [TENANT_HEADER]: B.toUpperCase(),
    });
    expect(same.status).toBe(200);
  });
});
