import { connect } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { countRows } from '../support/make.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { waitFor } from '../support/wait-for.js';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker({ QUEEN_HEADERS_TIMEOUT_MS: 1000, QUEEN_REQUEST_TIMEOUT_MS: 2000 });
});
afterAll(() => broker.stop());

const PATIENCE_MS = 50_000;

/** A byte now and then, for as long as the broker listens: what it never gets is the end. */
async function trickle(connection: RawConnection, byte: string): Promise<void> {
  await waitFor(
    () => {
      if (connection.isOpen) connection.send(byte);
      return !connection.isOpen;
    },
    { within: PATIENCE_MS, what: 'the broker to lose its patience' },
  );
}

describe('a client that takes its time (A30)', () => {
  it('with its headers is told so, and cut off', async () => {
    const connection = await RawConnection.open(broker.port);
    connection.send('GET /health HTTP/1.1\r\nHost: b\r\nX: ');
    await trickle(connection, 'x');
    expect(connection.unread.toString()).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
  });

  it('with its body is told so and cut off, and nothing is stored', async () => {
    const connection = await RawConnection.open(broker.port);
    connection.send('POST /api/v1/push HTTP/1.1\r\nHost: b\r\nContent-Length: 9999999\r\n\r\n');
    connection.send('{"items":[{"queue":"slow","payload":"');
    await trickle(connection, 'x');
    expect(connection.unread.toString()).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
    expect(await countRows(broker.database, 'queues', "name = 'slow'")).toBe(0);
  });

  it('before its first byte is cut off too', async () => {
    await (await RawConnection.open(broker.port)).closed(PATIENCE_MS);
  });

  it('is one of three hundred, and the others are served meanwhile', async () => {
    const slow = await Promise.all(
      Array.from({ length: 300 }, async (_, i) =>
        (await RawConnection.open(broker.port)).send(
          i % 2 === 0 ? 'GET /he' : 'POST /api/v1/push HTTP/1.1\r\nA: ',
        ),
      ),
    );
    while (slow.some(({ isOpen }) => isOpen)) {
      expect(await broker.push([{ queue: 'meanwhile', payload: 1 }])).toMatchObject({ status: 201 });
    }
    expect(slow.every(({ unread }) => unread.toString().startsWith('HTTP/1.1 408'))).toBe(true);
  });

  it('is not one that waits for a message', async () => {
    const waiting = await RawConnection.open(broker.port);
    // Longer than either limit; both are about what a client sends, and it has sent all.
    waiting.send(rawRequest('GET', '/api/v1/pop/queue/patient?wait=true&timeout=4000'));
    expect(await waiting.response({ within: PATIENCE_MS })).toMatchObject({ status: 204 });
    expect(await waiting.send(rawRequest('GET', '/health/live')).response()).toMatchObject({ status: 200 });
    waiting.destroy();
  });
});

describe('a client that does not read its answer (A30)', () => {
  it('holds up nobody; its lease runs out, and others get the messages', async () => {
    await broker.configure('unread', { leaseTime: 1 });
    await broker.push(Array.from({ length: 20 }, () => ({ queue: 'unread', payload: 'x'.repeat(500_000) })));
    const deaf = connect({ port: broker.port, host: '127.0.0.1' });
    await once(deaf, 'connect');
    deaf.pause().write(rawRequest('GET', '/api/v1/pop/queue/unread'));
    await waitFor(
      async () => (await countRows(broker.database, 'log_consumers', 'worker_id is not null')) > 0,
      {
        within: PATIENCE_MS,
        what: 'the batch to be leased',
      },
    );
    const again = await waitFor(
      async () => {
        const { status, body } = await broker.pop(queuePath('unread'));
        return status === 200 && body;
      },
      { within: PATIENCE_MS, what: 'the messages to come again' },
    );
    expect(again.messages).toHaveLength(20);
    expect(await broker.get('/health')).toMatchObject({ status: 200 });
    deaf.destroy();
  });
});
