import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, queuePath, startBroker, type TestBroker } from '../support/broker.js';

describe('a pool of four connections', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({ DB_POOL_SIZE: 4, QUEEN_POOL_RESERVE: 2 });
  });
  afterAll(() => broker.stop());

  it('completes fifty acks at once: nobody holds a connection while waiting for a flush (Z35, G3)', async () => {
    const partitions = Array.from({ length: 50 }, (_, n) => `p${n}`);
    await broker.push(partitions.map((partition) => ({ queue: 'small', partition, payload: 1 })));
    const { body } = await broker.pop(queuePath('small'), { consumerGroup: 'g', batch: 50, partitions: 50 });
    expect(body.messages).toHaveLength(50);
    const answers = await Promise.all(body.messages.map((message) => broker.ackBatch(acksFor([message]))));
    expect(answers.flatMap(({ body: results }) => results.map(({ success }) => success))).toEqual(
      new Array(50).fill(true),
    );
    expect((await broker.pop(queuePath('small'), { consumerGroup: 'g' })).status).toBe(204);
  });
});
