import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request, type RequestOptions } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { parseEnvironment } from '../../src/base/config/environment.js';
import { Tls } from '../../src/http/tls.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { startBroker, type TestBroker } from '../support/broker.js';
import { BrokerProcess } from '../support/broker-process.js';
import { makeCertificate, type Certificate } from '../support/certificate.js';
import { createTestDatabase } from '../support/database.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { waitFor } from '../support/wait-for.js';

let folder: string;
let first: Certificate;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'queen-nest-tls-'));
  first = makeCertificate('first');
  await files('broker', first);
});
afterAll(() => rm(folder, { recursive: true }));

/** Writes both files, and returns the settings that name them. */
async function files(name: string, { cert, key }: Certificate) {
  const settings = {
    QUEEN_TLS_CERT_FILE: join(folder, `${name}.pem`),
    QUEEN_TLS_KEY_FILE: join(folder, `${name}.key`),
  };
  await writeFile(settings.QUEEN_TLS_CERT_FILE, cert);
  await writeFile(settings.QUEEN_TLS_KEY_FILE, key);
  return settings;
}

interface Answer {
  status: number;
  text: string;
  /** Of the certificate that the broker showed. */
  subject: string;
}

async function ask(port: number, options: RequestOptions & { body?: string }): Promise<Answer> {
  const asked = request({ host: '127.0.0.1', port, agent: false, ...options });
  asked.end(options.body);
  const [response] = (await once(asked, 'response')) as [import('node:http').IncomingMessage];
  const subject = (response.socket as TLSSocket).getPeerCertificate().subject.CN as string;
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode ?? 0, text, subject };
}

async function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ...options });
  await once(socket, 'secureConnect');
  return socket;
}

let broker: TestBroker | undefined;
afterEach(async () => {
  await broker?.stop();
  broker = undefined;
});

describe('with a certificate', () => {
  it('the broker speaks HTTPS, with TLS 1.2 and newer, and nothing else', async () => {
    broker = await startBroker(await files('broker', first));
    const { port } = broker;
    const push = JSON.stringify({ items: [{ queue: 'q', payload: { a: 1 } }] });
    const pushed = await ask(port, { ca: first.cert, method: 'POST', path: '/api/v1/push', body: push });
    expect([pushed.status, pushed.subject]).toEqual([201, 'first']);
    const popped = await ask(port, { ca: first.cert, path: '/api/v1/pop/queue/q?wait=true&timeout=5000' });
    expect([popped.status, popped.text]).toEqual([200, expect.stringContaining('{"a":1}')]);
    expect((await ask(port, { ca: first.cert, path: '/nowhere' })).status).toBe(404);

    await expect(ask(port, { path: '/health' })).rejects.toThrow('self-signed certificate');
    const old = handshake(port, { ca: first.cert, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' });
    await expect(old).rejects.toThrow();
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await handshake(port, { ca: first.cert, minVersion: version, maxVersion: version });
      expect(socket.getProtocol()).toBe(version);
      socket.destroy();
    }
    const plain = await RawConnection.open(port);
    plain.send(rawRequest('GET', '/health'));
    await plain.closed();
    expect(plain.unread.toString()).not.toContain('healthy');
  });

  it('a new one is taken from the files, for new connections; one that does not fit is not', async () => {
    const settings = await files('renewed', first);
    broker = await startBroker(settings);
    const { port } = broker;
    const second = makeCertificate('second');
    const both = first.cert + second.cert;
    const kept = await handshake(port, { ca: both });

    await writeFile(settings.QUEEN_TLS_CERT_FILE, second.cert); // its key comes later: nothing fits now
    const shown = async () => (await ask(port, { ca: both, path: '/health' })).subject;
    expect(await shown()).toBe('first');
    await writeFile(settings.QUEEN_TLS_KEY_FILE, second.key);
    await waitFor(async () => (await shown()) === 'second', { within: 60_000, what: 'the new certificate' });

    kept.write('GET /health/live HTTP/1.1\r\nHost: b\r\n\r\n');
    const [bytes] = (await once(kept, 'data')) as [Buffer];
    expect(bytes.toString()).toMatch(/^HTTP\/1.1 200 /);
    kept.destroy();
  });

  it('a drain ends what is idle, and lets what is under way finish', async () => {
    broker = await startBroker(await files('broker', first));
    const { port } = broker;
    const idle = await handshake(port, { ca: first.cert });
    const mute = connectPlain(port, '127.0.0.1');
    await once(mute, 'connect');
    const parked = ask(port, { ca: first.cert, path: '/api/v1/pop/queue/none?wait=true&timeout=60000' });
    const gates = broker.broker.app.get(WakeGateService, { strict: false });
    await waitFor(() => gates.stats().parked === 1, { within: 30_000, what: 'the pop to be parked' });
    const ended = Promise.all([once(idle, 'close'), once(mute, 'close')]);
    idle.on('error', () => undefined);
    mute.on('error', () => undefined);
    await waitFor(broker.broker.close(), { within: 30_000, what: 'the broker to close' });
    expect((await parked).status).toBe(204);
    await waitFor(ended, { within: 30_000, what: 'both connections to be closed' });
  });
});

describe('with certificates of clients', () => {
  it('only those that the authority has signed are let in', async () => {
    const authority = makeCertificate('authority');
    const member = makeCertificate('member', { issuer: authority });
    const stranger = makeCertificate('stranger', { issuer: makeCertificate('other') });
    const authorityFile = join(folder, 'clients.pem');
    await writeFile(authorityFile, authority.cert);
    broker = await startBroker({
      ...(await files('broker', first)),
      QUEEN_TLS_CLIENT_CA_FILE: authorityFile,
    });
    const { port } = broker;
    const attempt = (own?: Certificate) =>
      ask(port, { ca: first.cert, path: '/health', ...(own && { cert: own.cert, key: own.key }) });
    expect((await attempt(member)).status).toBe(200);
    await expect(attempt(stranger)).rejects.toThrow();
    await expect(attempt()).rejects.toThrow();
  });
});

describe('what is wrong with the files is told at the start', () => {
  const start = (settings: Record<string, string>) => Tls.from(parseEnvironment(settings));

  it.each<[string, () => Promise<Record<string, string>>, RegExp]>([
    [
      'no such file',
      async () => ({ ...(await files('x', first)), QUEEN_TLS_CERT_FILE: join(folder, 'none.pem') }),
      /^QUEEN_TLS_CERT_FILE cannot be read: ENOENT.*none\.pem/,
    ],
    [
      'no certificate in it',
      () => files('x', { ...first, cert: 'nonsense' }),
      /^QUEEN_TLS_CERT_FILE holds no certificate in PEM/,
    ],
    [
      'the key of another',
      () => files('x', { ...first, key: makeCertificate('y').key }),
      /^QUEEN_TLS_KEY_FILE is no private key in PEM, or not that of QUEEN_TLS_CERT_FILE \(/,
    ],
    [
      'no key',
      () => files('x', { ...first, key: first.cert }),
      /^QUEEN_TLS_KEY_FILE is no private key in PEM, or not that of QUEEN_TLS_CERT_FILE \(/,
    ],
    [
      'no authority',
      async () => ({ ...(await files('x', first)), QUEEN_TLS_CLIENT_CA_FILE: join(folder, 'x.key') }),
      /^QUEEN_TLS_CLIENT_CA_FILE holds no certificate in PEM/,
    ],
    [
      'one file only',
      () => Promise.resolve({ QUEEN_TLS_CERT_FILE: join(folder, 'x.pem') }),
      /QUEEN_TLS_CERT_FILE and QUEEN_TLS_KEY_FILE act only together/,
    ],
  ])('%s', async (_, settings, message) => {
    const variables = await settings();
    expect(() => start(variables)).toThrow(message);
    try {
      start(variables);
    } catch (error) {
      expect((error as Error).message).not.toContain(first.key.slice(40, 80));
    }
  });

  it('in one line, by the process that is started', async () => {
    const database = await createTestDatabase();
    const settings = await files('mixed', { ...first, key: makeCertificate('y').key });
    const process = BrokerProcess.spawn({ DATABASE_URL: database.url, ...settings });
    try {
      const { code } = await waitFor(process.exit, { within: 60_000, what: 'the process to end' });
      expect([code, process.lines]).toEqual([
        1,
        expect.stringMatching(/queen-nest cannot start: QUEEN_TLS_KEY_FILE is no private key.*\n$/),
      ]);
    } finally {
      await process.end();
      await database.drop();
    }
  });
});

it('several workers speak TLS on one port, and leave in order', async () => {
  const database = await createTestDatabase();
  const settings = await files('workers', first);
  const broker = await BrokerProcess.start({ DATABASE_URL: database.url, QUEEN_WORKERS: 2, ...settings });
  try {
    const trusting = { ca: first.cert, servername: 'localhost' };
    const workers = new Set<number>();
    await waitFor(
      async () => {
        const { text } = await ask(broker.port, { path: '/api/v1/status/buffers', ...trusting });
        return workers.add((JSON.parse(text) as { worker: number }).worker).size === 2;
      },
      { within: 30_000, what: 'both workers to answer' },
    );
    const body = JSON.stringify({ items: [{ queue: 'q', payload: 'over TLS' }] });
    const pushed = await ask(broker.port, { method: 'POST', path: '/api/v1/push', body, ...trusting });
    expect(pushed).toMatchObject({ status: 201, subject: 'first' });
    const path = '/api/v1/pop/queue/q?wait=true&timeout=20000';
    const popped = await ask(broker.port, { path, ...trusting });
    expect(popped.text).toContain('over TLS');
    broker.kill('SIGTERM');
    expect(await waitFor(broker.exit, { within: 60_000, what: 'the broker to leave' })).toMatchObject({
      code: 0,
    });
  } finally {
    await broker.end();
    await database.drop();
  }
});
