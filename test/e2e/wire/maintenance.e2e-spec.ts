import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../../support/broker.js';

/** The exact shapes that clients of the maintenance routes read; a key with another name fails here. */
let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const PUSH = '/api/v1/system/maintenance';
const POP = '/api/v1/system/maintenance/pop';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

afterEach(async () => {
  await broker.post(PUSH, { enabled: false });
  await broker.post(POP, { enabled: false });
});

describe('GET /api/v1/system/maintenance', () => {
  it('tells both switches and what is in the spool', async () => {
    const { status, body } = await broker.get(PUSH);
    expect([status, body]).toEqual([
      200,
      {
        maintenanceMode: false,
        popMaintenanceMode: false,
        bufferedMessages: 0,
        bufferHealthy: true,
        bufferStats: {
          pendingCount: 0,
          failedCount: 0,
          dbHealthy: true,
          diskHealthy: true,
          pendingFiles: 0,
          pendingBytes: 0,
          oldestAgeSeconds: null,
          failedFiles: { count: 0, totalBytes: 0, totalMB: 0, failoverCount: 0, qos0Count: 0 },
        },
      },
    ]);
  });
});

describe('POST /api/v1/system/maintenance', () => {
  it('switches pushes to the spool and back', async () => {
    const on = await broker.post(PUSH, { enabled: true });
    expect([on.status, on.body]).toEqual([
      200,
      {
        maintenanceMode: true,
        bufferedMessages: 0,
        bufferHealthy: true,
        message: 'Maintenance mode ENABLED. All PUSHes routing to file buffer.',
      },
    ]);
    expect((await broker.get(PUSH)).body).toMatchObject({ maintenanceMode: true, popMaintenanceMode: false });
    const off = await broker.post(PUSH, { enabled: false });
    expect([off.status, off.body]).toEqual([
      200,
      {
        maintenanceMode: false,
        bufferedMessages: 0,
        bufferHealthy: true,
        message: 'Maintenance mode DISABLED. Background processor will drain buffer to DB.',
      },
    ]);
  });

  it('has pushes answered 201 with buffered items, in their usual shape', async () => {
    await broker.post(PUSH, { enabled: true });
    const { status, body } = await broker.push([
      { queue: 'q', payload: 1, transactionId: 't1' },
      { queue: 'q', payload: 1, transactionId: 't1' },
    ]);
    const [first] = body as { message_id: string }[];
    const item = {
      message_id: expect.stringMatching(UUID),
      transaction_id: 't1',
      queueName: 'q',
      status: 'buffered',
    };
    expect([status, body]).toEqual([
      201,
      [
        { index: 0, ...item },
        { index: 1, ...item, message_id: first.message_id },
      ],
    ]);
    expect((await broker.get(PUSH)).body).toMatchObject({
      bufferedMessages: 1,
      bufferStats: { pendingCount: 1, pendingFiles: 1, oldestAgeSeconds: expect.any(Number) },
    });
  });
});

describe('/api/v1/system/maintenance/pop', () => {
  it('GET tells the switch in words', async () => {
    const { status, body } = await broker.get(POP);
    expect([status, body]).toEqual([
      200,
      { popMaintenanceMode: false, message: 'Pop maintenance mode is OFF. Normal operation.' },
    ]);
  });

  it('POST switches pops off and on', async () => {
    const on = await broker.post(POP, { enabled: true });
    expect([on.status, on.body]).toEqual([
      200,
      {
        popMaintenanceMode: true,
        message: 'Pop maintenance mode ENABLED. All POP operations will return empty arrays.',
      },
    ]);
    expect((await broker.get(POP)).body).toEqual({
      popMaintenanceMode: true,
      message: 'Pop maintenance mode is ON. All POP operations return empty arrays.',
    });
    const off = await broker.post(POP, { enabled: false });
    expect([off.status, off.body]).toEqual([
      200,
      { popMaintenanceMode: false, message: 'Pop maintenance mode DISABLED. Normal operation resumed.' },
    ]);
  });
});

describe('GET /api/v1/system/shared-state', () => {
  it('tells that brokers share nothing but the database, and both switches', async () => {
    await broker.post(POP, { enabled: true });
    const { status, body } = await broker.get('/api/v1/system/shared-state');
    expect([status, body]).toEqual([
      200,
      {
        enabled: false,
        reason: 'single_node_segments_broker',
        maintenance_mode: false,
        pop_maintenance_mode: true,
      },
    ]);
  });
});

describe.each([PUSH, POP])('a body of POST %s', (path) => {
  it.each(['{}', '{"enabled":null}', '{"on":true}'])('%s says what is missing', async (text) => {
    const { status, body } = await broker.post(path, text);
    expect([status, body]).toEqual([400, { error: 'enabled (boolean) is required', code: 'bad_body' }]);
  });

  it.each(['', '{', '[]', 'true', '{"enabled":"true"}', '{"enabled":1}', '{"enabled":{}}'])(
    '%j is a bad body',
    async (text) => {
      const { status, body } = await broker.post(path, text);
      expect([status, body]).toEqual([
        400,
        { error: expect.stringMatching(/^bad body: /), code: 'bad_body' },
      ]);
    },
  );
});
