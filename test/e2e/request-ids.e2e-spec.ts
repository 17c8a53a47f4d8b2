import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { SECRET } from '../support/tokens.js';

/** One id brings a client's log, a proxy's and the broker's together. */
describe('the id of a request', () => {
  let broker: TestBroker;
  let connection: RawConnection;
  beforeAll(async () => {
    broker = await startBroker({
      JWT_ENABLED: true,
      JWT_SECRET: SECRET,
      JWT_SKIP_PATHS: '/api/v1/pop/,/api/v1/push,/,/metrics/prometheus',
    });
    connection = await RawConnection.open(broker.port);
  });
  afterAll(async () => {
    connection.destroy();
    await broker.stop();
  });

  const answer = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string,
  ) => {
    const response = await connection.send(rawRequest(method, path, body, headers)).response();
    return [response.status, response.headers.get('x-request-id')] as const;
  };

  it.each([
    [204, 'GET', '/api/v1/pop/queue/q', undefined],
    [201, 'POST', '/api/v1/push', '{"items":[{"queue":"other","payload":1}]}'],
    [400, 'POST', '/api/v1/push', '{'],
    [400, 'GET', '/api/v1/pop/queue/q?batch=x', undefined],
    [400, 'GET', '/api/v1/pop/queue/%ff', undefined],
    [400, 'GET', `/api/v1/pop/queue/${'q'.repeat(2000)}`, undefined],
    [401, 'GET', '/api/v1/status', undefined],
    [404, 'GET', '/', undefined],
    [405, 'GET', '/api/v1/push', undefined],
    [200, 'GET', '/health', undefined],
    [200, 'GET', '/metrics/prometheus', undefined],
  ])('comes back with a %i of %s %s', async (status, method, path, body) => {
    expect(await answer(method, path, { 'X-Request-Id': 'mine-1' }, body)).toEqual([status, 'mine-1']);
  });

  it.each(['a', 'A.b:c/d+e=f-g_h', 'x'.repeat(128), '4bf92f3577b34da6a3ce929d0e0e4736'])(
    'is the caller`s: %s',
    async (id) => {
      expect(await answer('GET', '/health/live', { 'X-Request-Id': id })).toEqual([200, id]);
    },
  );

  it.each(['', ' ', 'x'.repeat(129), 'a b', 'a"b', 'a,b', '<script>', '{}', 'é', 'a\tb', '${jndi:x}'])(
    'is one of ours instead of %j',
    async (id) => {
      const [status, echoed] = await answer('GET', '/health/live', { 'X-Request-Id': id });
      expect([status, echoed]).toEqual([200, expect.stringMatching(/^[0-9a-f]{16}-[0-9a-z]+$/)]);
    },
  );

  it('is one of ours without the header, and another for each request', async () => {
    const ids = new Set<string | undefined>();
    for (let i = 0; i < 50; i++) ids.add((await answer('GET', '/health/live'))[1]);
    expect(ids.size).toBe(50);
  });

  it('is one of ours when it is given twice', async () => {
    const twice = 'GET /health/live HTTP/1.1\r\nHost: b\r\nX-Request-Id: a\r\nX-Request-Id: b\r\n\r\n';
    const { headers } = await connection.send(twice).response();
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{16}-/);
  });
});
