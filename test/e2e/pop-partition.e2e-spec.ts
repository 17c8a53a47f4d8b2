import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type TestBroker,
  type Message,
} from '../support/broker.js';
import { consumerRow, countRows, expireLease, numbered } from '../support/make.js';

describe('a pop of one partition', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  function push(queue: string, partition: string, texts: string[]) {
    return broker.push(texts.map((text) => ({ queue, partition, transactionId: text, payload: text })));
  }

  it('takes from that partition only, however many it may have', async () => {
    for (const partition of ['a', 'b']) await push('only', partition, numbered(partition, 2));
    const { body } = await broker.pop(partitionPath('only', 'b'), { partitions: 10 });
    expect(body).toMatchObject({ queue: 'only', partition: 'b', partitionsClaimed: 1 });
    expect(body.messages.map(({ data }) => data)).toEqual(['b0', 'b1']);
    expect(await broker.pop(partitionPath('only', 'b'))).toMatchObject({ status: 204 });
  });

  it('is 204 for a queue or partition that does not exist, and creates neither', async () => {
    expect(await broker.pop(partitionPath('unknown', 'p'))).toMatchObject({ status: 204 });
    await push('known', 'p', ['m']);
    expect(await broker.pop(partitionPath('known', 'other'))).toMatchObject({ status: 204 });
    expect(await countRows(broker.database, 'queues', 'name = $1', ['unknown'])).toBe(0);
    expect(await countRows(broker.database, 'log_partitions', 'name = $1', ['other'])).toBe(0);
  });

  it('reaches the default partition by its name, and the empty one', async () => {
    await broker.push([
      { queue: 'named', payload: 1 },
      { queue: 'named', partition: '', payload: 2 },
    ]);
    expect((await broker.pop(partitionPath('named', 'Default'))).body.messages).toMatchObject([{ data: 1 }]);
    expect((await broker.pop(partitionPath('named', ''))).body.messages).toMatchObject([
      { data: 2, partition: '' },
    ]);
  });

  it('shares its cursor and lease with pops across the queue', async () => {
    await push('shared', 'p', numbered('m', 4));
    const first = await broker.pop(partitionPath('shared', 'p'), { consumerGroup: 'g', batch: 2 });
    expect(await broker.pop(queuePath('shared'), { consumerGroup: 'g' })).toMatchObject({ status: 204 });
    await broker.ackBatch(acksFor(first.body.messages));
    const second = await broker.pop(queuePath('shared'), { consumerGroup: 'g' });
    expect(second.body.messages.map(({ data }) => data)).toEqual(['m2', 'm3']);
  });

  it('commits at once with auto-ack, and leases for as long as it asks', async () => {
    await push('terms', 'p', ['m']);
    expect(
      (await broker.pop(partitionPath('terms', 'p'), { consumerGroup: 'a', autoAck: true })).body.leaseId,
    ).toBe('');
    expect(await consumerRow(broker.database, 'terms', 'p', 'a')).toMatchObject({
      committed: 0,
      workerId: null,
    });
    await broker.pop(partitionPath('terms', 'p'), { consumerGroup: 'b', leaseSeconds: 1000 });
    expect((await consumerRow(broker.database, 'terms', 'p', 'b'))!.leaseSecondsLeft).toBeGreaterThan(950);
  });

  it('counts the attempts of a batch that comes again', async () => {
    await push('again', 'p', ['m']);
    for (const attempt of [1, 2, 3]) {
      const { body } = await broker.pop(partitionPath('again', 'p'), { consumerGroup: 'g' });
      expect(body.messages).toMatchObject([{ deliveryAttempt: attempt }]);
      await expireLease(broker.database, 'again', 'p');
    }
  });

  it('never delivers a leased message without its partition id while the partition is just being created', async () => {
    for (let round = 0; round < 40; round++) {
      const queue = `race-${round}`;
      const got: Message[] = [];
      // Two pops spin from before the push until one of them has the message: it is taken as early as can be.
      const spin = async () => {
        while (got.length === 0)
          got.push(...((await broker.pop(partitionPath(queue, 'p'))).body?.messages ?? []));
      };
      await Promise.all([spin(), spin(), push(queue, 'p', ['m'])]);
      expect(got).toHaveLength(1);
      expect(got[0].partitionId).toMatch(/^[0-9a-f-]{36}$/);
    }
  });
});
