import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { errorTable, type ErrorCode } from '../../src/base/errors/error-table.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { countRows } from '../support/make.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { waitFor } from '../support/wait-for.js';

/* What no client of ours would send. Each is answered with a documented error, or means what HTTP says it means. */

const LIMIT = 200_000;

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker({ QUEEN_MAX_BODY_BYTES: LIMIT });
});
afterAll(() => broker.stop());

const HEALTH = rawRequest('GET', '/health/live');
const post = (headers: string, rest: string) =>
  `POST /api/v1/push HTTP/1.1\r\nHost: b\r\n${headers}\r\n\r\n${rest}`;
const EMPTY_PUSH = '{"items":[]}';

async function ask(bytes: Buffer | string) {
  const connection = await RawConnection.open(broker.port);
  const response = await connection.send(bytes).response({ within: 30_000 });
  return { connection, status: response.status, text: response.body.toString(), response };
}

function expectError(status: number, text: string, code: ErrorCode): void {
  expect([status, text]).toEqual([errorTable[code].status, expect.stringContaining(`"code":"${code}"`)]);
}

describe('a request in pieces', () => {
  const request = rawRequest('POST', '/api/v1/push', EMPTY_PUSH, { 'Content-Type': 'application/json' });

  it('is the same wherever it is cut in two', async () => {
    const socket = connect({ port: broker.port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    let received = '';
    const answers = () => received.split('HTTP/1.1 201 Created\r\n').length - 1;
    for (let at = 1; at < request.length; at++) {
      socket.write(request.subarray(0, at));
      await new Promise((resolve) => setImmediate(resolve));
      socket.write(request.subarray(at));
      while (answers() < at || !received.endsWith('[]')) received += String((await once(socket, 'data'))[0]);
    }
    expect(answers()).toBe(request.length - 1);
    socket.destroy();
  });

  it('is the same byte by byte', async () => {
    const connection = await RawConnection.open(broker.port);
    for (let at = 0; at < request.length; at++) {
      connection.send(request.subarray(at, at + 1));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await connection.response()).toMatchObject({ status: 201 });
    connection.destroy();
  });

  it('fifty in one piece are answered in their order', async () => {
    const connection = await RawConnection.open(broker.port);
    const paths = Array.from({ length: 50 }, (_, i) => (i % 3 === 0 ? '/health/live' : `/nothing/${i}`));
    connection.send(
      Buffer.concat(paths.map((path) => rawRequest('GET', path, undefined, { 'X-Request-Id': path }))),
    );
    for (const path of paths) {
      const { status, headers } = await connection.response();
      expect([status, headers.get('x-request-id')]).toEqual([path === '/health/live' ? 200 : 404, path]);
    }
    connection.destroy();
  });
});

describe('a request that two readers could end at different places (A29)', () => {
  const chunked = 'Transfer-Encoding: chunked';
  it.each([
    ['a length and chunks', post(`Content-Length: 12\r\n${chunked}`, '0\r\n\r\n')],
    ['chunks and a length', post(`${chunked}\r\nContent-Length: 12`, '0\r\n\r\n')],
    ['two lengths', post('Content-Length: 12\r\nContent-Length: 13', EMPTY_PUSH)],
    ['the same length twice', post('Content-Length: 12\r\nContent-Length: 12', EMPTY_PUSH)],
    ['a list of lengths', post('Content-Length: 12, 12', EMPTY_PUSH)],
    ['a length with a sign', post('Content-Length: +12', EMPTY_PUSH)],
    ['a negative length', post('Content-Length: -1', EMPTY_PUSH)],
    ['a hexadecimal length', post('Content-Length: 0xc', EMPTY_PUSH)],
    ['a length beyond 64 bits', post('Content-Length: 184467440737095516170', EMPTY_PUSH)],
    ['an encoding nobody knows', post('Transfer-Encoding: xchunked', '0\r\n\r\n')],
    ['chunks that are encoded once more', post('Transfer-Encoding: chunked, identity', '0\r\n\r\n')],
    ['a header name with a space behind it', post('Transfer-Encoding : chunked', '0\r\n\r\n')],
    ['a header that is continued on the next line', post('Content-Length:\r\n 12', EMPTY_PUSH)],
    ['a header without a colon', post('Content-Length 12', EMPTY_PUSH)],
    ['a header without a name', post(': 12', EMPTY_PUSH)],
    ['lines that end with a line feed alone', 'GET /health HTTP/1.1\nHost: b\n\n'],
    ['a carriage return alone', 'GET /health HTTP/1.1\r\nHost: b\rX: y\r\n\r\n'],
    ['a U+0000 in a header', 'GET /health HTTP/1.1\r\nHost: b\r\nX: a\0b\r\n\r\n'],
    ['a U+0000 in the path', 'GET /hea\0lth HTTP/1.1\r\nHost: b\r\n\r\n'],
    ['a space in the path', 'GET /hea lth HTTP/1.1\r\nHost: b\r\n\r\n'],
    ['a method in small letters', 'get /health HTTP/1.1\r\nHost: b\r\n\r\n'],
    ['a method nobody knows', 'POP /health HTTP/1.1\r\nHost: b\r\n\r\n'],
    ['another version', 'GET /health HTTP/9.9\r\nHost: b\r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['the beginning of TLS', Buffer.from('16030100c8010000c40303', 'hex')],
    ['no host', 'GET /health HTTP/1.1\r\n\r\n'],
    ['a chunk whose size is no number', post(chunked, 'zz\r\n\r\n')],
    ['a chunk of negative size', post(chunked, '-1\r\n\r\n')],
    ['a chunk of hexadecimal size with its mark', post(chunked, '0xc\r\n{"items":[]}\r\n0\r\n\r\n')],
    ['a chunk beyond 64 bits', post(chunked, 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n')],
    ['a chunk longer than its size', post(chunked, '2\r\n{"items":[]}\r\n0\r\n\r\n')],
    ['a chunk size with a line feed alone', post(chunked, 'c\n{"items":[]}\r\n0\r\n\r\n')],
  ])('is refused, and nothing behind it is read: %s', async (_, bytes) => {
    const { connection, status, text } = await ask(Buffer.concat([Buffer.from(bytes), HEALTH]));
    expectError(status, text, 'bad_body');
    await connection.closed(30_000);
    expect(connection.unread.toString()).toBe('');
  });
});

describe('what is unusual and allowed', () => {
  it.each<[string, string, number]>([
    [
      'chunks of one byte',
      post('Transfer-Encoding: chunked', [...EMPTY_PUSH].map((c) => `1\r\n${c}\r\n`).join('') + '0\r\n\r\n'),
      201,
    ],
    [
      'chunks with extensions',
      post('Transfer-Encoding: chunked', `c;a=b;c="d"\r\n${EMPTY_PUSH}\r\n0;last\r\n\r\n`),
      201,
    ],
    [
      'chunk sizes with zeros and capitals',
      post('transfer-encoding: Chunked', `000C\r\n${EMPTY_PUSH}\r\n00\r\n\r\n`),
      201,
    ],
    [
      'headers behind the chunks',
      post('Transfer-Encoding: chunked', `c\r\n${EMPTY_PUSH}\r\n0\r\nX-Sum: 1\r\n\r\n`),
      201,
    ],
    ['empty lines before the request', `\r\n\r\n${rawRequest('GET', '/health/live').toString()}`, 200],
    ['a body with a GET', rawRequest('GET', '/health/live', 'nobody reads this').toString(), 200],
    [
      'a wish to speak WebSocket',
      'GET /health/live HTTP/1.1\r\nHost: b\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n',
      200,
    ],
    [
      'an expectation that nobody knows',
      post('Content-Length: 12\r\nExpect: the-unexpected', EMPTY_PUSH),
      201,
    ],
    ['the whole address in the request line', 'GET http://b/health/live HTTP/1.1\r\nHost: b\r\n\r\n', 200],
    ['the whole address without a path', 'GET http://b?x=1 HTTP/1.1\r\nHost: b\r\n\r\n', 404],
    ['a question about no path', 'OPTIONS * HTTP/1.1\r\nHost: b\r\n\r\n', 404],
    ['three thousand headers', `GET /health/live HTTP/1.1\r\nHost: b\r\n${'a:\r\n'.repeat(3000)}\r\n`, 200],
  ])('%s: the connection goes on', async (_, bytes, expected) => {
    const { connection, status, text } = await ask(bytes);
    expect([status, text]).toEqual([expected, expect.any(String)]);
    if (status >= 400) expect(JSON.parse(text)).toMatchObject({ code: 'no_such_route' });
    expect(await connection.send(HEALTH).response({ within: 30_000 })).toMatchObject({ status: 200 });
    expect(connection.unread.toString()).toBe('');
    connection.destroy();
  });

  it('a client that asks first is told to go on', async () => {
    const connection = await RawConnection.open(broker.port);
    connection.send(post('Content-Length: 12\r\nExpect: 100-continue', ''));
    expect((await connection.response()).head).toBe('HTTP/1.1 100 Continue');
    expect(await connection.send(EMPTY_PUSH).response()).toMatchObject({ status: 201 });
    connection.destroy();
  });

  it('HTTP/1.0 is served, and may keep its connection by asking for it', async () => {
    const { connection, status } = await ask('GET /health/live HTTP/1.0\r\n\r\n');
    expect(status).toBe(200);
    await connection.closed();
    const kept = await ask('GET /health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    expect([kept.status, kept.response.headers.get('connection')]).toEqual([200, 'keep-alive']);
    expect(await kept.connection.send(HEALTH).response()).toMatchObject({ status: 200 });
    kept.connection.destroy();
  });

  it('a client that closes its half has left: its push is stored, its pop given up', async () => {
    await broker.push([{ queue: 'half', payload: 0 }]);
    const leaveAfter = async (request: Buffer) => {
      const socket = connect({ port: broker.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined); // a reset is a way of being let go
      socket.resume().end(request);
      await once(socket, 'close');
    };
    await leaveAfter(rawRequest('GET', '/api/v1/pop/queue/empty?wait=true&timeout=600000'));
    await leaveAfter(rawRequest('POST', '/api/v1/push', '{"items":[{"queue":"half","payload":1}]}'));
    const both = await waitFor(
      async () => {
        const { body } = await broker.pop(queuePath('half'), { consumerGroup: `g${Math.random()}` });
        return body.messages.length === 2 && body.messages;
      },
      { within: 30_000, what: 'the push of a client that left' },
    );
    expect(both.map(({ data }) => data)).toEqual([0, 1]);
    await waitFor(() => broker.broker.app.get(WakeGateService).stats().parked === 0, {
      within: 30_000,
      what: 'the pop to be given up',
    });
  });

  it('what is no HTTP ends the connection; nothing is made up for the request before it, which is owed an answer', async () => {
    const connection = await RawConnection.open(broker.port);
    connection.send(rawRequest('GET', '/api/v1/pop/queue/empty?wait=true&timeout=600000'));
    connection.send('this is not HTTP\r\n\r\n');
    await connection.closed(30_000);
    expect(connection.unread.toString()).toBe('');
  });

  it.each([
    ['in its headers', 'POST /api/v1/push HTTP/1.1\r\nHost: b\r\nContent-Le'],
    ['in its body', post('Content-Length: 60', '{"items":[{"queue":"cut","payload":1}]')],
    ['in a chunk', post('Transfer-Encoding: chunked', '40\r\n{"items":[{"queue":"cut","payload":1}]')],
  ])('a client that stops %s and closes its half is let go, and nothing is stored', async (_, bytes) => {
    const socket = connect({ port: broker.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined); // a reset is a way of being let go
    socket.resume().end(bytes);
    await once(socket, 'close');
    expect(await countRows(broker.database, 'queues', "name = 'cut'")).toBe(0);
  });

  it('a tunnel is not opened', async () => {
    const connection = await RawConnection.open(broker.port);
    connection.send('CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\n');
    await connection.closed(30_000);
    expect(connection.unread.toString()).toBe('');
  });
});

describe('too much', () => {
  it.each<[ErrorCode, string, string | Buffer]>([
    ['body_too_large', 'a body that is announced and never sent', post(`Content-Length: ${LIMIT + 1}`, '')],
    ['body_too_large', 'a body of 2^63 bytes', post('Content-Length: 9223372036854775807', '{')],
    [
      'headers_too_large',
      'a path of 20,000 bytes',
      rawRequest('GET', `/api/v1/pop/queue/${'x'.repeat(20_000)}`),
    ],
    [
      'headers_too_large',
      'a query of 20,000 bytes',
      rawRequest('GET', `/api/v1/pop/queue/q?x=${'y'.repeat(20_000)}`),
    ],
    [
      'headers_too_large',
      'ten thousand headers',
      `GET /health HTTP/1.1\r\nHost: b\r\n${'a: b\r\n'.repeat(10_000)}\r\n`,
    ],
    [
      'headers_too_large',
      'a header name that does not end',
      `GET /health HTTP/1.1\r\nHost: b\r\n${'x'.repeat(20_000)}`,
    ],
    ['bad_name', 'a name of 15,000 bytes', rawRequest('GET', `/api/v1/pop/queue/${'x'.repeat(15_000)}`)],
  ])('%s: %s', async (code, _, bytes) => {
    const { connection, status, text } = await ask(bytes);
    expectError(status, text, code);
    connection.destroy();
  });

  it('a thousand parameters are as good as none', async () => {
    const query = Array.from({ length: 1000 }, (_, i) => `p${i}=1`).join('&');
    const { connection, status } = await ask(rawRequest('GET', `/api/v1/pop/queue/q?${query}`));
    expect(status).toBe(204);
    connection.destroy();
  });

  it('chunks that go on for ever end with the limit', async () => {
    const connection = await RawConnection.open(broker.port);
    connection.send(post('Transfer-Encoding: chunked', ''));
    for (let sent = 0; sent <= LIMIT && connection.isOpen; sent += 1024)
      connection.send(`400\r\n${'x'.repeat(1024)}\r\n`);
    expect(await connection.response({ within: 30_000 })).toMatchObject({ status: 413 });
    await connection.closed(30_000);
  });

  it('a bomb inside a bomb is unpacked once, and is then no JSON (A26)', async () => {
    const bomb = gzipSync(gzipSync(Buffer.alloc(50_000_000)));
    expect(bomb.length).toBeLessThan(LIMIT);
    const { connection, status, text } = await ask(
      rawRequest('POST', '/api/v1/push', bomb, { 'Content-Encoding': 'gzip' }),
    );
    expectError(status, text, 'bad_body');
    connection.destroy();
  });
});

describe('bytes that are no JSON text', () => {
  const bodies: [string, Buffer][] = [
    ['a byte order mark', Buffer.from('\ufeff{"items":[],"acknowledgments":[],"queue":"q","operations":[]}')],
    ['UTF-16', Buffer.from('{"items":[]}', 'utf16le')],
    ['a byte that begins no character', Buffer.from('7b2261223a22ff227d', 'hex')],
    ['a character in two bytes too many', Buffer.from('7b2261223a22e080af227d', 'hex')],
    ['half of a pair as bytes', Buffer.from('7b2261223a22eda080227d', 'hex')],
    ['a character cut in the middle', Buffer.from('7b2261223a22f09f98227d', 'hex')],
    ['U+0000 in a text', Buffer.from('{"a":"\0"}')],
    ['U+0000 behind the end', Buffer.from('{"a":1}\0')],
    ['only U+0000', Buffer.alloc(64)],
    ['a number nobody can finish', Buffer.from('{"a":1e}')],
    ['NaN', Buffer.from('{"a":NaN}')],
    ['two documents', Buffer.from('{"a":1}{"a":1}')],
  ];
  it.each(['/api/v1/push', '/api/v1/ack', '/api/v1/ack/batch', '/api/v1/transaction', '/api/v1/configure'])(
    'are refused by POST %s',
    async (path) => {
      const connection = await RawConnection.open(broker.port);
      for (const [what, body] of bodies) {
        const response = await connection.send(rawRequest('POST', path, body)).response({ within: 30_000 });
        expect([what, response.status, JSON.parse(response.body.toString())]).toEqual([
          what,
          400,
          expect.objectContaining({ code: 'bad_body' }),
        ]);
      }
      connection.destroy();
    },
  );
});
