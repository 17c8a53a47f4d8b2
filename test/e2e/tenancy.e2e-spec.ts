import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { acksFor, startBroker, type Message, type PopBody, type TestBroker } from '../support/broker.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(60_000);

const A = 'aaaaaaaa-0000-4000-8000-00000000000a';
const B = 'bbbbbbbb-0000-4000-8000-00000000000b';
const NOBODYS_PARTITION = '01890000-0000-7000-8000-000000000099';
const NOT_OWNED = 'partition not owned by tenant';

let broker: TestBroker;
/** On the same database, and with nothing in its memory. */
let second: TestBroker;
beforeAll(async () => {
  broker = await startBroker({ QUEEN_TENANCY_HEADER: true });
  second = await startBroker({ QUEEN_TENANCY_HEADER: true, database: broker.database });
});
afterAll(async () => {
  await second.stop();
  await broker.stop();
});

type Body = Record<string, unknown>;

async function call(
  tenant: string | null,
  method: string,
  path: string,
  body?: unknown,
  on = broker,
): Promise<{ status: number; text: string; body: Body }> {
  const response = await fetch(on.base + path, {
    method,
    headers: tenant === null ? {} : { 'x-queen-tenant': tenant },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, text, body: (text === '' ? {} : JSON.parse(text)) as Body };
}

const push = (tenant: string | null, queue: string, payload: unknown, more: object = {}) =>
  call(tenant, 'POST', '/api/v1/push', { items: [{ queue, partition: 'p', payload, ...more }] });

async function pop(tenant: string | null, path: string, query = 'consumerGroup=g'): Promise<Message[]> {
  const { status, body } = await call(tenant, 'GET', `/api/v1/pop${path}?${query}`);
  return status === 204 ? [] : (body as unknown as PopBody).messages;
}

const payloads = (messages: Message[]) => messages.map(({ data }) => data);
const ack = (tenant: string | null, messages: Message[], on = broker) =>
  call(tenant, 'POST', '/api/v1/ack/batch', acksFor(messages), on);

describe('names', () => {
  it('mean another queue for each tenant, on every route of pop', async () => {
    for (const [tenant, payload] of [
      [A, 'of a'],
      [B, 'of b'],
      [null, 'of nobody'],
    ] as const) {
      expect((await push(tenant, 'shared.task', payload)).status).toBe(201);
    }
    const routes: [string, string, string][] = [
      ['/queue/shared.task', 'consumerGroup=g1', 'shared.task'],
      ['/queue/shared.task/partition/p', 'consumerGroup=g2', 'shared.task'],
      ['', 'consumerGroup=g3&namespace=shared', ''],
    ];
    for (const [path, query] of routes) {
      expect(payloads(await pop(A, path, query))).toEqual(['of a']);
      expect(payloads(await pop(B.toUpperCase(), path, query))).toEqual(['of b']);
      expect(payloads(await pop(null, path, query))).toEqual(['of nobody']);
    }
  });

  it('the default tenant is that of a request without the header, or with an empty one', async () => {
    await push(null, 'default', 1);
    const explicit = '00000000-0000-0000-0000-000000000001';
    expect(payloads(await pop(explicit, '/queue/default', 'consumerGroup=g1'))).toEqual([1]);
    expect(payloads(await pop('', '/queue/default', 'consumerGroup=g2'))).toEqual([1]);
  });

  it('a push wakes the parked pops of its own tenant only', async () => {
    const waiting = (tenant: string) => pop(tenant, '', 'namespace=woken&wait=true&timeout=30000');
    const parked = () => broker.broker.app.get(WakeGateService, { strict: false }).stats().parked;
    const pops = [waiting(A), waiting(B)];
    await waitFor(() => parked() === 2, { within: 10_000, what: 'two pops to be parked' });
    await push(A, 'woken.q', 'of a');
    expect(payloads(await pops[0])).toEqual(['of a']);
    // It looks for itself now and then, and is parked again right after.
    await waitFor(() => parked() === 1, { within: 10_000, what: 'the other pop to go on waiting' });
    await push(B, 'woken.q', 'of b');
    expect(payloads(await pops[1])).toEqual(['of b']);
  });

  it('settings and the end of a queue are those of one tenant', async () => {
    for (const tenant of [A, B]) await push(tenant, 'settings', tenant);
    await call(A, 'POST', '/api/v1/configure', { queue: 'settings', options: { leaseTime: 77 } });
    const { rows } = await broker.database.query<{ seconds: number }>(
      `select lease_time as seconds from queen.queues where name = 'settings' order by tenant_id`,
    );
    expect(rows.map(({ seconds }) => seconds)).toEqual([77, 60]);

    await call(B, 'POST', '/api/v1/resources/queues/settings/pause', {});
    expect(await pop(B, '/queue/settings')).toEqual([]);
    expect(payloads(await pop(A, '/queue/settings', 'consumerGroup=p'))).toEqual([A]);

    expect((await call(B, 'DELETE', '/api/v1/resources/queues/settings')).body).toMatchObject({
      deleted: true,
    });
    expect((await call(B, 'GET', '/api/v1/resources/queues/settings')).status).toBe(404);
    expect(payloads(await pop(A, '/queue/settings', 'consumerGroup=d'))).toEqual([A]);
  });
});

describe('partitions and leases of another tenant are as if they were not there', () => {
  let messages: Message[];
  const leaseTimes = async () =>
    (
      await broker.database.query<{ expires: string }>(
        `select lease_expires_at::text as expires from queen.log_consumers where worker_id = $1`,
        [messages[0].leaseId],
      )
    ).rows;
  beforeAll(async () => {
    await push(A, 'leased', 1, { transactionId: 't1' });
    await push(A, 'leased', 2, { transactionId: 't2' });
    messages = await pop(A, '/queue/leased', 'consumerGroup=g&batch=2&partitions=1');
    expect(messages).toHaveLength(2);
  });

  it.each(['completed', 'failed', 'dlq', 'retry'])('for an ack with %s', async (status) => {
    const before = await leaseTimes();
    const refused = { success: false, error: NOT_OWNED, dlq: false };
    for (const tenant of [B, null]) {
      for (const on of [broker, second]) {
        const body = acksFor(messages, status);
        const { body: results } = await call(tenant, 'POST', '/api/v1/ack/batch', body, on);
        expect(results).toMatchObject([refused, refused]);
      }
    }
    const { acknowledgments, consumerGroup } = acksFor([messages[0]], status);
    const one = { ...acknowledgments[0], consumerGroup };
    expect((await call(B, 'POST', '/api/v1/ack', one)).body).toMatchObject([refused]);
    const unknown = { ...one, partitionId: NOBODYS_PARTITION };
    expect((await call(B, 'POST', '/api/v1/ack', unknown)).body).toMatchObject([refused]);
    expect(await leaseTimes()).toEqual(before);
  });

  it('for the extension of a lease', async () => {
    const path = `/api/v1/lease/${messages[0].leaseId}/extend`;
    const before = await leaseTimes();
    for (const tenant of [B, null]) {
      for (const on of [broker, second]) {
        const { status, body } = await call(tenant, 'POST', path, { seconds: 3000 }, on);
        expect([status, body.success, body.renewed]).toEqual([200, false, 0]);
      }
    }
    expect(await leaseTimes()).toEqual(before);
    expect((await call(A, 'POST', path, { seconds: 3000 }, second)).body).toMatchObject({ renewed: 1 });
    expect(await leaseTimes()).not.toEqual(before);
  });

  it('for a transaction, which then stores nothing', async () => {
    const { acknowledgments, consumerGroup } = acksFor(messages);
    const operations = [
      { type: 'push', queue: 'of b', payload: 1 },
      ...acknowledgments.map((one) => ({ type: 'ack', ...one, consumerGroup })),
    ];
    const { status, body } = await call(B, 'POST', '/api/v1/transaction', { operations });
    expect([status, body.success]).toEqual([200, false]);
    expect(await pop(B, '/queue/of%20b')).toEqual([]);
  });

  it('and their own tenant goes on with them', async () => {
    expect((await ack(A, messages, second)).body).toMatchObject([{ success: true }, { success: true }]);
    await push(A, 'leased', 3);
    const more = await pop(A, '/queue/leased');
    expect(payloads(more)).toEqual([3]);
    expect((await ack(A, more)).body).toMatchObject([{ success: true }]);
  });
});

describe('administration', () => {
  const MARK = 'marked-of-a';
  let letterId: string;
  let partitionId: string;
  beforeAll(async () => {
    const queue = `${MARK}.task`;
    await push(A, queue, MARK, { transactionId: MARK });
    const messages = await pop(A, `/queue/${queue}`, `consumerGroup=${MARK}`);
    partitionId = messages[0].partitionId;
    await call(A, 'POST', '/api/v1/ack/batch', acksFor(messages, 'dlq', MARK));
    const trace = { traceName: MARK, data: { text: MARK } };
    const message = { transactionId: MARK, partitionId };
    await call(A, 'POST', '/api/v1/traces', { ...message, traceNames: [MARK], ...trace });
    await push(A, queue, MARK);
    const { body } = await call(A, 'GET', '/api/v1/dlq');
    letterId = (body.messages as { id: string }[])[0].id;
    for (const tenant of [A, B]) await call(tenant, 'POST', '/api/v1/stats/refresh');
  });

  const lists = [
    '/resources/queues',
    '/resources/namespaces',
    '/consumer-groups',
    '/messages',
    '/dlq',
    '/traces/names',
    `/traces/by-name/${MARK}`,
    '/status/queues',
  ];
  it.each(lists)('GET %s lists what the tenant has, and nothing of another', async (path) => {
    expect((await call(A, 'GET', `/api/v1${path}`)).text).toContain(MARK);
    for (const tenant of [B, null]) {
      const { status, text } = await call(tenant, 'GET', `/api/v1${path}`);
      expect(status).toBe(200);
      expect(text).not.toContain(MARK);
    }
  });

  it('a tenant that has nothing counts nothing', async () => {
    const nobody = 'cccccccc-0000-4000-8000-00000000000c';
    const { body } = await call(nobody, 'GET', '/api/v1/resources/overview');
    expect(body).toMatchObject({ queues: 0, partitions: 0 });
    const { text } = await call(nobody, 'GET', '/api/v1/consumer-groups/lagging?minLagSeconds=0');
    expect(text).toBe('[]');
    expect((await call(A, 'GET', '/api/v1/resources/overview')).body.queues).toBeGreaterThan(0);
  });

  it('one thing of another tenant is not found', async () => {
    const message = `/messages/${partitionId}/${MARK}`;
    const queue = `/resources/queues/${MARK}.task`;
    const refusals: [string, string, unknown?][] = [
      ['GET', message],
      ['DELETE', message],
      ['POST', `${message}/retry`],
      ['POST', `/dlq/${letterId}/replay`],
      ['GET', queue],
      ['GET', `${queue}/depth`],
      ['GET', `/status/queues/${MARK}.task`],
      ['POST', '/traces', { transactionId: MARK, partitionId, data: {} }],
      ['POST', `/consumer-groups/${MARK}/queues/${MARK}.task/seek`, { toEnd: true }],
    ];
    const statuses: Record<string, number> = {};
    for (const [method, path, body] of refusals) {
      statuses[`${method} ${path}`] = (await call(B, method, `/api/v1${path}`, body)).status;
    }
    expect(statuses).toEqual(
      Object.fromEntries(refusals.map(([method, path]) => [`${method} ${path}`, 404])),
    );
  });

  it('the traces of its messages are nobody else`s', async () => {
    const path = `/api/v1/traces/${partitionId}/${MARK}`;
    expect((await call(A, 'GET', path)).text).toContain('"text"');
    expect((await call(B, 'GET', path)).text).not.toContain('"text"');
  });

  it('what deletes or replays by filter leaves the others alone', async () => {
    expect((await call(B, 'POST', '/api/v1/dlq/replay', { all: true })).body).toMatchObject({
      success: true,
    });
    expect((await call(B, 'DELETE', '/api/v1/dlq?all=true')).body).toMatchObject({ deleted: 0 });
    await call(B, 'DELETE', `/api/v1/consumer-groups/${MARK}`);
    expect((await call(A, 'GET', '/api/v1/dlq')).text).toContain(letterId);
    expect((await call(A, 'GET', `/api/v1/consumer-groups/${MARK}`)).text).toContain(`${MARK}.task`);
  });
});

describe('the header', () => {
  it('that is no uuid is refused by every route of the API, before anything else', async () => {
    const routes = broker.broker.routes.list().map((route) => route.split(' ') as [string, string]);
    const api = routes.filter(([, path]) => path.startsWith('/api/'));
    expect(api.length).toBeGreaterThan(25);
    const answers = await Promise.all(
      api.map(async ([method, path]) => {
        const { status, body } = await call('nonsense', method, path.replaceAll(':', ''));
        return [`${method} ${path}`, status, body.error, body.code];
      }),
    );
    const refused = 'invalid x-queen-tenant header (must be a UUID)';
    expect(answers).toEqual(api.map(([method, path]) => [`${method} ${path}`, 400, refused, 'bad_tenant']));
  });

  it.each(['/health', '/health/live', '/health/ready', '/metrics/prometheus'])(
    'means nothing to %s',
    async (path) => {
      const response = await fetch(broker.base + path, { headers: { 'x-queen-tenant': 'nonsense' } });
      expect(response.status).toBe(200);
      await response.text();
    },
  );

  it('is not read without QUEEN_TENANCY_HEADER, and partitions are not checked', async () => {
    const off = await startBroker({ database: broker.database });
    try {
      await push(null, 'off', 'default');
      await push(A, 'off', 'of a');
      for (const header of ['nonsense', A]) {
        const { body } = await call(
          header,
          'GET',
          '/api/v1/pop/queue/off?autoAck=true&consumerGroup=' + header[0],
          undefined,
          off,
        );
        expect(payloads((body as unknown as PopBody).messages)).toEqual(['default']);
      }
      const messages = await pop(A, '/queue/off', 'consumerGroup=z');
      expect((await ack(B, messages, off)).body).toMatchObject([{ success: true }]);
    } finally {
      await off.stop();
    }
  });
});
