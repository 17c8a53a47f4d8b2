import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { errorTable, type ErrorCode } from '../../src/base/errors/error-table.js';
import { untilBlocked } from '../support/blocked.js';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { numbered, run, THIS_PARTITION } from '../support/make.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { openSessions } from '../support/sessions.js';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker({
    QUEEN_MAX_BODY_BYTES: 1_500_000,
    QUEEN_PUSH_BUFFER_BYTES: 1_048_576,
    QUEEN_HEADERS_TIMEOUT_MS: 1000,
  });
});
afterAll(() => broker.stop());

async function ask(bytes: Buffer | string) {
  const connection = await RawConnection.open(broker.port);
  const { status, headers, body } = await connection.send(bytes).response();
  connection.destroy();
  return { status, headers, text: body.toString() };
}

function expectError({ status, headers, text }: Awaited<ReturnType<typeof ask>>, code: ErrorCode) {
  expect([status, text]).toEqual([errorTable[code].status, expect.stringContaining(`"code":"${code}"`)]);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  const { error } = JSON.parse(text) as { error: string };
  expect(error.length).toBeGreaterThan(3);
  expect(text).not.toMatch(/<html|\bat .*\.(js|ts):\d+|node_modules/i);
}

const deep = '['.repeat(600) + ']'.repeat(600);

describe('an error is JSON with a code', () => {
  it.each<[ErrorCode, string, Buffer | string]>([
    ['bad_body', 'a body that is not JSON', rawRequest('POST', '/api/v1/push', '<html>')],
    [
      'json_too_deep',
      'a payload that nests too deep',
      rawRequest('POST', '/api/v1/push', `{"items":[{"queue":"q","payload":${deep}}]}`),
    ],
    [
      'json_too_deep',
      'an ack that nests too deep',
      rawRequest('POST', '/api/v1/ack', `{"transactionId":${deep}}`),
    ],
    [
      'json_too_deep',
      'options that nest too deep',
      rawRequest('POST', '/api/v1/configure', `{"queue":"q","options":{"ttl":${deep}}}`),
    ],
    ['bad_parameter', 'a parameter that is no number', rawRequest('GET', '/api/v1/pop/queue/q?batch=x')],
    [
      'bad_name',
      'a group of 256 bytes',
      rawRequest('GET', `/api/v1/pop/queue/q?consumerGroup=${'x'.repeat(256)}`),
    ],
    ['bad_name', 'a name beyond what is routed', rawRequest('GET', `/api/v1/pop/queue/${'x'.repeat(3000)}`)],
    ['bad_name', 'a queue without a name', rawRequest('GET', '/api/v1/pop/queue/')],
    ['bad_name', 'a deletion without a name', rawRequest('DELETE', '/api/v1/resources/queues/')],
    ['bad_path', 'a broken escape', rawRequest('GET', '/api/v1/pop/queue/%zz')],
    ['bad_path', 'half an escape', rawRequest('DELETE', '/api/v1/resources/queues/a%2')],
    ['bad_path', 'an escape that is not UTF-8', rawRequest('GET', '/api/v1/pop/queue/%ff/partition/p')],
    ['no_filter', 'a discovery without a filter', rawRequest('GET', '/api/v1/pop')],
    ['queue_required', 'options for no queue', rawRequest('POST', '/api/v1/configure', '{}')],
    [
      'bad_option',
      'an unknown option',
      rawRequest('POST', '/api/v1/configure', '{"queue":"q","options":{"leastime":1}}'),
    ],
    ['no_such_route', 'an unknown path', rawRequest('GET', '/api/v2/pop')],
    ['no_such_route', 'a path with a slash too many', rawRequest('POST', '/api/v1/push/', '{}')],
    ['no_such_route', 'a path in capitals', rawRequest('POST', '/API/V1/PUSH', '{}')],
    ['no_such_route', 'an unknown path that is posted to', rawRequest('POST', '/internal/secrets', '<x>')],
    ['no_such_route', 'a method and path nobody knows', rawRequest('TRACE', '/nothing')],
    ['method_not_allowed', 'a push by GET', rawRequest('GET', '/api/v1/push')],
    ['method_not_allowed', 'a pop by POST', rawRequest('POST', '/api/v1/pop/queue/q', '{}')],
    [
      'body_too_large',
      'a body beyond the limit',
      rawRequest('POST', '/api/v1/push', Buffer.alloc(1_500_001)),
    ],
    [
      'body_too_large',
      'a body that inflates beyond the limit',
      rawRequest('POST', '/api/v1/ack', gzipSync(Buffer.alloc(2_000_000)), { 'Content-Encoding': 'gzip' }),
    ],
    [
      'unsupported_encoding',
      'a body in brotli',
      rawRequest('POST', '/api/v1/push', 'x', { 'Content-Encoding': 'br' }),
    ],
    [
      'headers_too_large',
      'headers beyond the limit',
      rawRequest('GET', '/health', undefined, { 'X-Padding': 'x'.repeat(20_000) }),
    ],
    ['bad_body', 'what is not HTTP', 'hello\r\n\r\n'],
    [
      'bad_body',
      'two lengths',
      'POST /api/v1/push HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    ],
    [
      'bad_body',
      'a length and chunks',
      'POST /api/v1/push HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['bad_body', 'a header with a bare line feed', 'GET /health HTTP/1.1\r\nHost: b\r\nX: a\nY : b\r\n\r\n'],
    [
      'bad_body',
      'a chunk of no size',
      'POST /api/v1/push HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n',
    ],
    ['request_timeout', 'headers that do not end', 'GET /health HTTP/1.1\r\nHost: b\r\nX: '],
  ])('%s: %s', async (code, _, bytes) => {
    expectError(await ask(bytes), code);
  });

  it('names the methods there are where one is not allowed', async () => {
    const allowed = async (method: string, path: string) =>
      (await ask(rawRequest(method, path, '{}'))).headers.get('allow');
    expect(await allowed('PUT', '/api/v1/push')).toBe('POST');
    expect(await allowed('POST', '/api/v1/pop')).toBe('GET');
    expect(await allowed('DELETE', '/health')).toBe('GET, HEAD');
    expect(await allowed('PATCH', '/api/v1/pop/queue/a%2Fb/partition/c')).toBe('GET');
  });

  it('carries the request id of a caller that sent one, and keeps the connection', async () => {
    const connection = await RawConnection.open(broker.port);
    for (let i = 0; i < 3; i++) {
      const response = await connection.send(rawRequest('GET', '/nothing')).response();
      expect([response.status, response.headers.get('connection')]).toEqual([404, 'keep-alive']);
    }
    connection.destroy();
  });
});

describe('an error of the database', () => {
  it('sql_failed: a statement that PostgreSQL refuses says no more than that', async () => {
    await broker.push([{ queue: 'refused', partition: 'p', payload: 1 }]);
    await broker.database.query('alter function queen.log_pop_specific_v1 rename to log_pop_specific_hidden');
    const answer = await broker.pop(partitionPath('refused', 'p'));
    expect(answer).toMatchObject({ status: 500, body: { error: 'pop failed', code: 'sql_failed' } });
    expect(answer.text).not.toMatch(/log_pop|function|does not exist/);
    await broker.database.query('alter function queen.log_pop_specific_hidden rename to log_pop_specific_v1');
    expect(await broker.pop(partitionPath('refused', 'p'))).toMatchObject({ status: 200 });
  });

  it('segment_damaged: a damaged segment is named, and what else the pop claimed is served (A26)', async () => {
    await broker.push(
      ['good', 'damaged', 'fine'].map((partition) => ({
        queue: 'bits',
        partition,
        payload: 'x'.repeat(2000),
      })),
    );
    const flip = `update queen.log_segments set blob = set_byte(blob, length(blob) - 5, get_byte(blob, length(blob) - 5) # 255)
      where partition_id = ${THIS_PARTITION}`;
    await run(broker.database, [flip, ['bits', 'damaged']]);
    const alone = await broker.pop(partitionPath('bits', 'damaged'), { consumerGroup: 'a' });
    expect(alone).toMatchObject({
      status: 500,
      body: { code: 'segment_damaged', error: expect.stringMatching(/partition [0-9a-f-]{36} offset 0/) },
    });
    const together = await broker.pop(queuePath('bits'), { consumerGroup: 'b', partitions: 3 });
    expect(together.status).toBe(200);
    expect(together.body.messages.map(({ partition }) => partition).sort()).toEqual(['fine', 'good']);
    expect(
      (await broker.ackBatch(acksFor(together.body.messages))).body.every(({ success }) => success),
    ).toBe(true);
  });

  it('offsets end where numbers stop being exact, and until then they are (A09)', async () => {
    await broker.push([{ queue: 'offsets', partition: 'p', payload: 'first' }]);
    await broker.pop(partitionPath('offsets', 'p'), { autoAck: true });
    for (const lastOffset of [2_147_483_646, 4_294_967_295, 2 ** 53 - 4]) {
      await run(broker.database, [
        `update queen.log_partitions set last_offset = $3 where id = ${THIS_PARTITION}`,
        ['offsets', 'p', lastOffset],
      ]);
      const texts = numbered(`${lastOffset}-`, 2);
      expect(
        (
          await broker.push(
            texts.map((payload) => ({ queue: 'offsets', partition: 'p', transactionId: payload, payload })),
          )
        ).body,
      ).toMatchObject([{ status: 'queued' }, { status: 'queued' }]);
      const { body } = await broker.pop(partitionPath('offsets', 'p'));
      expect(body.messages.map(({ data }) => data)).toEqual(texts);
      expect(
        (await broker.ackBatch(acksFor(body.messages))).body.every(({ success, noop }) => success && !noop),
      ).toBe(true);
      expect(await broker.pop(partitionPath('offsets', 'p'))).toMatchObject({ status: 204 });
    }
    // The last number that can be told from its neighbours is the last offset.
    const push = () => broker.push([{ queue: 'offsets', partition: 'p', payload: 'last' }]);
    const allocator = `update queen.log_partitions set last_offset = $3 where id = ${THIS_PARTITION}`;
    await run(broker.database, [allocator, ['offsets', 'p', 2 ** 53 - 2]]);
    expect((await push()).body).toMatchObject([{ status: 'queued' }]);
    expect(await push()).toMatchObject({ status: 500, body: { code: 'offset_too_large' } });
    const beside = await broker.push([
      { queue: 'offsets', partition: 'p', payload: 'beyond' },
      { queue: 'offsets', partition: 'next', payload: 'beside' },
    ]);
    expect(beside).toMatchObject({
      status: 201,
      body: [{ status: 'failed', code: 'offset_too_large' }, { status: 'queued' }],
    });
    const pushing = {
      operations: [{ type: 'push', items: [{ queue: 'offsets', partition: 'p', payload: 1 }] }],
    };
    expect(await broker.post('/api/v1/transaction', pushing)).toMatchObject({
      status: 500,
      body: { code: 'offset_too_large' },
    });
    const { body } = await broker.pop(partitionPath('offsets', 'p'), { autoAck: true });
    expect(body.messages.map(({ data }) => data)).toEqual(['last']);
    expect(await broker.pop(partitionPath('offsets', 'p'))).toMatchObject({ status: 204 });
  });

  it('overloaded: pushes beyond the memory set aside for them are told when to come again', async () => {
    const { s1 } = await openSessions(broker.database, ['s1']);
    await broker.push([{ queue: 'large', partition: 'p', payload: 0 }]);
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    const large = (payload: string) =>
      broker.push([{ queue: 'large', partition: 'p', payload: payload.repeat(700_000) }]);
    const held = large('a');
    await untilBlocked(broker.database, 1);
    const refused = await large('b');
    expect(refused).toMatchObject({ status: 503, body: { code: 'overloaded' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    await s1.commit();
    expect(await held).toMatchObject({ status: 201 });
    expect(await large('b')).toMatchObject({ status: 201 });
  });
});
