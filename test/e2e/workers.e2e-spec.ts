import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BrokerProcess } from '../support/broker-process.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';
import { waitFor } from '../support/wait-for.js';

// Three processes start, and on a machine that is busy with other things each takes its time.
const BOOT_MS = 150_000;
jest.setTimeout(300_000);

const WORKERS = 2;

interface Workers extends BrokerProcess {
  port: number;
}

async function start(settings: Record<string, string | number>): Promise<Workers> {
  const broker = BrokerProcess.spawn({ QUEEN_WORKERS: WORKERS, ...settings });
  const port = Number((await broker.said(/listening on [^ ]*:(\d+)/, BOOT_MS))[1]);
  return Object.assign(broker, { port });
}

/** The processes that have served as this worker, oldest first. */
function processesOf(broker: BrokerProcess, worker: number): number[] {
  const ready = new RegExp(`worker ${worker} \\(process (\\d+)\\) is ready`, 'g');
  return [...broker.lines.matchAll(ready)].map(([, pid]) => Number(pid));
}

/** A kept connection to one of the workers: they are given out in turn. */
async function connectionTo(broker: Workers, worker: number): Promise<RawConnection> {
  return waitFor(
    async () => {
      const connection = await RawConnection.open(broker.port);
      const { body } = await call(connection, 'GET', '/api/v1/status/buffers');
      if ((body as { worker: number }).worker === worker) return connection;
      connection.destroy();
      return null;
    },
    { within: 30_000, what: `a connection to worker ${worker}` },
  );
}

async function call(connection: RawConnection, method: string, path: string, body?: string) {
  const response = await connection.send(rawRequest(method, path, body)).response({ within: 30_000 });
  const text = response.body.toString();
  return { status: response.status, text, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : null };
}

const pushBody = (
  ...items: { queue: string; partition?: string; transactionId?: string; payload: unknown }[]
) => JSON.stringify({ items });

async function valueOf(connection: RawConnection, series: string): Promise<number> {
  const { text } = await call(connection, 'GET', '/metrics/prometheus');
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  if (!line) throw new Error(`no series ${series}`);
  return Number(line.slice(series.length + 1));
}

describe('a broker of two workers', () => {
  let db: TestDatabase;
  let broker: Workers;
  beforeAll(async () => {
    db = await createTestDatabase();
    // A pop that hears nothing would look for itself only after an hour.
    broker = await start({ DATABASE_URL: db.url, QUEEN_HOTLIST_RESEED_MS: 3_600_000 });
  });
  afterAll(async () => {
    await broker.end();
    await db.drop();
  });

  it('has one port, says so once, and answers the probes on either', async () => {
    expect(broker.lines.match(/listening on/g)).toHaveLength(1);
    expect(broker.lines).not.toMatch(/queen-nest is ready/);
    for (let worker = 0; worker < WORKERS; worker++) {
      const connection = await connectionTo(broker, worker);
      for (const probe of ['/health', '/health/live', '/health/ready']) {
        expect((await call(connection, 'GET', probe)).status).toBe(200);
      }
      connection.destroy();
    }
  });

  it('wakes a pop parked at one worker with a push to the other', async () => {
    const [pusher, popper] = [await connectionTo(broker, 0), await connectionTo(broker, 1)];
    const pop = '/api/v1/pop/queue/wake?consumerGroup=g&autoAck=true';
    await call(pusher, 'POST', '/api/v1/push', pushBody({ queue: 'wake', payload: 0 }));
    expect((await call(popper, 'GET', pop)).status).toBe(200); // first contact
    expect((await call(popper, 'GET', pop)).status).toBe(204); // the ring's first walk
    for (let n = 1; n <= 3; n++) {
      popper.send(rawRequest('GET', `${pop}&wait=true&timeout=60000`));
      await waitFor(async () => (await valueOf(pusher, 'queen_parked_long_polls_all')) === 1, {
        within: 30_000,
        what: 'the pop to park',
      });
      await call(pusher, 'POST', '/api/v1/push', pushBody({ queue: 'wake', partition: `p${n}`, payload: n }));
      const { status, body } = await popper.response({ within: 50_000 });
      expect(status).toBe(200);
      expect(JSON.parse(body.toString())).toMatchObject({ messages: [{ data: n }] });
    }
    pusher.destroy();
    popper.destroy();
  });

  it('counts what all workers do, whichever is asked', async () => {
    const connections = [await connectionTo(broker, 0), await connectionTo(broker, 1)];
    const pushed = 'queen_process_push_messages_total';
    const before = await valueOf(connections[0], pushed);
    for (const [worker, pushes] of [3, 5].entries()) {
      for (let n = 0; n < pushes; n++) {
        await call(connections[worker], 'POST', '/api/v1/push', pushBody({ queue: 'counted', payload: n }));
      }
    }
    for (const connection of connections) {
      expect((await valueOf(connection, pushed)) - before).toBe(8);
      expect(await valueOf(connection, 'queen_db_pool_size')).toBe(WORKERS * 12);
      expect(await valueOf(connection, 'queen_maintenance_mode_enabled')).toBe(0);
      const { body } = await call(connection, 'GET', '/metrics');
      expect(body).toMatchObject({ database: { poolSize: WORKERS * 12 } });
      connection.destroy();
    }
  });

  it('goes on when a worker is killed, puts another in its place, and loses nothing', async () => {
    const PARTITIONS = 4;
    const asked = await connectionTo(broker, 0);
    const countedBefore = await valueOf(asked, 'queen_process_push_messages_total');
    const sent = new Array<number>(PARTITIONS).fill(0);
    let isPushing = true;

    /** Like a client: on a connection that breaks it sends the same message again. */
    const push = async (partition: number) => {
      while (isPushing) {
        const seq = sent[partition];
        const body = pushBody({
          ...{ queue: 'kept', partition: `p${partition}` },
          ...{ transactionId: `${partition}-${seq}`, payload: seq },
        });
        const answer = await fetch(`http://127.0.0.1:${broker.port}/api/v1/push`, { method: 'POST', body })
          .then(async (response) => (await response.text(), response))
          .catch(() => null);
        if (answer?.status === 201) sent[partition]++;
      }
    };
    const pushing = Promise.all(sent.map((_, partition) => push(partition)));
    const total = () => sent.reduce((sum, count) => sum + count, 0);
    const pushedMore = (than: number) =>
      waitFor(() => total() > than + 40, { within: 60_000, what: 'pushes to go on' });

    await pushedMore(0);
    const [victim] = processesOf(broker, 1);
    process.kill(victim, 'SIGKILL');
    await broker.said(new RegExp(`worker 1 \\(process ${victim}\\) is gone.*SIGKILL`), 30_000);
    await pushedMore(total());
    await waitFor(() => processesOf(broker, 1).length === 2, { within: BOOT_MS, what: 'another worker' });
    const replaced = await connectionTo(broker, 1);
    await pushedMore(total());
    isPushing = false;
    await pushing;

    // Counts of the dead worker up to the scrape before its end stay; none may fall.
    expect(await valueOf(replaced, 'queen_process_push_messages_total')).toBeGreaterThanOrEqual(
      countedBefore,
    );
    const got = sent.map((): number[] => []);
    for (;;) {
      const query = 'consumerGroup=g&autoAck=true&batch=1000&partitions=10&wait=true&timeout=2000';
      const { status, body } = await call(replaced, 'GET', `/api/v1/pop/queue/kept?${query}`);
      if (status === 204) break;
      const { messages } = body as { messages: { partition: string; data: number }[] };
      for (const { partition, data } of messages) got[Number(partition.slice(1))].push(data);
    }
    expect(got).toEqual(sent.map((count) => Array.from({ length: count }, (_, seq) => seq)));
    asked.destroy();
    replaced.destroy();
  });

  it('drains all workers on a signal, and leaves with 0', async () => {
    const connections = [await connectionTo(broker, 0), await connectionTo(broker, 1)];
    for (const connection of connections) {
      connection.send(rawRequest('GET', '/api/v1/pop/queue/empty?consumerGroup=g&wait=true&timeout=60000'));
    }
    const watch = await connectionTo(broker, 0);
    await waitFor(async () => (await valueOf(watch, 'queen_parked_long_polls_all')) === 2, {
      within: 30_000,
      what: 'both pops to park',
    });
    broker.kill('SIGTERM');
    for (const connection of connections) {
      expect((await connection.response({ within: 30_000 })).status).toBe(204);
    }
    expect(await waitFor(broker.exit, { within: 60_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(broker.lines).toMatch(/SIGTERM: draining[\s\S]*stopped/);
    expect(broker.lines.match(/worker \d \(process \d+\) is gone/g)).toHaveLength(1); // the one that was killed
    await db.expectNoSessions();
  });
});

describe('workers with an embedded PostgreSQL', () => {
  let dataDir: string;
  let broker: Workers;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'queen-workers-'));
    await chmod(dataDir, 0o755);
  });
  afterEach(() => broker.end());
  afterAll(() => rm(dataDir, { recursive: true, force: true }));

  it('share one server with room for all their connections, which stops last', async () => {
    broker = await start({ QUEEN_DATA_DIR: dataDir, DB_POOL_SIZE: 100, QUEEN_POOL_RESERVE: 12 });
    const connection = await connectionTo(broker, 1);
    const pushed = await call(connection, 'POST', '/api/v1/push', pushBody({ queue: 'q', payload: 1 }));
    expect(pushed.status).toBe(201);
    expect(broker.lines).not.toMatch(/may want \d+ connections/);
    const pidFile = join(dataDir, 'pg', 'postmaster.pid');
    expect(existsSync(pidFile)).toBe(true);
    broker.kill('SIGINT');
    expect(await waitFor(broker.exit, { within: 90_000, what: 'the broker to exit' })).toEqual({
      code: 0,
      signal: null,
    });
    expect(existsSync(pidFile)).toBe(false);
    expect(broker.lines.match(/draining/g)).toHaveLength(1);
  });
});

describe('workers that cannot start', () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterAll(() => db.drop());

  it('end the broker with the reason', async () => {
    const broker = BrokerProcess.spawn({
      ...{ QUEEN_WORKERS: WORKERS, DATABASE_URL: db.url, QUEEN_BIND_ADDR: '203.0.113.7' },
    });
    expect(await waitFor(broker.exit, { within: BOOT_MS, what: 'the broker to give up' })).toEqual({
      code: 1,
      signal: null,
    });
    expect(broker.lines).toMatch(/queen-nest cannot start: .*EADDRNOTAVAIL/);
    expect(broker.lines.match(/cannot start/g)).toHaveLength(1);
    await db.expectNoSessions();
  });
});
