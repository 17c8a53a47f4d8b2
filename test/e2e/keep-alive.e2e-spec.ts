import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';

/*
 * Field case A28: a connection that the broker closes while its load balancer believes in it is a 502 now and then, most of
 * all when little is going on. So the broker must keep it longer than they do: 60 s is common, 75 s the most.
 */

interface Limits {
  keepAliveTimeout: number;
  headersTimeout: number;
  requestTimeout: number;
}

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

describe('an idle connection', () => {
  it('is kept longer than load balancers keep theirs, unless the setting says otherwise (A28)', async () => {
    const { keepAliveTimeout, requestTimeout } = broker.broker.app.getHttpServer() as unknown as Limits;
    expect(keepAliveTimeout).toBeGreaterThan(75_000);
    // A request timeout counts from the first byte of a request, never over a long-poll or an idle time.
    expect(requestTimeout).toBeGreaterThan(60_000);
    const short = await startBroker({ QUEEN_KEEP_ALIVE_TIMEOUT_MS: 1000 });
    const idle = (await RawConnection.open(short.port)).send(rawRequest('GET', '/health'));
    expect((await idle.response()).headers.get('keep-alive')).toBe('timeout=1');
    await idle.closed(60_000);
    await short.stop();
  });

  it('tells its time to clients, so that they need not guess (A28)', async () => {
    const connection = (await RawConnection.open(broker.port)).send(rawRequest('GET', '/health'));
    expect((await connection.response()).headers.get('keep-alive')).toBe('timeout=95');
    connection.destroy();
  });

  it('is used again and again, after long-polls and refusals as well (A28)', async () => {
    const connection = await RawConnection.open(broker.port);
    const steps: [string, string, number][] = [
      ['GET', '/api/v1/pop/queue/idle?wait=true&timeout=200', 204],
      ['GET', '/api/v1/pop/queue/idle?batch=x', 400],
      ['GET', '/nowhere', 404],
      ['GET', '/api/v1/pop/queue/idle', 204],
      ['GET', '/health/live', 200],
    ];
    for (let round = 0; round < 20; round++) {
      for (const [method, path, expected] of steps) {
        const { status } = await connection.send(rawRequest(method, path)).response();
        expect([path, status]).toEqual([path, expected]);
      }
    }
    expect(connection.isOpen).toBe(true);
    connection.destroy();
  });
});
