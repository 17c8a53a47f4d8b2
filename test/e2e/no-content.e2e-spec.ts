import { Agent, request } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';

/** A 204 that announces a length, or brings a body, breaks the kept-alive connections of its clients. */
describe('an answer without content (A27)', () => {
  let broker: TestBroker;
  let connection: RawConnection;
  beforeAll(async () => {
    broker = await startBroker();
  });
  beforeEach(async () => {
    connection = await RawConnection.open(broker.port);
  });
  afterEach(() => connection.destroy());
  afterAll(() => broker.stop());

  it.each([
    ['across a queue', '/api/v1/pop/queue/q'],
    ['across a queue, having waited', '/api/v1/pop/queue/q?wait=true&timeout=50'],
    ['of one partition', '/api/v1/pop/queue/q/partition/p'],
    ['by namespace', '/api/v1/pop?namespace=n'],
    ['with parameters that were lowered', '/api/v1/pop/queue/q?batch=2000000'],
  ])('has no body, no length, no encoding and no type: a pop %s', async (_, path) => {
    const { head, headers } = await connection.send(rawRequest('GET', path)).response();
    expect(head.split('\r\n')[0]).toBe('HTTP/1.1 204 No Content');
    for (const name of ['content-length', 'transfer-encoding', 'content-type'])
      expect([name, headers.has(name)]).toEqual([name, false]);
    expect(headers.get('connection')).toBe('keep-alive');
    // Longer than clients and load balancers keep an idle connection: the broker must not be the one that ends it.
    expect(Number(/timeout=(\d+)/.exec(headers.get('keep-alive') ?? '')?.[1])).toBeGreaterThan(90);
    // What follows on the connection begins with the next answer, not with left-over bytes.
    expect(await connection.send(rawRequest('GET', '/health')).response()).toMatchObject({ status: 200 });
    expect(connection.unread).toHaveLength(0);
  });

  it('leaves room for the next ones when pops are pipelined, and the connection is kept', async () => {
    await broker.push([{ queue: 'full', payload: { a: 1 } }]);
    const empty = rawRequest('GET', '/api/v1/pop/queue/empty');
    connection.send(
      Buffer.concat([empty, empty, empty, rawRequest('GET', '/api/v1/pop/queue/full?autoAck=true'), empty]),
    );
    const statuses: number[] = [];
    let body = '';
    for (let i = 0; i < 5; i++) {
      const response = await connection.response();
      statuses.push(response.status);
      body += response.body.toString();
    }
    expect(statuses).toEqual([204, 204, 204, 200, 204]);
    expect(JSON.parse(body)).toMatchObject({ messages: [{ data: { a: 1 } }] });
    expect(connection.unread).toHaveLength(0);
    expect(connection.isOpen).toBe(true);
  });

  it('comes in the order of the requests, also behind one that waits', async () => {
    connection.send(
      Buffer.concat([
        rawRequest('GET', '/api/v1/pop/queue/slow?wait=true&timeout=300'),
        rawRequest('GET', '/health'),
      ]),
    );
    expect(await connection.response()).toMatchObject({ status: 204 });
    expect(await connection.response()).toMatchObject({ status: 200 });
  });

  it('closes the connection of a client that speaks HTTP/1.0', async () => {
    connection.send('GET /api/v1/pop/queue/q HTTP/1.0\r\n\r\n');
    const { status, headers } = await connection.response();
    expect([status, headers.has('content-length')]).toEqual([204, false]);
    await connection.closed();
  });

  it('a hundred times over goes through one connection of an ordinary client', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    const poll = () =>
      new Promise<number>((resolve, reject) => {
        const call = request(`${broker.base}/api/v1/pop/queue/q`, { agent }, (response) => {
          ports.add(response.socket.localPort);
          response.resume();
          response.once('end', () => resolve(response.statusCode ?? 0));
        });
        call.once('error', reject).end();
      });
    for (let i = 0; i < 100; i++) expect(await poll()).toBe(204);
    expect(ports.size).toBe(1);
    agent.destroy();
  });
});

it('HEAD takes no message: it is not a way to pop', async () => {
  const broker = await startBroker();
  await broker.push([{ queue: 'q', partition: 'p', payload: 1 }]);
  const connection = await RawConnection.open(broker.port);
  for (const path of [
    '/api/v1/pop/queue/q?autoAck=true',
    '/api/v1/pop/queue/q/partition/p',
    '/api/v1/pop?namespace=q',
  ]) {
    const { status, headers } = await connection.send(rawRequest('HEAD', path)).response({ head: true });
    expect([status, headers.get('allow')]).toEqual([405, 'GET']);
  }
  connection.destroy();
  expect((await broker.pop('/queue/q')).body.messages).toMatchObject([{ data: 1, deliveryAttempt: 1 }]);
  await broker.stop();
});
