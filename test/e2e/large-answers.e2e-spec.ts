import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, partitionPath, queuePath, type TestBroker } from '../support/broker.js';

/** Field case A08: what one answer brings into the broker's memory is bounded in bytes, not only in messages. */
describe('large messages (A08)', () => {
  let broker: TestBroker;
  const queue = 'large';
  const payload = randomBytes(3 * 1024 * 1024).toString('base64'); // 4 MiB, and not to be compressed
  beforeAll(async () => {
    broker = await startBroker();
    for (let n = 0; n < 6; n++) {
      await broker.push([
        { queue, partition: 'one', payload: `${n}${payload}` },
        { queue, partition: `p${n}`, payload: `${n}${payload}` },
      ]);
    }
  }, 60_000);
  afterAll(() => broker.stop());

  it('of one partition come in answers of at most 16 MiB and one segment more, in order', async () => {
    const counts: number[] = [];
    const order: string[] = [];
    for (let popped = 0; popped < 6;) {
      const answer = await broker.pop(partitionPath(queue, 'one'), {
        consumerGroup: 'g',
        batch: 1000,
        autoAck: true,
      });
      expect(answer.status).toBe(200);
      popped += answer.body.messages.length;
      counts.push(answer.body.messages.length);
      order.push(...answer.body.messages.map(({ data }) => String(data)[0]));
    }
    expect(counts).toEqual([4, 2]);
    expect(order).toEqual(['0', '1', '2', '3', '4', '5']);
  }, 60_000);

  it('of many partitions do so too, and those that were left out come next', async () => {
    const seen = new Set<string>();
    let answers = 0;
    for (; seen.size < 7; answers++) {
      const answer = await broker.pop(queuePath(queue), {
        consumerGroup: 'wide',
        batch: 1000,
        partitions: 100,
        autoAck: true,
        wait: true,
        timeout: 5000,
      });
      expect(answer.status).toBe(200);
      expect(answer.text.length).toBeLessThan(36 * 1024 * 1024);
      for (const { partition } of answer.body.messages) seen.add(partition);
    }
    expect(answers).toBeGreaterThan(1);
  }, 60_000);
});
