import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { HotlistService } from '../../src/hotlist/hotlist.service.js';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { untilBlocked } from '../support/blocked.js';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { candidatePaths, SOON } from '../support/candidate-paths.js';
import { consumerRow, numbered } from '../support/make.js';
import { pushUntilStored } from '../support/push-outcome.js';
import { openSessions, type TestSession } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

const TIMEOUT_MS = 300;
const TIMED_OUT = { error: 'pop failed', code: 'statement_timeout' };

describe.each(candidatePaths)('a statement that takes too long, %s', (_, settings) => {
  let broker: TestBroker;
  let s1: TestSession;
  beforeAll(async () => {
    broker = await startBroker({ ...settings, QUEEN_STMT_TIMEOUT_MS: TIMEOUT_MS });
    ({ s1 } = await openSessions(broker.database, ['s1']));
  });
  afterEach(() => s1.rollback());
  afterAll(() => broker.stop());

  async function block(table: string): Promise<void> {
    await s1.begin();
    await s1.run(`lock table queen.${table} in access exclusive mode`);
  }

  /** Given up when the cancelled statement is gone: until then it could still get the lock and commit. */
  async function unblock(): Promise<void> {
    await untilBlocked(broker.database, 0);
    await s1.rollback();
  }

  it('is cancelled in the database and answered 500; its connection is replaced, and the next request works', async () => {
    const sql = broker.broker.app.get(RawSqlService);
    await broker.push([{ queue: 'timeout', partition: 'p', payload: 1 }]);
    const { quarantined } = sql.stats();
    await block('log_consumers');
    const startedMs = performance.now();
    const popping = broker.pop(partitionPath('timeout', 'p'), { consumerGroup: 'g' });
    const [backend] = await untilBlocked(broker.database, 1);
    const answer = await popping;
    expect(answer).toMatchObject({ status: 500, body: TIMED_OUT });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 10);
    // The lock is still held: only a cancelled statement ends now.
    const gone = 'select 1 from pg_stat_activity where pid = $1';
    await waitFor(async () => (await broker.database.query(gone, [backend])).rows.length === 0, {
      within: 2000,
      what: 'the backend of the cancelled statement to be gone',
    });
    expect(sql.stats().quarantined).toBe(quarantined + 1);
    await s1.rollback();

    expect(
      (await broker.pop(partitionPath('timeout', 'p'), { consumerGroup: 'g' })).body.messages,
    ).toMatchObject([{ data: 1, deliveryAttempt: 1 }]);
    await waitFor(() => sql.stats().idle === sql.stats().total, {
      within: 2000,
      what: 'the pool to be whole',
    });
  });

  it('leaves no lease and loses no partition: what it was about to deliver comes with the next pop (A19)', async () => {
    await broker.push(
      numbered('p', 8).map((partition) => ({ queue: 'lanes', partition, payload: partition })),
    );
    for (let i = 0; i < 2; i++)
      await broker.pop(queuePath('lanes'), { consumerGroup: 'g', batch: 1, autoAck: true });
    await block('log_segments');
    expect(await broker.pop(queuePath('lanes'), { consumerGroup: 'g', partitions: 8 })).toMatchObject({
      status: 500,
      body: TIMED_OUT,
    });
    await unblock();
    for (const partition of numbered('p', 8)) {
      expect((await consumerRow(broker.database, 'lanes', partition))?.workerId ?? null).toBeNull();
    }
    const { openTickets, entries } = broker.broker.app.get(HotlistService).stats();
    expect([openTickets, entries.inflight]).toEqual([0, 0]);
    const { body } = await broker.pop(queuePath('lanes'), { consumerGroup: 'g', partitions: 8, ...SOON });
    expect(body.messages).toHaveLength(6);
    expect(body.messages.every(({ deliveryAttempt }) => deliveryAttempt === 1)).toBe(true);
  });

  it('ends a pop that waits as well', async () => {
    await broker.push([{ queue: 'waits', partition: 'p', payload: 1 }]);
    await block('log_consumers');
    for (const path of [queuePath('waits'), partitionPath('waits', 'p')]) {
      expect(await broker.pop(path, { consumerGroup: 'g', wait: true, timeout: 60_000 })).toMatchObject({
        status: 500,
        body: TIMED_OUT,
      });
    }
  });

  it('does not lose a push in silence, and a repeat stores it once (A19)', async () => {
    await block('log_segments');
    const answer = await broker.push([{ queue: 'push', partition: 'p', transactionId: 'x', payload: 'x' }]);
    if (answer.status !== 201)
      expect(answer).toMatchObject({ status: 500, body: { code: 'statement_timeout' } });
    await unblock();
    await pushUntilStored(broker, 'push', 'p', 'x');
    expect((await broker.pop(queuePath('push'), SOON)).body.messages).toMatchObject([{ transactionId: 'x' }]);
  });

  it('is the error of each ack in it; nothing has moved, and a repeat is applied', async () => {
    await broker.push(numbered('m', 2).map((payload) => ({ queue: 'ack', partition: 'p', payload })));
    const { messages } = (await broker.pop(queuePath('ack'), { consumerGroup: 'g' })).body;
    await s1.begin();
    await s1.run("select 1 from queen.log_consumers where consumer_group = 'g' for update");
    for (const count of [1, 2]) {
      const { status, body } = await broker.ackBatch(acksFor(messages.slice(0, count)));
      expect(status).toBe(200);
      expect(body.map(({ success }) => success)).toEqual(Array<boolean>(count).fill(false));
      expect(body.every(({ error }) => typeof error === 'string' && error.length > 0)).toBe(true);
    }
    await unblock();
    expect(await consumerRow(broker.database, 'ack', 'p')).toMatchObject({
      committed: -1,
      workerId: messages[0].leaseId,
    });
    expect((await broker.ackBatch(acksFor(messages))).body.every(({ success }) => success)).toBe(true);
    expect(await consumerRow(broker.database, 'ack', 'p')).toMatchObject({ committed: 1, workerId: null });
  });

  it('of a pop that meets a locked cursor is not even begun: it skips (A19)', async () => {
    await broker.push(['a', 'b'].map((partition) => ({ queue: 'skips', partition, payload: partition })));
    await broker.pop(queuePath('skips'), { consumerGroup: 'g', batch: 1, partitions: 2 });
    const { messages } = (await broker.pop(queuePath('skips'), { consumerGroup: 'h', partitions: 2 })).body;
    await broker.ackBatch(acksFor(messages, 'retry'));
    await s1.begin();
    await s1.run(
      "select 1 from queen.log_consumers where consumer_group = 'h' and partition_id = $1 for update",
      [messages[0].partitionId],
    );
    const { body } = await broker.pop(queuePath('skips'), { consumerGroup: 'h', partitions: 2 });
    expect(body.messages.map(({ data }) => data)).toEqual([messages[1].data]);
  });
});
