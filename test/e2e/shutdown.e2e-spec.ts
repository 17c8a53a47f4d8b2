import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DrainingIndicator } from '../../src/health/draining.indicator.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { untilBlocked } from '../support/blocked.js';
import { queuePath, startBroker } from '../support/broker.js';
import { BrokerProcess } from '../support/broker-process.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { countRows } from '../support/make.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { openSessions, type TestSession } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

const PUSH = '{"items":[{"queue":"q","partition":"p","payload":1}]}';

describe('a broker that is told to stop', () => {
  let db: TestDatabase;
  let s1: TestSession;
  let broker: BrokerProcess & { port: number };
  beforeAll(async () => {
    db = await createTestDatabase();
    ({ s1 } = await openSessions(db, ['s1']));
  });
  afterEach(async () => {
    await s1.rollback();
    await broker.end();
  });
  afterAll(() => db.drop());

  async function start(settings: Record<string, string | number> = {}): Promise<void> {
    broker = await BrokerProcess.start({ DATABASE_URL: db.url, ...settings });
  }

  async function send(method: string, path: string, body?: string): Promise<RawConnection> {
    return (await RawConnection.open(broker.port)).send(rawRequest(method, path, body));
  }

  /** A push that is held up in the database. */
  async function heldPush(): Promise<RawConnection> {
    await (await send('POST', '/api/v1/push', PUSH)).response();
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    const push = await send('POST', '/api/v1/push', PUSH);
    await untilBlocked(db, 1);
    return push;
  }

  it('sends parked pops home with 204, is not held up by idle connections, and exits with 0', async () => {
    await start();
    const silent = await RawConnection.open(broker.port);
    const idle = await send('GET', '/health');
    expect(await idle.response()).toMatchObject({ status: 200 });
    const half = (await RawConnection.open(broker.port)).send('GET /health HTTP/1.1\r\nHos');
    const pops = await Promise.all(
      ['/queue/a?', '/queue/a/partition/p?', '?namespace=a&'].map((path) =>
        send('GET', `/api/v1/pop${path}wait=true&timeout=60000`),
      ),
    );
    // The answer to a later request says that the earlier ones were read.
    expect(await (await send('GET', '/health')).response()).toMatchObject({ status: 200 });

    broker.kill('SIGTERM');
    for (const pop of pops) {
      const { status, headers } = await pop.response();
      expect([status, headers.get('connection'), headers.has('content-length')]).toEqual([
        204,
        'close',
        false,
      ]);
      await pop.closed();
    }
    for (const connection of [silent, idle, half]) await connection.closed();
    expect(await waitFor(broker.exit, { within: 10_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(broker.lines).toMatch(/SIGTERM: draining[\s\S]*stopped/);
    await db.expectNoSessions();
  }, 60_000);

  it('finishes what is under way and takes nothing new; further signals change nothing', async () => {
    await start();
    const push = await heldPush();
    broker.kill('SIGTERM');
    await broker.said(/draining/);
    broker.kill('SIGTERM');
    broker.kill('SIGINT');
    await waitFor(
      () =>
        RawConnection.open(broker.port).then(
          (connection) => connection.closed().then(() => false),
          () => true,
        ),
      { within: 5000, what: 'new connections to be refused' },
    );
    expect(broker.isRunning).toBe(true);
    expect(push.unread).toHaveLength(0);
    await s1.rollback();
    const response = await push.response();
    expect([response.status, response.headers.get('connection')]).toEqual([201, 'close']);
    expect(JSON.parse(response.body.toString())).toMatchObject([{ status: 'queued' }]);
    expect(await waitFor(broker.exit, { within: 10_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(broker.lines.match(/draining/g)).toHaveLength(1);
    expect(broker.lines).not.toMatch(/pool.*(ended|closed)|Error/i);
  }, 60_000);

  it('by Ctrl-C as well, leaves after its grace period all the same, and says so by its exit code', async () => {
    await start({ QUEEN_SHUTDOWN_GRACE_MS: 1000 });
    await heldPush();
    broker.kill('SIGINT');
    expect(await waitFor(broker.exit, { within: 15_000, what: 'the broker to exit' })).toEqual({
      code: 1,
      signal: null,
    });
    expect(broker.lines).toContain('the drain took longer than 1000 ms');
  }, 60_000);

  it('while it starts finishes the schema, and exits with 0 without having listened for long', async () => {
    const empty = await createTestDatabase({ empty: true });
    broker = Object.assign(BrokerProcess.spawn({ DATABASE_URL: empty.url }), { port: 0 });
    await broker.said(/applied migration 0001/);
    broker.kill('SIGTERM');
    expect(await waitFor(broker.exit, { within: 30_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(await countRows(empty, 'queues')).toBe(0);
    await empty.drop();
  }, 60_000);
});

describe('a broker that cannot start', () => {
  it.each([
    ['a setting that is no number', { PORT: 'http' }, /PORT/],
    [
      'a database that is not there',
      { DATABASE_URL: 'postgres://nobody:secret-word@127.0.0.1:1/none' },
      /cannot start/,
    ],
  ])(
    'says why in a line and exits with 1, for %s',
    async (_, settings, reason) => {
      const broker = BrokerProcess.spawn({
        DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
        ...settings,
      } as Record<string, string>);
      expect(await waitFor(broker.exit, { within: 30_000, what: 'the broker to exit' })).toEqual({
        code: 1,
        signal: null,
      });
      expect(broker.lines).toMatch(reason);
      expect(broker.lines).not.toContain('secret-word');
      expect(broker.lines).not.toMatch(/\n\s+at /);
    },
    60_000,
  );
});

it('is not ready from the first moment of a shutdown, and closing it twice is closing it once', async () => {
  const test = await startBroker();
  const { app } = test.broker;
  const parked = test.pop(queuePath('q'), { wait: true, timeout: 60_000 });
  await waitFor(() => app.get(WakeGateService).stats().parked === 1, {
    within: 5000,
    what: 'a pop to be parked',
  });
  const draining = app.get(DrainingIndicator);
  expect(draining.isDraining).toBe(false);
  const first = test.broker.close();
  expect(draining.isDraining).toBe(true);
  expect(draining.check()).toMatchObject({ draining: { status: 'down' } });
  await Promise.all([first, test.broker.close()]);
  expect(await parked).toMatchObject({ status: 204 });
  await test.stop();
});
