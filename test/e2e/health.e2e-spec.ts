import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';

describe('health', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  it('is what clients of the API read', async () => {
    expect(await broker.get('/health')).toMatchObject({
      status: 200,
      body: {
        status: 'healthy',
        database: 'connected',
        engine: 'queen-nest',
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      },
    });
  });

  it('tells whether the process lives and whether it may be sent work', async () => {
    expect(await broker.get('/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await broker.get('/health/startup')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await broker.get('/health/ready')).toMatchObject({
      status: 200,
      body: { status: 'ok', details: { database: { status: 'up' }, draining: { status: 'up' } } },
    });
  });

  it('answers HEAD, without a body', async () => {
    const connection = await RawConnection.open(broker.port);
    for (const path of ['/health', '/health/live', '/health/ready', '/health/startup']) {
      const { status } = await connection.send(rawRequest('HEAD', path)).response({ head: true });
      expect([path, status, connection.unread.length]).toEqual([path, 200, 0]);
    }
    expect(await connection.send(rawRequest('GET', '/health')).response()).toMatchObject({ status: 200 });
    connection.destroy();
  });

  it('is never cached', async () => {
    expect((await broker.get('/health/ready')).headers.get('cache-control')).toContain('no-store');
  });
});
