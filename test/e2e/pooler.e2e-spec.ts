import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BrokerProcess } from '../support/broker-process.js';
import { clientOf, type Client } from '../support/client.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { FakePooler } from '../support/fake-pooler.js';
import { countRows } from '../support/make.js';
import { PgBouncer, pgbouncerBinary } from '../support/pgbouncer.js';
import { waitFor } from '../support/wait-for.js';

/*
 * Field case A22: PostgreSQL behind a pooler that shares sessions between transactions. The broker works, or says in a
 * line which part of it needs a session.
 */

// Each starts processes, and each of their lives does a dozen requests.
jest.setTimeout(120_000);

type Started = BrokerProcess & { port: number };

let db: TestDatabase;
const brokers: BrokerProcess[] = [];
const poolers: { close(): Promise<void> }[] = [];

async function open(empty = false): Promise<void> {
  db = await createTestDatabase({ empty });
}
afterEach(async () => {
  for (const broker of brokers.splice(0)) await broker.end();
  for (const pooler of poolers.splice(0)) await pooler.close();
  await db.drop();
});

async function start(settings: Record<string, string>): Promise<Started> {
  const broker = await BrokerProcess.start(settings);
  brokers.push(broker);
  return broker;
}

/** Push, pop, ack, configure, transaction, seek, delete: what each needs of its session is used once. */
async function wholeLife(at: Client, queue: string): Promise<void> {
  expect((await at.post('/api/v1/configure', { queue, options: { leaseTime: 30 } })).status).toBe(200);
  const items = [1, 2, 3].map((payload) => ({ queue, partition: `p${payload}`, payload }));
  expect((await at.push(items)).status).toBe(201);
  const got: unknown[] = [];
  while (got.length < 3) {
    const { body } = await at.pop(queue, { consumerGroup: 'g', partitions: 10, wait: true, timeout: 20_000 });
    got.push(...body.messages.map(({ data }) => data));
    for (const { success } of (await at.ack(body.messages)).body) expect(success).toBe(true);
  }
  expect(got.sort()).toEqual([1, 2, 3]);
  const operations = [{ type: 'push', items: [{ queue, partition: 'p1', payload: 4 }] }];
  expect((await at.post('/api/v1/transaction', { operations })).status).toBe(200);
  const seek = await at.post(`/api/v1/consumer-groups/g/queues/${queue}/seek`, { toEnd: true });
  expect(seek.status).toBe(200);
  expect((await at.del(`/api/v1/resources/queues/${queue}`)).status).toBe(200);
}

describe('behind a pooler of any kind', () => {
  let pooler: FakePooler;
  const throughPooler = async (empty = false) => {
    await open(empty);
    pooler = await FakePooler.open(db.url);
    poolers.push(pooler);
  };

  it('works without start-up parameters and named statements, and says which settings the role should have (A22)', async () => {
    await throughPooler();
    const broker = await start({ DATABASE_URL: pooler.url, QUEEN_HINT_BUS: 'off' });
    expect(broker.lines).toMatch(/a connection pooler stands between/);
    expect(broker.lines).toMatch(/alter role \S+ in database \S+ set enable_seqscan = 'off'/);
    await wholeLife(clientOf(broker.port), 'pooled');
    expect(pooler.namedStatements).toEqual([]);
  });

  it('names the pooler when LISTEN hears nothing, once, and goes on by polling (A22)', async () => {
    await throughPooler();
    const broker = await start({ DATABASE_URL: pooler.url });
    expect(
      broker.lines.match(/a connection pooler stands between the broker and PostgreSQL: LISTEN/g),
    ).toHaveLength(1);
    expect(broker.lines).toMatch(/QUEEN_DIRECT_DATABASE_URL/);
    await wholeLife(clientOf(broker.port), 'deaf');
    expect(await clientOf(broker.port).metric('queen_hint_bus_connected')).toBe(0);
  });

  it('hears hints when it is told the way past the pooler (A22)', async () => {
    await throughPooler();
    const settings = { DATABASE_URL: pooler.url, QUEEN_DIRECT_DATABASE_URL: db.url };
    const a = clientOf((await start(settings)).port);
    const b = clientOf((await start(settings)).port);
    await waitFor(async () => (await a.metric('queen_hint_peers')) === 1, {
      within: 20_000,
      what: 'the brokers to meet',
    });
    expect([await a.metric('queen_hint_bus_connected'), await b.metric('queen_hint_bus_connected')]).toEqual([
      1, 1,
    ]);
  });

  it('refuses to apply a schema that is out of date, and says what to do; nothing was changed (A22)', async () => {
    await throughPooler(true);
    const broker = BrokerProcess.spawn({ DATABASE_URL: pooler.url });
    brokers.push(broker);
    const exit = await waitFor(broker.exit, { within: 60_000, what: 'the broker to refuse' });
    expect(exit).toEqual({ code: 1, signal: null });
    expect(broker.lines).toMatch(/cannot start: the schema must be brought up to date.*pooler.*db:apply/);
    const { rows } = await db.query(`select to_regnamespace('queen') as schema`);
    expect(rows).toEqual([{ schema: null }]);
  });

  it('applies it past the pooler where it knows the way (A22)', async () => {
    await throughPooler(true);
    await start({ DATABASE_URL: pooler.url, QUEEN_DIRECT_DATABASE_URL: db.url, QUEEN_HINT_BUS: 'off' });
    expect(await countRows(db, 'schema_migrations')).toBeGreaterThan(0);
  });
});

if (pgbouncerBinary === null) {
  process.stdout.write(
    'PgBouncer is not installed: the tests behind a real one are left out (package pgbouncer)\n',
  );
} else {
  describe('behind PgBouncer in transaction mode, with five sessions for two brokers', () => {
    let bouncer: PgBouncer;
    beforeEach(async () => {
      await open();
      bouncer = await PgBouncer.start(pgbouncerBinary!, db.url, { default_pool_size: '5' });
      poolers.push({ close: () => bouncer.stop() });
    });

    it('everything works, and no session keeps a lock, a listener or a statement (A22)', async () => {
      const settings = { DATABASE_URL: bouncer.url, QUEEN_DIRECT_DATABASE_URL: db.url };
      const a = await start(settings);
      const b = await start(settings);
      await wholeLife(clientOf(a.port), 'one');
      await wholeLife(clientOf(b.port), 'two');
      await Promise.all([
        ...Array.from({ length: 10 }, (_, n) => wholeLife(clientOf(a.port), `a${n}`)),
        ...Array.from({ length: 10 }, (_, n) => wholeLife(clientOf(b.port), `b${n}`)),
      ]);
      const { rows: locks } = await db.query(
        `select l.pid from pg_locks l join pg_database d on d.oid = l.database
          where l.locktype = 'advisory' and d.datname = current_database()`,
      );
      expect(locks).toEqual([]);
      const { rows } = await db.query<{ backends: number }>(
        `select count(*)::int as backends from pg_stat_activity
          where datname = current_database() and application_name <> 'test' and application_name <> 'queen-nest hints'`,
      );
      expect(rows[0].backends).toBeLessThanOrEqual(5);
      expect(a.lines + b.lines).not.toMatch(/prepared statement|unsupported startup/);
    });

    it('without the way past it the broker works, and says that LISTEN does not (A22)', async () => {
      const broker = await start({ DATABASE_URL: bouncer.url });
      expect(broker.lines).toMatch(/LISTEN hears nothing/);
      await wholeLife(clientOf(broker.port), 'deaf');
    });
  });
}
