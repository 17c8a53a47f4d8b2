import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { candidatePaths } from '../support/candidate-paths.js';
import { numbered } from '../support/make.js';
import { pushUntilStored } from '../support/push-outcome.js';
import { waitFor } from '../support/wait-for.js';

const POOL_SIZE = 4;

describe.each(candidatePaths)('when no connection comes free, %s', (_, settings) => {
  let broker: TestBroker;
  let sql: RawSqlService;
  beforeAll(async () => {
    broker = await startBroker({
      ...settings,
      DB_POOL_SIZE: POOL_SIZE,
      QUEEN_POOL_RESERVE: 2,
      DB_POOL_WAIT_MS: 3000,
    });
    sql = broker.broker.app.get(RawSqlService);
  });
  afterAll(() => broker.stop());

  /** Runs while every connection of the pool is in use. */
  async function withoutConnections<T>(use: () => Promise<T>): Promise<T> {
    let giveBack!: () => void;
    const until = new Promise<void>((resolve) => (giveBack = resolve));
    let taken = 0;
    const holders = Array.from({ length: POOL_SIZE }, () =>
      sql.withConnection(null, async () => {
        taken += 1;
        await until;
      }),
    );
    await waitFor(() => taken === POOL_SIZE, { within: 5000, what: 'the pool to be empty' });
    try {
      return await use();
    } finally {
      giveBack();
      await Promise.all(holders);
    }
  }

  it('every pop is 500 "pool", and delivers again afterwards', async () => {
    await broker.push([{ queue: 'pool.x', partition: 'p', payload: 1 }]);
    const paths = [queuePath('pool.x'), partitionPath('pool.x', 'p'), ''];
    const query = { namespace: 'pool', consumerGroup: 'g', timeout: 15_000 };
    const pops = await withoutConnections(() =>
      Promise.all(paths.flatMap((path) => [true, false].map((wait) => broker.pop(path, { ...query, wait })))),
    );
    for (const { status, body } of pops)
      expect([status, body]).toEqual([500, { error: 'pool', code: 'pool' }]);
    expect((await broker.pop(queuePath('pool.x'), { consumerGroup: 'g' })).body.messages).toMatchObject([
      { data: 1, deliveryAttempt: 1 },
    ]);
  });

  it('an ack says so for each of its items, and works when it is repeated', async () => {
    await broker.push(numbered('m', 3).map((payload) => ({ queue: 'acks', partition: 'p', payload })));
    const { messages, leaseId } = (await broker.pop(queuePath('acks'))).body;
    const [whole, part, extended] = await withoutConnections(() =>
      Promise.all([
        broker.ackBatch(acksFor(messages)),
        broker.ackBatch(acksFor(messages.slice(0, 2))),
        broker.post(`/api/v1/lease/${leaseId}/extend`),
      ]),
    );
    expect([whole.status, part.status]).toEqual([200, 200]);
    expect(whole.body.map(({ success, error }) => [success, error])).toEqual(Array(3).fill([false, 'pool']));
    expect(part.body.map(({ success, error }) => [success, error])).toEqual(Array(2).fill([false, 'pool']));
    expect(extended).toMatchObject({ status: 500, body: { error: 'pool', code: 'pool' } });
    expect((await broker.ackBatch(acksFor(messages))).body.every(({ success }) => success)).toBe(true);
    expect(await broker.pop(queuePath('acks'))).toMatchObject({ status: 204 });
  });

  it('configure and delete are 500 "pool"', async () => {
    const answers = await withoutConnections(() =>
      Promise.all([broker.configure('later', {}), broker.del('/api/v1/resources/queues/later')]),
    );
    for (const { status, body } of answers)
      expect([status, body]).toEqual([500, { error: 'pool', code: 'pool' }]);
    expect(await broker.configure('later', {})).toMatchObject({ status: 200 });
  });

  it('a push is not lost in silence, and is stored once when it is repeated', async () => {
    const item = { queue: 'pushes', partition: 'p', transactionId: 'x', payload: 1 };
    const answer = await withoutConnections(() => broker.push([item]));
    if (answer.status !== 201)
      expect(answer).toMatchObject({ status: 500, body: { error: 'pool', code: 'pool' } });
    await pushUntilStored(broker, 'pushes', 'p', 'x');
    const { body } = await broker.pop(queuePath('pushes'), { wait: true, timeout: 10_000 });
    expect(body.messages).toMatchObject([{ transactionId: 'x' }]);
  });

  it('probes are answered all the same', async () => {
    await withoutConnections(async () => {
      for (const path of ['/health', '/health/live', '/health/ready'])
        expect(await broker.get(path)).toMatchObject({ status: 200 });
    });
  });

  it('a request that failed leaves nothing behind', async () => {
    await withoutConnections(() =>
      Promise.all(
        numbered('leak', 30).map((queue, i) =>
          i % 3 === 0
            ? broker.push([{ queue, payload: 1 }])
            : i % 3 === 1
              ? broker.pop(queuePath(queue))
              : broker.pop(partitionPath(queue, 'p')),
        ),
      ),
    );
    await waitFor(() => sql.stats().idle === sql.stats().total && sql.stats().waiting === 0, {
      within: 5000,
      what: 'the pool to be whole again',
    });
    expect(
      await Promise.all(numbered('leak', 10).map((queue) => pushUntilStored(broker, queue, 'p', 'x'))),
    ).toHaveLength(20);
  });
});
