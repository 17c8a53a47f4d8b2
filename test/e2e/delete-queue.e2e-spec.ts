import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { candidatePaths, SOON } from '../support/candidate-paths.js';
import { countRows, inTurn, numbered } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';

describe.each(candidatePaths)('deleting a queue, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  const push = (queue: string, ...texts: string[]) =>
    broker.push(texts.map((text) => ({ queue, partition: 'p', transactionId: text, payload: text })));
  const remove = (queue: string) => broker.del(`/api/v1/resources/queues/${encodeURIComponent(queue)}`);

  async function data(path: string, query = {}): Promise<unknown[]> {
    const { body } = await broker.pop(path, { consumerGroup: 'g', partitions: 10, ...query });
    return body?.messages.map((message) => message.data) ?? [];
  }

  it('answers that it existed, or that it did not', async () => {
    await push('there', 'm');
    expect(await remove('there')).toMatchObject({
      status: 200,
      body: { deleted: true, queue: 'there', existed: true },
    });
    for (const queue of ['there', 'never was']) {
      const answer = await remove(queue);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        deleted: false,
        queue,
        existed: false,
        message: 'Queue not found, nothing was deleted',
      });
    }
  });

  it('removes everything it held, and nothing of others', async () => {
    const tables = [
      'log_partitions',
      'log_segments',
      'log_txns',
      'log_consumers',
      'log_dlq',
      'consumer_groups_metadata',
      'consumer_watermarks',
    ];
    const counts = () => inTurn(tables, (table) => countRows(broker.database, table));
    await push('kept', 'm');
    await data(queuePath('kept'));
    const before = await counts();

    await broker.configure('full', { retryLimit: 0 });
    await push('full', ...numbered('m', 3));
    const { messages } = (await broker.pop(queuePath('full'), { consumerGroup: 'g' })).body;
    await broker.ackBatch(acksFor(messages.slice(0, 1), 'failed'));
    await data(queuePath('full'), { consumerGroup: 'h', autoAck: true });
    await data(queuePath('full'), { consumerGroup: 'h' });
    expect((await counts()).every((count, i) => count >= before[i])).toBe(true);
    expect(await countRows(broker.database, 'log_dlq')).toBe(before[4] + 1);

    await remove('full');
    expect(await counts()).toEqual(before);
    expect(await broker.pop(partitionPath('kept', 'p'), { consumerGroup: 'other' })).toMatchObject({
      status: 200,
    });
  });

  it('and creating it anew is a reset: offsets, cursors, ids and options begin afresh', async () => {
    await broker.configure('reset', { leaseTime: 777, dedupWindowSeconds: 3600 });
    await push('reset', 'a', 'b');
    const old = (await broker.pop(queuePath('reset'), { consumerGroup: 'g' })).body;
    await broker.ackBatch(acksFor(old.messages));
    await remove('reset');

    expect((await push('reset', 'a', 'c')).body).toMatchObject([{ status: 'queued' }, { status: 'queued' }]);
    const fresh = (await broker.pop(queuePath('reset'), { consumerGroup: 'g' })).body;
    expect(fresh.messages).toMatchObject([
      { data: 'a', deliveryAttempt: 1 },
      { data: 'c', deliveryAttempt: 1 },
    ]);
    expect(fresh.partitionId).not.toBe(old.partitionId);
    const { rows } = await broker.database.query("select lease_time from queen.queues where name = 'reset'");
    expect(rows).toEqual([{ lease_time: 60 }]);
    expect((await broker.ackBatch(acksFor(fresh.messages))).body.every(({ success }) => success)).toBe(true);
  });

  it('many times over never serves what is gone nor misses what came', async () => {
    for (let round = 0; round < 8; round++) {
      await push('churn', `r${round}-a`, `r${round}-b`);
      expect(await data(queuePath('churn'))).toEqual([`r${round}-a`, `r${round}-b`]);
      await remove('churn');
      expect(await data(queuePath('churn'))).toEqual([]);
    }
  });

  it('ends the leases of its messages: acks and renewals find nothing', async () => {
    await push('leased', 'm');
    const { messages, leaseId } = (await broker.pop(queuePath('leased'), { consumerGroup: 'g' })).body;
    await remove('leased');
    expect((await broker.ackBatch(acksFor(messages))).body).toMatchObject([
      { success: false, error: 'consumer not found' },
    ]);
    expect((await broker.post(`/api/v1/lease/${leaseId}/extend`)).body).toMatchObject({ success: false });
  });

  it('does not lose the pops that are parked on it', async () => {
    await push('parked', 'm');
    for (const consumerGroup of ['g', 'h']) await data(queuePath('parked'), { consumerGroup, autoAck: true });
    const waiting = Promise.all([
      data(queuePath('parked'), { consumerGroup: 'g', ...SOON }),
      data(partitionPath('parked', 'p'), { consumerGroup: 'h', ...SOON }),
    ]);
    const gates = broker.broker.app.get(WakeGateService);
    await waitFor(() => gates.stats().parked === 2, { within: 5000, what: 'two pops to be parked' });
    await remove('parked');
    await push('parked', 'first');
    expect(await waiting).toEqual([['first'], ['first']]);
  });

  it('behind the back of the broker does not confuse it', async () => {
    await broker.configure('behind', { leaseTime: 100 });
    await push('behind', ...numbered('old', 3));
    const [first] = (await broker.pop(queuePath('behind'), { consumerGroup: 'g', batch: 1 })).body.messages;
    await broker.ackBatch(acksFor([first]));
    await broker.database.query("delete from queen.queues where name = 'behind'");

    expect(await data(queuePath('behind'))).toEqual([]);
    expect(await data(partitionPath('behind', 'p'))).toEqual([]);
    expect((await push('behind', 'old0', 'new')).body).toMatchObject([
      { status: 'queued' },
      { status: 'queued' },
    ]);
    expect(await data(queuePath('behind'), SOON)).toEqual(['old0', 'new']);
    expect(await data(queuePath('behind'), { consumerGroup: 'late', ...SOON })).toEqual(['old0', 'new']);
  });
});
