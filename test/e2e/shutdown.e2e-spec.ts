import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger, type LoggerService } from '@nestjs/common';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DrainingIndicator } from '../../src/health/draining.indicator.js';
import { MaintenanceService } from '../../src/maintenance/maintenance.service.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { blockedBackends, untilBlocked } from '../support/blocked.js';
import { queuePath, startBroker } from '../support/broker.js';
import { BrokerProcess } from '../support/broker-process.js';
import { clientOf } from '../support/client.js';
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

  it('(A31) sends parked pops home with 204, is not held up by idle connections, and exits with 0', async () => {
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
    expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(broker.lines).toMatch(/SIGTERM: draining[\s\S]*stopped/);
    await db.expectNoSessions();
  }, 120_000);

  it('(A31) finishes what is under way and takes nothing new; further signals change nothing', async () => {
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
    expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(broker.lines.match(/draining/g)).toHaveLength(1);
    expect(broker.lines).not.toMatch(/pool.*(ended|closed)|Error/i);
  }, 120_000);

  it('by Ctrl-C as well, leaves after its grace period all the same, and says so by its exit code', async () => {
    await start({ QUEEN_SHUTDOWN_GRACE_MS: 1000 });
    await heldPush();
    broker.kill('SIGINT');
    expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toEqual({
      code: 1,
      signal: null,
    });
    expect(broker.lines).toContain('the drain took longer than 1000 ms');
  }, 120_000);

  it('while it starts ends the schema after the file under way, and exits with 0 without having listened (A31)', async () => {
    const empty = await createTestDatabase({ empty: true });
    broker = Object.assign(BrokerProcess.spawn({ DATABASE_URL: empty.url }), { port: 0 });
    await broker.said(/applied migration 0001/);
    broker.kill('SIGTERM');
    expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(broker.lines).toMatch(/SIGTERM: draining[\s\S]*stopped/);
    expect(broker.lines).not.toContain('cannot start');
    // Whatever it got to, the next start goes on from there.
    broker = await BrokerProcess.start({ DATABASE_URL: empty.url });
    broker.kill('SIGTERM');
    await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' });
    expect(await countRows(empty, 'queues')).toBe(0);
    await empty.drop();
  }, 120_000);

  it('while it starts its embedded PostgreSQL stops that as well, and keeps what it has made (A31)', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'queen-nest-signal-'));
    await chmod(dataDir, 0o755);
    broker = Object.assign(
      BrokerProcess.spawn({ DATABASE_URL: '', QUEEN_DATA_DIR: dataDir, QUEEN_SHUTDOWN_GRACE_MS: 200_000 }),
      { port: 0 },
    );
    await broker.said(/creating a PostgreSQL/);
    broker.kill('SIGTERM');
    expect(await waitFor(broker.exit, { within: 60_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(broker.lines).not.toMatch(/listening|cannot start/);
    expect(existsSync(join(dataDir, 'pg', 'postmaster.pid'))).toBe(false);
    expect(existsSync(join(dataDir, 'broker.pid'))).toBe(false);
    await rm(dataDir, { recursive: true });
  }, 120_000);

  it('sends a thousand parked pops home while pushes are under way, which are answered (A31)', async () => {
    await start({
      QUEEN_SHUTDOWN_LINGER_MS: 0,
      QUEEN_SHUTDOWN_GRACE_MS: 200_000,
      QUEEN_STMT_TIMEOUT_MS: 100_000,
    });
    await (await send('POST', '/api/v1/push', PUSH)).response();
    const pops = await Promise.all(
      Array.from({ length: 1000 }, (_, n) =>
        send('GET', `/api/v1/pop/queue/crowd${n % 50}?wait=true&timeout=120000`),
      ),
    );
    await waitFor(async () => (await clientOf(broker.port).metric('queen_parked_long_polls_all')) >= 1000, {
      within: 60_000,
      what: 'a thousand pops to be parked',
    });
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    const pushes = await Promise.all(Array.from({ length: 20 }, () => send('POST', '/api/v1/push', PUSH)));
    await waitFor(async () => (await blockedBackends(db)).length > 0, {
      within: 60_000,
      what: 'a push to be held up',
    });
    const toldMs = performance.now();
    broker.kill('SIGTERM');
    const answers = await Promise.all(pops.map((pop) => pop.response({ within: 60_000 })));
    process.stdout.write(`1000 parked pops left within ${Math.round(performance.now() - toldMs)} ms\n`);
    for (const { status, headers } of answers)
      expect([status, headers.get('connection')]).toEqual([204, 'close']);
    expect(broker.isRunning).toBe(true);
    await s1.rollback();
    // One whose bytes the broker had not read yet is cut; each of the others is answered, and stored.
    const outcomes = await Promise.all(
      pushes.map(async (push) => {
        await push.closed(60_000);
        return push.unread.length > 0 ? (await push.response()).status : null;
      }),
    );
    const answered = outcomes.filter((status) => status !== null);
    expect(answered.length).toBeGreaterThan(0);
    expect(new Set(answered)).toEqual(new Set([201]));
    expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
  }, 120_000);

  it('claims nothing for pops that wait for their turn behind others', async () => {
    await start({
      QUEEN_SEG_POP_INIT: 1,
      QUEEN_SEG_POP_MIN: 1,
      QUEEN_SEG_POP_MAX: 1,
      QUEEN_SHUTDOWN_LINGER_MS: 0,
    });
    const items = [1, 2, 3].map((n) => ({ queue: 'turn', partition: `p${n}`, payload: n }));
    await (await send('POST', '/api/v1/push', JSON.stringify({ items }))).response();
    await s1.begin();
    await s1.run('lock table queen.log_consumers in access exclusive mode');
    const pops = await Promise.all(
      [1, 2, 3].map((n) => send('GET', `/api/v1/pop/queue/turn/partition/p${n}?consumerGroup=g`)),
    );
    await untilBlocked(db, 1);
    broker.kill('SIGTERM');
    await broker.said(/draining/);
    await s1.rollback();
    const answers = await Promise.all(pops.map((pop) => pop.response({ within: 30_000 })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 204, 204]);
    expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toMatchObject({
      code: 0,
    });
  }, 120_000);

  it('stores what is in its spool when the database is back in time', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'queen-nest-spool-'));
    const settings = { FILE_BUFFER_DIR: directory, FILE_BUFFER_FLUSH_MS: 60_000 };
    await start(settings);
    const at = clientOf(broker.port);
    await at.push([{ queue: 'spooled', payload: 0 }]);
    await at.post('/api/v1/system/maintenance', { enabled: true });
    expect((await at.push([{ queue: 'spooled', payload: 1 }])).body[0].status).toBe('buffered');
    await at.post('/api/v1/system/maintenance', { enabled: false });
    broker.kill('SIGTERM');
    expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toMatchObject({
      code: 0,
    });
    expect(broker.lines).not.toContain('stay in');
    await start(settings);
    const { body } = await clientOf(broker.port).pop('spooled', { consumerGroup: 'g' });
    expect(body.messages.map(({ data }) => data)).toEqual([0, 1]);
    await rm(directory, { recursive: true });
  }, 120_000);
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
      expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toEqual({
        code: 1,
        signal: null,
      });
      expect(broker.lines).toMatch(reason);
      expect(broker.lines).not.toContain('secret-word');
      expect(broker.lines).not.toMatch(/\n\s+at /);
    },
    240_000,
  );
});

it('closes the rest when a module fails to leave, and says so in a line (A31)', async () => {
  const test = await startBroker();
  const lines: string[] = [];
  const keep = (line: unknown) => void lines.push(String(line));
  Logger.overrideLogger({ log: keep, warn: keep, error: keep } satisfies LoggerService);
  const loop = test.broker.app.get(MaintenanceService, { strict: false });
  loop.beforeApplicationShutdown = () => Promise.reject(new Error('a module of a team'));
  await test.stop(); // fails when sessions are left open
  expect(lines.join('\n')).toContain('a module of a team');
  Logger.overrideLogger(false);
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
