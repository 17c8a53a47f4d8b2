import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { errorTable, type ErrorCode } from '../../src/base/errors/error-table.js';
import { startBroker, type TestBroker } from '../support/broker.js';
import { liveBytes } from '../support/force-gc.js';
import { fuzz, FUZZ_TIMEOUT_MS } from '../support/fuzz.js';
import { rawRequest } from '../support/raw-http.js';

/* Good requests with a few bytes changed, on connections of their own. The broker may refuse them or understand them otherwise. */

let broker: TestBroker;
beforeAll(async () => {
  // No timeout of a long poll, so that none is waited for; nor is a body that is announced longer than the filling.
  broker = await startBroker({
    DEFAULT_TIMEOUT: 0,
    QUEEN_MAX_BODY_BYTES: 8192,
    QUEEN_REQUEST_TIMEOUT_MS: 5000,
  });
});
afterAll(() => broker.stop());

/** Not waited for in vain too long: a request that is not whole gets no answer before it is filled up. */
const QUIET_MS = 300;

const PARTITION = '0198c0de-0000-7000-8000-000000000000';
const ack = { transactionId: 't', partitionId: PARTITION, status: 'completed', leaseId: 'l' };
const json = (value: unknown) => JSON.stringify(value);
const requests = [
  rawRequest(
    'POST',
    '/api/v1/push',
    json({ items: [{ queue: 'q', partition: 'p', transactionId: 't', payload: { a: [1, -0.5e1] } }] }),
  ),
  rawRequest(
    'POST',
    '/api/v1/push',
    json({
      items: [
        { queue: 'q', payload: 1, headers: { a: 'b' } },
        { queue: 'r', payload: '\u00e9' },
      ],
    }),
  ),
  rawRequest('POST', '/api/v1/ack', json({ ...ack, consumerGroup: 'g' })),
  rawRequest(
    'POST',
    '/api/v1/ack/batch',
    json({ consumerGroup: 'g', acknowledgments: [ack, { ...ack, status: 'failed', error: 'no' }] }),
  ),
  rawRequest(
    'POST',
    '/api/v1/transaction',
    json({ operations: [{ type: 'push', items: [{ queue: 'q', payload: 1 }] }], requiredLeases: [] }),
  ),
  rawRequest('POST', '/api/v1/configure', json({ queue: 'q', options: { leaseTime: 60, retryLimit: 3 } })),
  rawRequest('GET', '/api/v1/pop/queue/q/partition/p?batch=2&autoAck=true&consumerGroup=g'),
  rawRequest('GET', '/api/v1/pop?namespace=n&task=t&partitions=3&subscriptionMode=new'),
  rawRequest('GET', '/api/v1/messages?queue=q&limit=5&offset=1'),
  rawRequest('GET', '/api/v1/status/queues?limit=2&filter=a%20b'),
  rawRequest('POST', '/api/v1/lease/l/extend', json({ seconds: 5 })),
  Buffer.from(
    `POST /api/v1/push HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{"items":[]}\r\n0\r\n\r\n`,
  ),
];

type Change = [kind: number, at: number, what: string];
const change: fc.Arbitrary<Change> = fc.tuple(
  fc.nat(3),
  fc.nat(),
  fc.oneof(
    fc.constantFrom(
      '\0',
      '\r',
      '\n',
      '\r\n',
      ' ',
      ':',
      '"',
      '{',
      '}',
      ',',
      '%',
      '?',
      '/',
      '\\u0000',
      '1e999',
      '-',
    ),
    fc.constantFrom(
      'Content-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\n',
      'Expect: x\r\n',
      'Content-Encoding: gzip\r\n',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }),
  ),
);

function changed(request: Buffer, changes: readonly Change[]): Buffer {
  return changes.reduce((bytes, [kind, place, what]) => {
    const at = place % (bytes.length + 1);
    if (kind === 0) return Buffer.concat([bytes.subarray(0, at), Buffer.from(what), bytes.subarray(at)]);
    if (kind === 1)
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(what), bytes.subarray(at + what.length)]);
    if (kind === 2) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
    return bytes.subarray(0, at);
  }, request);
}

/** Ends headers that did not end, fills a body up to the limit, and is then no request: the broker ends the connection. */
const FILLING = Buffer.concat([Buffer.from('\r\n\r\n'), Buffer.alloc(10_000)]);

/** All that the broker says until it closes. */
async function conversation(bytes: Buffer): Promise<string> {
  const socket = connect({ port: broker.port, host: '127.0.0.1' });
  let received = '';
  socket.on('data', (piece: Buffer) => (received += piece.toString('latin1')));
  socket.on('error', () => undefined); // a reset is an end like any other
  const closed = once(socket, 'close');
  // The answer first: what is no HTTP behind a request cuts the connection without it.
  socket.write(bytes);
  await Promise.race([closed, once(socket, 'data'), new Promise((resolve) => setTimeout(resolve, QUIET_MS))]);
  socket.write(FILLING);
  await closed;
  return received;
}

/** The status of each answer; one that is an error has to be a documented one, in JSON. */
function statusesIn(received: string): number[] {
  const answers = received.split(/(?=HTTP\/1\.1 \d{3} )/).filter((answer) => answer !== '');
  return answers.map((answer) => {
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
    if (status >= 400) {
      const { code } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as { code: ErrorCode };
      expect([code, errorTable[code]?.status]).toEqual([code, status]);
      // The broker is well and so is its database: whatever came, the fault is the client's.
      expect([status < 500, answer]).toEqual([true, answer]);
    } else expect([100, 200, 201, 204]).toContain(status);
    return status;
  });
}

it(
  'requests with changed bytes get answers that are documented, and leave nothing behind',
  async () => {
    const seen = new Map<number, number>();
    const round = async (some: Buffer[]) => {
      for (const received of await Promise.all(some.map(conversation)))
        for (const status of statusesIn(received)) seen.set(status, (seen.get(status) ?? 0) + 1);
    };
    await round(requests); // what is made once is made now
    const before = liveBytes();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...requests), fc.array(change, { minLength: 1, maxLength: 3 })), {
          minLength: 1,
          maxLength: 8,
        }),
        (several) => round(several.map(([request, changes]) => changed(request, changes))),
      ),
      fuzz(60),
    );
    expect(seen.get(400)).toBeGreaterThan(20);
    expect(seen.get(201)).toBeGreaterThan(0);
    expect(await broker.get('/health')).toMatchObject({ status: 200 });
    expect(liveBytes() - before).toBeLessThan(48 * 1024 * 1024);
  },
  FUZZ_TIMEOUT_MS,
);
