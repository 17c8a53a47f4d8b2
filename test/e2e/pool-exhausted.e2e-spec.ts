import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type Answer,
  type Message,
  type TestBroker,
} from '../support/broker.js';
import { candidatePaths } from '../support/candidate-paths.js';
import { numbered } from '../support/make.js';
import { pushUntilStored } from '../support/push-outcome.js';
import { waitFor } from '../support/wait-for.js';

const POOL_SIZE = 4;
const POOL = { error: 'pool', code: 'pool' };

describe.each(candidatePaths)('when no connection comes free, %s (A15)', (_, settings) => {
  let broker: TestBroker;
  let sql: RawSqlService;
  let messages: Message[];
  let pops: Answer[];
  let acked: Awaited<ReturnType<TestBroker['ackBatch']>>;
  let others: Answer[];
  let pushed: Answer;
  let probes: Answer[];

  /** Everything that happens during one outage; what came of it is looked at below. */
  beforeAll(async () => {
    broker = await startBroker({
      ...settings,
      DB_POOL_SIZE: POOL_SIZE,
      QUEEN_POOL_RESERVE: 2,
      DB_POOL_WAIT_MS: 1500,
      QUEEN_LANE_WAIT_MS: 30_000,
    });
    sql = broker.broker.app.get(RawSqlService);
    await broker.push([{ queue: 'pool.x', partition: 'p', payload: 1 }]);
    await broker.push(numbered('m', 3).map((payload) => ({ queue: 'acks', partition: 'p', payload })));
    const leased = (await broker.pop(queuePath('acks'))).body;
    messages = leased.messages;
    const item = { queue: 'pushes', partition: 'p', transactionId: 'x', payload: 'x' };
    const query = { namespace: 'pool', consumerGroup: 'g', timeout: 60_000 };
    await withoutConnections(async () => {
      [pops, acked, others, pushed, probes] = await Promise.all([
        Promise.all([
          broker.pop(queuePath('pool.x'), query),
          broker.pop(partitionPath('pool.x', 'p'), query),
          broker.pop('', query),
          broker.pop(partitionPath('pool.x', 'p'), { ...query, wait: true }),
        ]),
        broker.ackBatch(acksFor(messages)),
        Promise.all([
          broker.post(`/api/v1/lease/${leased.leaseId}/extend`),
          broker.configure('later', {}),
          broker.del('/api/v1/resources/queues/later'),
        ]),
        broker.push([item]),
        Promise.all(['/health', '/health/live', '/health/ready'].map((path) => broker.get(path))),
      ]);
    });
  }, 60_000);
  afterAll(() => broker.stop());

  /** Runs while every connection of the pool is in use. */
  async function withoutConnections(use: () => Promise<unknown>): Promise<void> {
    let giveBack!: () => void;
    const until = new Promise<void>((resolve) => (giveBack = resolve));
    let taken = 0;
    const holders = Array.from({ length: POOL_SIZE }, () =>
      sql.withConnection(null, async () => {
        taken += 1;
        await until;
      }),
    );
    await waitFor(() => taken === POOL_SIZE, { within: 10_000, what: 'the pool to be empty' });
    try {
      await use();
    } finally {
      giveBack();
      await Promise.all(holders);
    }
  }

  it('every pop is 500 "pool", and what it would have got comes with the next one', async () => {
    for (const { status, body } of pops) expect([status, body]).toEqual([500, POOL]);
    const { body } = await broker.pop(queuePath('pool.x'), { consumerGroup: 'g' });
    expect(body.messages).toMatchObject([{ data: 1, deliveryAttempt: 1 }]);
  });

  it('an ack says so for each of its items, and is applied when it is repeated', async () => {
    expect(acked.status).toBe(200);
    expect(acked.body.map(({ success, error }) => [success, error])).toEqual(Array(3).fill([false, 'pool']));
    expect((await broker.ackBatch(acksFor(messages))).body.every(({ success }) => success)).toBe(true);
    expect(await broker.pop(queuePath('acks'))).toMatchObject({ status: 204 });
  });

  it('a renewal, a configure and a delete are 500 "pool"', async () => {
    for (const { status, body } of others) expect([status, body]).toEqual([500, POOL]);
    expect(await broker.configure('later', {})).toMatchObject({ status: 200 });
  });

  it('a push is not lost in silence, and is stored once when it is repeated', async () => {
    if (pushed.status !== 201) expect([pushed.status, pushed.body]).toEqual([500, POOL]);
    await pushUntilStored(broker, 'pushes', 'p', 'x');
    const { body } = await broker.pop(queuePath('pushes'), { wait: true, timeout: 10_000 });
    expect(body.messages).toMatchObject([{ transactionId: 'x' }]);
  });

  it('probes are answered all the same (A16)', () => {
    expect(probes.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('requests that failed leave nothing behind', async () => {
    const whole = () => sql.stats().idle === sql.stats().total && sql.stats().waiting === 0;
    await waitFor(whole, { within: 10_000, what: 'the pool to be whole again' });
    await Promise.all(numbered('after', 12).map((queue) => pushUntilStored(broker, queue, 'p', 'x')));
    await waitFor(whole, { within: 10_000, what: 'the pool to be whole still' });
  });
});
