import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SCHEMA_LOCK_KEY } from '../../src/schema/schema-lock.js';
import { BrokerProcess } from '../support/broker-process.js';
import { clientOf, type Client } from '../support/client.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { startOwnPostgres, type OwnPostgres } from '../support/own-postgres.js';
import { freePort } from '../support/pgbouncer.js';
import { openSessions, type TestSession } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

/*
 * Field cases A16 and A18: the probe that restarts a process says yes whatever becomes of the database; the one that
 * sends traffic says no until the schema is there, while nothing can be written, and from the first moment of a
 * shutdown.
 */

jest.setTimeout(120_000);
/** Probes are asked once a second and given one second; under test the machine may be much slower than either. */
const SOON = { within: 60_000 };

let broker: BrokerProcess;
afterEach(() => broker.end());

async function statuses(at: Client): Promise<Record<string, number>> {
  const paths = ['live', 'ready', 'startup'];
  const answers = await Promise.all(paths.map((path) => at.get(`/health/${path}`)));
  return Object.fromEntries(paths.map((path, i) => [path, answers[i].status]));
}

/** Waits until ready says so; live must say yes each time it is looked at. */
async function untilReadyIs(at: Client, status: number): Promise<void> {
  const check = async () => {
    const seen = await statuses(at);
    return seen.live === 200 && seen.ready === status;
  };
  await waitFor(check, { ...SOON, what: `ready to be ${status} and live 200` });
}

describe('a broker that starts', () => {
  let db: TestDatabase;
  let s1: TestSession;
  beforeEach(async () => {
    db = await createTestDatabase({ empty: true });
    ({ s1 } = await openSessions(db, ['s1']));
  });
  afterEach(async () => {
    await broker.end();
    await db.drop();
  });

  /** The schema lock is held by another, as during an upgrade. */
  async function startBehindTheLock(): Promise<Client> {
    await s1.run('select pg_advisory_lock($1)', [SCHEMA_LOCK_KEY]);
    const port = await freePort();
    broker = BrokerProcess.spawn({ DATABASE_URL: db.url, PORT: port, QUEEN_SHUTDOWN_LINGER_MS: 0 });
    const at = clientOf(port);
    await waitFor(async () => (await at.get('/health/live')).status === 200, {
      ...SOON,
      what: 'the port to be open',
    });
    return at;
  }

  it('lives and is not ready until the schema is there; others are told when to come again (A16)', async () => {
    const at = await startBehindTheLock();
    expect(await statuses(at)).toEqual({ live: 200, ready: 503, startup: 503 });
    expect(await at.get('/health')).toMatchObject({
      status: 503,
      body: { status: 'unhealthy', engine: 'queen-nest' },
    });
    const push = await at.push([{ queue: 'q', payload: 1 }]);
    expect([push.status, push.body, push.headers.get('retry-after')]).toEqual([
      503,
      expect.objectContaining({ code: 'starting' }),
      '1',
    ]);
    expect(await db.query(`select to_regclass('queen.queues') as queues`)).toMatchObject({
      rows: [{ queues: null }],
    });

    await s1.run('select pg_advisory_unlock($1)', [SCHEMA_LOCK_KEY]);
    await waitFor(async () => Object.values(await statuses(at)).every((status) => status === 200), {
      within: 60_000,
      what: 'all probes to say yes',
    });
    expect((await at.push([{ queue: 'q', payload: 1 }])).status).toBe(201);
  });

  it('and is told to stop while it waits for the schema leaves at once, and has changed nothing (A31)', async () => {
    await startBehindTheLock();
    broker.kill('SIGTERM');
    expect(await waitFor(broker.exit, { ...SOON, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(broker.lines).toMatch(/SIGTERM: draining[\s\S]*stopped/);
    expect(broker.lines).not.toMatch(/listening|cannot start/);
    await s1.run('select pg_advisory_unlock($1)', [SCHEMA_LOCK_KEY]);
    expect(await db.query(`select to_regclass('queen.queues') as queues`)).toMatchObject({
      rows: [{ queues: null }],
    });
    await db.expectNoSessions();
  });

  it('on a port that is taken says so before it touches the database', async () => {
    const at = await startBehindTheLock();
    const second = BrokerProcess.spawn({ DATABASE_URL: db.url, PORT: at.port });
    try {
      expect(await waitFor(second.exit, { ...SOON, what: 'the second to exit' })).toMatchObject({ code: 1 });
      expect(second.lines).toMatch(/cannot start: .*EADDRINUSE/);
    } finally {
      await second.end();
    }
    await s1.run('select pg_advisory_unlock($1)', [SCHEMA_LOCK_KEY]);
  });
});

describe('a PostgreSQL of its own', () => {
  let postgres: OwnPostgres;
  let at: Client;
  beforeAll(async () => {
    postgres = await startOwnPostgres();
  });
  afterAll(() => postgres.remove());

  const settings = () => ({
    DATABASE_URL: postgres.url,
    QUEEN_SPOOL: 'false',
    QUEEN_SHUTDOWN_LINGER_MS: 0,
  });
  const start = async () => {
    const started = await BrokerProcess.start(settings());
    broker = started;
    at = clientOf(started.port);
    await untilReadyIs(at, 200);
  };

  it('that is stopped costs readiness and not liveness, and comes back by itself (A16)', async () => {
    await start();
    await postgres.stop();
    await untilReadyIs(at, 503);
    expect(await statuses(at)).toEqual({ live: 200, ready: 503, startup: 200 });
    expect((await at.get('/health')).body).toMatchObject({ status: 'unhealthy', database: 'disconnected' });
    await postgres.start();
    await untilReadyIs(at, 200);
    expect((await at.push([{ queue: 'q', payload: 1 }])).status).toBe(201);
  });

  it('that hangs instead of refusing costs readiness as well (A16)', async () => {
    await start();
    await postgres.freeze();
    await untilReadyIs(at, 503);
    postgres.thaw();
    await untilReadyIs(at, 200);
    expect((await at.push([{ queue: 'q', payload: 1 }])).status).toBe(201);
  });

  it('that is demoted refuses writes with 503, and serves again after its promotion without a restart (A18)', async () => {
    await start();
    expect((await at.push([{ queue: 'demoted', payload: 1 }])).status).toBe(201);
    await postgres.demote();
    await untilReadyIs(at, 503);
    const refused = await waitFor(
      async () => {
        const answer = await at.push([{ queue: 'demoted', payload: 2 }]);
        return answer.status === 503 ? answer : null;
      },
      { ...SOON, what: 'a push to be refused' },
    );
    expect(refused.body).toMatchObject({ code: 'database_unavailable' });
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    const verdict = async () => {
      const { body } = await at.get<{ error: { database?: { verdict: string } } }>('/health/ready');
      return body.error.database?.verdict === 'read-only';
    };
    await waitFor(verdict, { ...SOON, what: 'the verdict to be read-only' });

    await postgres.promote();
    await untilReadyIs(at, 200);
    await waitFor(async () => (await at.push([{ queue: 'demoted', payload: 3 }])).status === 201, {
      ...SOON,
      what: 'a push to be stored',
    });
    expect(broker.isRunning).toBe(true);
  });

  it('that is a standby is refused at the start with one line, and no schema is tried (A18)', async () => {
    await postgres.demote();
    broker = BrokerProcess.spawn(settings());
    const exit = await waitFor(broker.exit, { within: 60_000, what: 'the broker to refuse' }).finally(() =>
      postgres.promote(),
    );
    expect(exit).toEqual({ code: 1, signal: null });
    expect(broker.lines).toMatch(/cannot start: PostgreSQL at 127\.0\.0\.1:\d+ is a standby/);
    expect(broker.lines).not.toMatch(/migration|\n\s+at /);
  });

  it('with default_transaction_read_only is not written to, and is again when it is off (A18)', async () => {
    await start();
    await postgres.database.query('alter system set default_transaction_read_only = on');
    await postgres.database.query('select pg_reload_conf()');
    await untilReadyIs(at, 503);
    await waitFor(async () => (await at.push([{ queue: 'ro', payload: 1 }])).status === 503, {
      ...SOON,
      what: 'a push to be refused',
    });
    await postgres.database.query('alter system reset default_transaction_read_only');
    await postgres.database.query('select pg_reload_conf()');
    await untilReadyIs(at, 200);
    await waitFor(async () => (await at.push([{ queue: 'ro', payload: 2 }])).status === 201, {
      ...SOON,
      what: 'a push to be stored',
    });
  });
});

describe('a broker whose pool is in use to the last connection', () => {
  let db: TestDatabase;
  afterEach(async () => {
    await broker.end();
    await db.drop();
  });

  it('is asked sixty times and says yes each time (A16)', async () => {
    db = await createTestDatabase();
    const { s1 } = await openSessions(db, ['s1']);
    const started = await BrokerProcess.start({
      DATABASE_URL: db.url,
      DB_POOL_SIZE: 4,
      QUEEN_POOL_RESERVE: 2,
      DB_POOL_WAIT_MS: 60_000,
      QUEEN_STMT_TIMEOUT_MS: 100_000,
    });
    broker = started;
    const at = clientOf(started.port);
    await s1.begin();
    await s1.run('lock table queen.queues in access exclusive mode');
    const calls = Array.from({ length: 20 }, (_, n) =>
      at.post('/api/v1/configure', { queue: `q${n}`, options: {} }),
    );
    const isFull = async () =>
      (await at.metric('queen_db_pool_active')) === 4 && (await at.metric('queen_db_pool_waiting')) > 0;
    await waitFor(isFull, { ...SOON, what: 'the pool to be in use' });
    for (let n = 0; n < 60; n++) expect(await statuses(at)).toEqual({ live: 200, ready: 200, startup: 200 });
    await s1.rollback();
    for (const call of calls) expect((await call).status).toBe(200);
  });
});
