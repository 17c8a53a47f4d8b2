import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AuthService } from '../../src/auth/auth.service.js';
import { acksFor, queuePath, startBroker, type PopBody, type TestBroker } from '../support/broker.js';
import { KeySetServer } from '../support/key-set-server.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { keyPair, publicJwk, roleToken, SECRET, sign } from '../support/tokens.js';
import { waitFor } from '../support/wait-for.js';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const ITEM = (queue: string, more = {}) => JSON.stringify({ items: [{ queue, payload: 1, ...more }] });

async function get(broker: TestBroker, path: string, token?: string): Promise<number> {
  const response = await fetch(broker.base + path, { headers: token === undefined ? {} : bearer(token) });
  await response.text();
  return response.status;
}

describe('off, as it is unless told otherwise', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({ JWT_SECRET: SECRET });
  });
  afterAll(() => broker.stop());

  it('no token is asked for, and one that is sent is not looked at', async () => {
    for (const token of [undefined, 'nonsense', await roleToken('write-only', { sub: 'me' })]) {
      expect(await get(broker, '/api/v1/resources/queues', token)).toBe(200);
      expect(await get(broker, '/api/v1/system/maintenance', token)).toBe(200);
    }
    const token = await roleToken('admin', { sub: 'me' });
    await broker.push([{ queue: 'off', payload: 1, producerSub: 'body' }], { headers: bearer(token) });
    const { body } = await broker.pop(queuePath('off'));
    expect(body.messages[0].producerSub).toBeNull();
  });
});

describe('on', () => {
  let broker: TestBroker;
  let token: string;
  beforeAll(async () => {
    broker = await startBroker({ JWT_ENABLED: true, JWT_SECRET: SECRET });
    token = await roleToken('admin', { sub: 'producer-7' });
  });
  afterAll(() => broker.stop());

  const post = (path: string, body: string | undefined, headers: Record<string, string>) =>
    fetch(broker.base + path, { method: 'POST', headers, body });

  it.each(['Bearer', 'bearer', 'BEARER'])('the token follows the word %s', async (word) => {
    const response = await fetch(`${broker.base}/api/v1/status`, {
      headers: { authorization: `${word} ${token}` },
    });
    expect(response.status).toBe(200);
    await response.text();
  });

  it('or stands alone', async () => {
    const response = await fetch(`${broker.base}/api/v1/status`, { headers: { authorization: token } });
    expect(response.status).toBe(200);
    await response.text();
  });

  it('probes, metrics and documents are open, and so is nothing else', async () => {
    for (const path of [
      '/health',
      '/health/live',
      '/health/ready',
      '/health/startup',
      '/metrics',
      '/metrics/prometheus',
    ])
      expect([path, await get(broker, path)]).toEqual([path, 200]);
    for (const path of ['/status', '/health/', '/metrics/', '/api/v1/status', '/%6detrics', '//metrics'])
      expect([path, await get(broker, path)]).toEqual([path, 401]);
  });

  it('a path that leads nowhere is 404 or 405 with a token, and 401 without', async () => {
    for (const [path, status] of [
      ['/api/v1/nothing', 404],
      ['/nothing', 404],
      ['/api/v1/push', 405],
    ] as const) {
      expect([path, await get(broker, path)]).toEqual([path, 401]);
      expect([path, await get(broker, path, await roleToken('nobody'))]).toEqual([path, status]);
    }
    expect(await get(broker, '/')).toBe(404); // JWT_SKIP_PATHS names it
  });

  it('the producer of a message is the subject of its token, whatever the body says', async () => {
    const more = { producerSub: 'forged' };
    await post('/api/v1/push', ITEM('subjects', more), bearer(token));
    const operations = [{ type: 'push', queue: 'subjects', payload: 2, ...more }];
    await post('/api/v1/transaction', JSON.stringify({ operations }), bearer(token));
    await post('/api/v1/push', ITEM('subjects', more), bearer(await roleToken('write-only', { sub: '' })));
    const response = await fetch(`${broker.base}/api/v1/pop/queue/subjects?batch=10`, {
      headers: bearer(token),
    });
    const { messages } = (await response.json()) as PopBody;
    expect(messages.map(({ producerSub }) => producerSub)).toEqual(['producer-7', 'producer-7', null]);

    await post('/api/v1/ack/batch', JSON.stringify(acksFor(messages.slice(0, 1), 'dlq', 'x')), bearer(token));
    const dlq = await fetch(`${broker.base}/api/v1/dlq?queue=subjects`, { headers: bearer(token) });
    const letters = (await dlq.json()) as { messages: { producerSub: string }[] };
    expect(letters.messages.map(({ producerSub }) => producerSub)).toEqual(['producer-7']);
  });

  it('a token is verified once, and looked up from then on', async () => {
    const auth = broker.broker.app.get(AuthService, { strict: false });
    const another = await roleToken('read-only', { jti: 'counted' });
    const before = auth.stats();
    for (let i = 0; i < 20; i++) expect(await get(broker, '/api/v1/status', another)).toBe(200);
    const after = auth.stats();
    expect([after.remembered - before.remembered, after.verified - before.verified]).toEqual([1, 1]);
    for (let i = 0; i < 5; i++) expect(await get(broker, '/api/v1/status', `${another}x`)).toBe(401);
    expect(auth.stats().remembered).toBe(after.remembered);
  });

  it('a token that expires while it is remembered is refused from then on', async () => {
    const short = await sign({ expInSeconds: -28, claims: { role: 'read-only' } }); // 30 s are forgiven
    expect(await get(broker, '/api/v1/status', short)).toBe(200);
    await waitFor(async () => (await get(broker, '/api/v1/status', short)) === 401, {
      within: 30_000,
      what: 'the token to expire',
    });
  });

  describe('a request that is refused', () => {
    it('is answered before its body comes, and the connection goes on after a short one', async () => {
      const connection = await RawConnection.open(broker.port);
      const head = (bytes: number) =>
        `POST /api/v1/push HTTP/1.1\r\nHost: b\r\nContent-Length: ${bytes}\r\n\r\n`;
      connection.send(head(100));
      const { status, headers } = await connection.response();
      expect([status, headers.get('connection')]).toEqual([401, 'keep-alive']);
      connection.send('x'.repeat(100)).send(rawRequest('GET', '/health/live'));
      expect((await connection.response()).status).toBe(200);

      connection.send(head(60_000_000));
      const long = await connection.response();
      expect([long.status, long.headers.get('connection')]).toEqual([401, 'close']);
      await connection.closed();
    });

    it('does not go on for as long as somebody sends', async () => {
      const socket = connect(broker.port, '127.0.0.1');
      socket.on('error', () => undefined); // it is cut while it writes
      await once(socket, 'connect');
      let received = '';
      socket.on('data', (bytes) => (received += String(bytes)));
      socket.write('POST /api/v1/push HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n');
      const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
      const sending = setInterval(() => socket.writable && socket.write(chunk), 1);
      try {
        await waitFor(once(socket, 'close'), { within: 30_000, what: 'the broker to close the connection' });
      } finally {
        clearInterval(sending);
        socket.destroy();
      }
      expect(received).toMatch(/^HTTP\/1.1 401 /);
    });

    it('also where no route is', async () => {
      const connection = await RawConnection.open(broker.port);
      connection.send('POST /nowhere HTTP/1.1\r\nHost: b\r\nContent-Length: 60000000\r\n\r\n');
      expect((await connection.response()).status).toBe(401);
      await connection.closed();
    });

    it('says how to authenticate, and why it failed', async () => {
      const challenge = async (headers: Record<string, string>, path = '/api/v1/status') => {
        const response = await fetch(broker.base + path, { headers });
        await response.text();
        return [response.status, response.headers.get('www-authenticate')];
      };
      expect(await challenge({})).toEqual([401, 'Bearer realm="queen-nest"']);
      expect(await challenge(bearer('x'))).toEqual([
        401,
        'Bearer realm="queen-nest", error="invalid_token", error_description="Bad token header"',
      ]);
      expect(await challenge(bearer(await roleToken('write-only')))).toEqual([
        403,
        'Bearer realm="queen-nest", error="insufficient_scope"',
      ]);
    });
  });
});

describe('JWT_SKIP_PATHS', () => {
  it('opens what it names, and closes the metrics when it does not name them', async () => {
    const broker = await startBroker({
      JWT_ENABLED: true,
      JWT_SECRET: SECRET,
      JWT_SKIP_PATHS: '/api/v1/status, /api/v1/resources/',
    });
    try {
      for (const [path, status] of [
        ['/api/v1/status', 200],
        ['/api/v1/status?from=2026-01-01T00:00:00Z', 200],
        ['/api/v1/resources/queues', 200],
        ['/api/v1/status/queues', 401],
        ['/api/v1/statu%73', 401],
        ['/metrics', 401],
        ['/metrics/prometheus', 401],
        ['/', 401],
        ['/health/live', 200],
      ] as const)
        expect([path, await get(broker, path)]).toEqual([path, status]);
      expect(await get(broker, '/metrics/prometheus', await roleToken('read-only'))).toBe(200);
      expect(await get(broker, '/metrics/prometheus', await roleToken('write-only'))).toBe(403);
    } finally {
      await broker.stop();
    }
  });
});

describe('names of roles and claims, issuer and audience', () => {
  it('are those of the configuration', async () => {
    const broker = await startBroker({
      ...{ JWT_ENABLED: true, JWT_SECRET: SECRET, JWT_ISSUER: 'me', JWT_AUDIENCE: 'queen' },
      ...{ JWT_ROLES_CLAIM: 'job', JWT_ROLES_ARRAY_CLAIM: 'jobs', JWT_ROLE_READ_ONLY: 'viewer' },
    });
    const attempt = async (claims: Record<string, unknown>) =>
      get(broker, '/api/v1/status', await sign({ claims: { iss: 'me', aud: 'queen', ...claims } }));
    try {
      expect(await attempt({ job: 'viewer' })).toBe(200);
      expect(await attempt({ jobs: ['other', 'viewer'] })).toBe(200);
      expect(await attempt({ job: 'read-only', role: 'viewer' })).toBe(403);
      expect(await attempt({ job: 'viewer', iss: 'you' })).toBe(401);
      expect(await attempt({ job: 'viewer', aud: ['other'] })).toBe(401);
    } finally {
      await broker.stop();
    }
  });
});

describe('keys of an issuer', () => {
  let issuer: KeySetServer;
  let broker: TestBroker | undefined;
  const first = keyPair('rsa');
  const second = keyPair('ed25519');
  const tokenOf = (kid: string) =>
    kid === 'first'
      ? sign({ alg: 'RS256', key: first.privateKey, kid, claims: { role: 'read-only' } })
      : sign({ alg: 'EdDSA', key: second.privateKey, kid, claims: { role: 'read-only' } });

  const start = (url: string, more = {}) =>
    startBroker({ JWT_ENABLED: true, JWT_ALGORITHM: 'auto', JWT_JWKS_URL: url, ...more });

  afterEach(async () => {
    await broker?.stop();
    broker = undefined;
    await issuer.close();
  });

  it('are taken over when they rotate, and the ones withdrawn are believed no more', async () => {
    issuer = await KeySetServer.open();
    issuer.keys = [await publicJwk(first, 'first')];
    broker = await start(issuer.url, { JWT_JWKS_REFRESH_INTERVAL: 1 });
    const [old, young] = [await tokenOf('first'), await tokenOf('second')];
    const status = (token: string) => get(broker!, '/api/v1/status', token);
    expect([await status(old), await status(young)]).toEqual([200, 401]);
    issuer.keys = [await publicJwk(first, 'first'), await publicJwk(second, 'second')];
    await waitFor(async () => (await status(young)) === 200, { within: 30_000, what: 'the new key' });
    expect(await status(old)).toBe(200);
    issuer.keys = [await publicJwk(second, 'second')];
    await waitFor(async () => (await status(old)) === 401, { within: 30_000, what: 'the old key to go' });
    expect(await status(young)).toBe(200);
  });

  it('stay in force while the issuer is away', async () => {
    issuer = await KeySetServer.open();
    issuer.keys = [await publicJwk(first, 'first')];
    broker = await start(issuer.url, { JWT_JWKS_REFRESH_INTERVAL: 1 });
    const auth = broker.broker.app.get(AuthService, { strict: false });
    for (const fault of [
      { status: 500, body: 'away' },
      { status: 200, body: 'no json' },
      { status: 200, body: '{"keys":5}' },
      { status: 200, body: JSON.stringify({ keys: [], more: 'x'.repeat(2_000_000) }) },
    ]) {
      const reads = issuer.reads;
      issuer.fault = fault;
      await waitFor(() => issuer.reads > reads + 1, { within: 30_000, what: 'another reading' });
      expect(await get(broker, '/api/v1/status', await tokenOf('first'))).toBe(200);
    }
    expect(auth.stats().remembered).toBeGreaterThan(0);
  });

  it('may come after the broker: until then the answer is to come again', async () => {
    issuer = await KeySetServer.open();
    const { port, url } = issuer;
    await issuer.close();
    broker = await start(url, { JWT_JWKS_TIMEOUT_MS: 2000 });
    const token = await tokenOf('first');
    const response = await fetch(`${broker.base}/api/v1/status`, { headers: bearer(token) });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toMatchObject({ code: 'keys_unavailable' });
    expect(await get(broker, '/health/ready')).toBe(200);
    expect(await get(broker, '/api/v1/status')).toBe(401);

    issuer = await KeySetServer.open(port);
    issuer.keys = [await publicJwk(first, 'first')];
    await waitFor(async () => (await get(broker!, '/api/v1/status', token)) === 200, {
      within: 60_000,
      what: 'the keys to be found',
    });
  });

  it('are asked for once, however many tokens name keys that do not exist', async () => {
    issuer = await KeySetServer.open();
    issuer.keys = [await publicJwk(first, 'first')];
    broker = await start(issuer.url);
    const tokens = await Promise.all(
      Array.from({ length: 30 }, (_, i) => sign({ alg: 'RS256', key: first.privateKey, kid: `k${i}` })),
    );
    for (const token of tokens) expect(await get(broker, '/api/v1/status', token)).toBe(401);
    expect(issuer.reads).toBeLessThanOrEqual(4);
  });
});
