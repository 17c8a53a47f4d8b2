import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { untilBlocked } from '../support/blocked.js';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { SOON } from '../support/candidate-paths.js';
import { numbered } from '../support/make.js';
import { pushUntilStored } from '../support/push-outcome.js';
import { openSessions } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

describe('a database that goes away under the broker', () => {
  let broker: TestBroker;
  let admin: pg.Client;
  beforeAll(async () => {
    broker = await startBroker({ DB_POOL_WAIT_MS: 500 });
    admin = new pg.Client({ connectionString: process.env.QUEEN_TEST_ADMIN_URL });
    await admin.connect();
  });
  afterAll(async () => {
    await admin.end();
    await broker.stop();
  });

  /** Ends every backend of the broker, as a restart of PostgreSQL does. */
  async function killBackends(): Promise<number> {
    const sql = `select count(pg_terminate_backend(pid))::int as n from pg_stat_activity where datname = $1 and application_name like 'queen-nest%'`;
    return (await admin.query<{ n: number }>(sql, [broker.database.name])).rows[0].n;
  }

  async function poolIsWhole(): Promise<void> {
    const sql = broker.broker.app.get(RawSqlService);
    await waitFor(() => sql.stats().idle === sql.stats().total && sql.stats().waiting === 0, {
      within: 5000,
      what: 'the pool to be whole',
    });
  }

  it('between two requests is not noticed by the next one for long', async () => {
    await broker.push([{ queue: 'idle', partition: 'p', payload: 1 }]);
    expect(await killBackends()).toBeGreaterThan(0);
    const { body } = await waitFor(
      async () => {
        const answer = await broker.pop(queuePath('idle'), { consumerGroup: 'g' });
        return answer.status === 200 ? answer : null;
      },
      { within: 5000, what: 'a pop to be served again' },
    );
    expect(body.messages).toMatchObject([{ data: 1 }]);
    await poolIsWhole();
  });

  it('in the middle of a claim is 503 with a time to come again, and nothing was claimed (A17)', async () => {
    const { s1 } = await openSessions(broker.database, ['s1']);
    await broker.push([{ queue: 'claim', partition: 'p', payload: 1 }]);
    await s1.begin();
    await s1.run('lock table queen.log_consumers in access exclusive mode');
    const popping = broker.pop(partitionPath('claim', 'p'), { consumerGroup: 'g' });
    await untilBlocked(broker.database, 1);
    await killBackends();
    const answer = await popping;
    expect(answer).toMatchObject({ status: 503, body: { code: 'database_unavailable' } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    await s1.rollback();
    const { body } = await broker.pop(partitionPath('claim', 'p'), { consumerGroup: 'g', ...SOON });
    expect(body.messages).toMatchObject([{ data: 1, deliveryAttempt: 1 }]);
    await poolIsWhole();
  });

  it('does not end the pops that are parked (A17)', async () => {
    await broker.push([{ queue: 'parked', partition: 'first', payload: 0 }]);
    await broker.pop(queuePath('parked'), { consumerGroup: 'g', autoAck: true });
    const pops = Array.from({ length: 5 }, () =>
      broker.pop(queuePath('parked'), { consumerGroup: 'g', ...SOON }),
    );
    const gates = broker.broker.app.get(WakeGateService);
    await waitFor(() => gates.stats().parked === 5, { within: 5000, what: 'five pops to be parked' });
    await killBackends();
    for (const partition of numbered('p', 5)) await pushUntilStored(broker, 'parked', partition, partition);
    const answers = await Promise.all(pops);
    const got = answers.flatMap(({ status, body }) =>
      status === 200 ? body.messages.map(({ data }) => data) : [],
    );
    // A pop that was just looking at that moment may have met the dead connection; it says so.
    for (const { status } of answers) expect([200, 503, 500]).toContain(status);
    expect(got.length).toBeGreaterThan(0);
    expect(new Set(got).size).toBe(got.length);
  });

  it('again and again under load loses no accepted message and stores none twice (A17)', async () => {
    const ids = numbered('m', 60);
    let stored = 0;
    await Promise.all(
      [0, 1, 2, 3].map(async (worker) => {
        for (const id of ids.filter((__, i) => i % 4 === worker)) {
          await pushUntilStored(broker, 'load', `p${worker}`, id);
          stored += 1;
          if (stored % 4 === 0) await killBackends();
        }
      }),
    );
    const got: unknown[] = [];
    await waitFor(
      async () => {
        const { status, body } = await broker.pop(queuePath('load'), { consumerGroup: 'g', partitions: 10 });
        if (status !== 200) return got.length >= ids.length;
        for (const { success } of (await broker.ackBatch(acksFor(body.messages))).body)
          expect(success).toBe(true);
        got.push(...body.messages.map(({ data }) => data));
        return got.length >= ids.length;
      },
      { within: 15_000, what: 'sixty messages' },
    );
    expect([...got].sort()).toEqual([...ids].sort());
    await poolIsWhole();
  }, 60_000);

  it('for a while is seen by the probes, not by the one that restarts processes (A16)', async () => {
    const { name } = broker.database;
    await admin.query(`alter database ${name} with allow_connections false`);
    await killBackends();
    const status = async (path: string) => (await broker.get(path)).status;
    await waitFor(async () => (await status('/health/ready')) === 503, {
      within: 5000,
      what: 'ready to say no',
    });
    expect(await broker.get('/health')).toMatchObject({
      status: 503,
      body: { status: 'unhealthy', database: 'disconnected' },
    });
    expect(await status('/health/live')).toBe(200);
    expect(await broker.pop(queuePath('away'))).toMatchObject({
      status: 500,
      body: { error: 'pool', code: 'pool' },
    });
    await admin.query(`alter database ${name} with allow_connections true`);
    await waitFor(async () => (await status('/health/ready')) === 200, {
      within: 5000,
      what: 'ready to say yes',
    });
    expect(await broker.get('/health')).toMatchObject({
      status: 200,
      body: { status: 'healthy', database: 'connected' },
    });
    await waitFor(async () => (await broker.pop(queuePath('away'))).status === 204, {
      within: 5000,
      what: 'an empty pop',
    });
  });

  it('that takes no writes is unavailable, and recovers by itself (A18)', async () => {
    const { name } = broker.database;
    await broker.push([{ queue: 'standby', partition: 'p', payload: 1 }]);
    await admin.query(`alter database ${name} set default_transaction_read_only = on`);
    await killBackends();
    const refused = await waitFor(
      async () => {
        const answer = await broker.pop(partitionPath('standby', 'p'));
        return answer.status === 503 ? answer : null;
      },
      { within: 5000, what: 'a write to be refused' },
    );
    expect(refused.body).toMatchObject({ code: 'database_unavailable' });
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    await waitFor(async () => (await broker.get('/health/ready')).status === 503, {
      within: 5000,
      what: 'ready to say no',
    });
    await admin.query(`alter database ${name} reset default_transaction_read_only`);
    await waitFor(async () => (await broker.pop(partitionPath('standby', 'p'))).status === 200, {
      within: 10_000,
      what: 'the pop to be served',
    });
    await waitFor(async () => (await broker.get('/health/ready')).status === 200, {
      within: 5000,
      what: 'ready to say yes',
    });
  }, 30_000);
});
