import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { countRows } from '../support/make.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';

const LIMIT = 100_000;

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker({ QUEEN_MAX_BODY_BYTES: LIMIT });
});
afterAll(() => broker.stop());

/** A push of one message, whose body has exactly so many bytes. */
function bodyOfBytes(queue: string, bytes: number): string {
  const frame = (filling: string) => `{"items":[{"queue":"${queue}","payload":"${filling}"}]}`;
  return frame('x'.repeat(bytes - frame('').length));
}

async function post(body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await fetch(`${broker.base}/api/v1/push`, { method: 'POST', body, headers });
  return { status: response.status, body: (await response.json()) as unknown };
}

/** In chunks of at most 8 KiB; what the broker refuses early is not waited for. */
async function postChunked(body: string) {
  const connection = await RawConnection.open(broker.port);
  connection.send('POST /api/v1/push HTTP/1.1\r\nHost: broker\r\nTransfer-Encoding: chunked\r\n\r\n');
  for (let at = 0; at < body.length; at += 8192) {
    const chunk = body.slice(at, at + 8192);
    connection.send(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  }
  const response = await connection.send('0\r\n\r\n').response();
  connection.destroy();
  return { status: response.status, body: JSON.parse(response.body.toString()) as unknown };
}

const TOO_LARGE = { error: expect.stringContaining('QUEEN_MAX_BODY_BYTES'), code: 'body_too_large' };

describe('the limit of a body (A08)', () => {
  it.each([
    ['with a length', (body: string) => post(body)],
    ['in chunks', postChunked],
    ['compressed', (body: string) => post(gzipSync(body), { 'content-encoding': 'gzip' })],
  ])('admits its last byte and refuses the next: %s', async (how, send) => {
    expect(await send(bodyOfBytes(`fits ${how}`, LIMIT))).toMatchObject({
      status: 201,
      body: [{ status: 'queued' }],
    });
    expect(await send(bodyOfBytes(`too large ${how}`, LIMIT + 1))).toEqual({ status: 413, body: TOO_LARGE });
    expect(await countRows(broker.database, 'queues', 'name = $1', [`too large ${how}`])).toBe(0);
  });

  it('closes the connection of a refused body, so that its rest is not taken for a request', async () => {
    const connection = await RawConnection.open(broker.port);
    const smuggled = rawRequest('GET', '/health');
    connection.send(rawRequest('POST', '/api/v1/push', Buffer.alloc(2 * LIMIT, smuggled)));
    expect(await connection.response()).toMatchObject({ status: 413 });
    await connection.closed();
    expect(connection.unread).toHaveLength(0);
  });

  it('is far above what the HTTP layer admits by itself', async () => {
    const usual = await startBroker({ database: broker.database });
    const body = bodyOfBytes('megabytes', 3 * 1024 * 1024);
    const response = await fetch(`${usual.base}/api/v1/push`, { method: 'POST', body });
    expect(response.status).toBe(201);
    const popped = await usual.pop(queuePath('megabytes'), { autoAck: true });
    expect(popped.text).toContain(JSON.stringify(JSON.parse(body).items[0].payload));
    await usual.stop();
  });
});

describe('a compressed body (A26)', () => {
  it('is read as what it inflates to', async () => {
    const body = gzipSync('{"items":[{"queue":"zipped","payload":{"a":1}}]}');
    expect(await post(body, { 'content-encoding': 'gzip' })).toMatchObject({ status: 201 });
    expect((await broker.pop(queuePath('zipped'))).body.messages).toMatchObject([{ data: { a: 1 } }]);
  });

  it('of a few kilobytes that inflates to ten megabytes is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    expect(bomb.length).toBeLessThan(LIMIT / 5);
    expect(await post(bomb, { 'content-encoding': 'gzip' })).toEqual({ status: 413, body: TOO_LARGE });
  });

  it.each([
    ['is damaged', Buffer.from('not gzip at all')],
    ['is cut off', gzipSync('{"items":[]}').subarray(0, 15)],
    ['is empty', Buffer.alloc(0)],
  ])('is a bad body when it %s', async (_, body) => {
    expect(await post(body, { 'content-encoding': 'gzip' })).toMatchObject({
      status: 400,
      body: { code: 'bad_body' },
    });
  });

  it.each(['br', 'deflate', 'gzip, gzip', 'zstd'])('in the encoding "%s" is refused', async (encoding) => {
    expect(await post('{"items":[]}', { 'content-encoding': encoding })).toMatchObject({
      status: 415,
      body: { code: 'unsupported_encoding' },
    });
  });
});

describe('the content type', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'nonsense',
    ';;;',
  ])('does not matter: %s', async (type) => {
    const connection = await RawConnection.open(broker.port);
    const body = '{"items":[{"queue":"types","payload":1}]}';
    connection.send(rawRequest('POST', '/api/v1/push', body, { 'Content-Type': type }));
    expect(await connection.response()).toMatchObject({ status: 201 });
    connection.destroy();
  });

  it('need not be given', async () => {
    const connection = await RawConnection.open(broker.port);
    connection.send(rawRequest('POST', '/api/v1/push', '{"items":[]}'));
    expect((await connection.response()).body.toString()).toBe('[]');
    connection.destroy();
  });
});
