import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { ageSegments, expireLease, numbered } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';

/** Waits of several seconds are told by what they wait for, not by the runner. */
jest.setTimeout(30_000);

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const push = (queue: string, partition: string, ...texts: string[]) =>
  broker.push(texts.map((text) => ({ queue, partition, transactionId: text, payload: text })));

const texts = (answer: Awaited<ReturnType<TestBroker['pop']>>) =>
  (answer.body?.messages ?? []).map(({ data }) => data as string);

const paths = [
  ['across the queue', (queue: string) => queuePath(queue)],
  ['of one partition', (queue: string) => partitionPath(queue, 'p')],
] as const;

describe('configure', () => {
  it('takes and shows every option', async () => {
    const options = { priority: 3, retryDelay: 1500, ttl: 60, maxSize: 1000, maxDeliveries: 5 };
    const { status, body } = await broker.configure('shown', options);
    expect(status).toBe(200);
    expect(body).toMatchObject({ configured: true, options });
  });

  it.each(['retryDelay', 'ttl', 'maxSize', 'maxDeliveries'])(
    'refuses a negative %s by name',
    async (name) => {
      expect(await broker.configure('negative', { [name]: -1 })).toMatchObject({
        status: 400,
        body: { code: 'bad_option', error: expect.stringContaining(`"${name}"`) },
      });
    },
  );
});

describe('retryDelay', () => {
  it.each(paths)(
    'brings a refused batch back after the delay, in order, and nothing of it before (%s)',
    async (name, path) => {
      const queue = `retry ${name}`;
      await broker.configure(queue, { retryDelay: 400, retryLimit: 5 });
      await push(queue, 'p', ...numbered('m', 5));
      const first = await broker.pop(path(queue), { consumerGroup: 'g', batch: 3 });
      await broker.ackBatch(acksFor(first.body.messages.slice(0, 1)));
      await broker.ackBatch(acksFor(first.body.messages.slice(1, 2), 'failed'));
      const refusedAtMs = performance.now();
      expect(await broker.pop(path(queue), { consumerGroup: 'g' })).toMatchObject({ status: 204 });

      const waiting = await broker.pop(path(queue), { consumerGroup: 'g', wait: true, timeout: 10_000 });
      expect(texts(waiting)).toEqual(numbered('m', 4, 1));
      expect(performance.now() - refusedAtMs).toBeGreaterThan(380);
    },
  );

  it('leaves other partitions alone', async () => {
    await broker.configure('beside', { retryDelay: 60_000, retryLimit: 5 });
    await push('beside', 'p', 'bad');
    const { body } = await broker.pop(queuePath('beside'), { consumerGroup: 'g' });
    await broker.ackBatch(acksFor(body.messages, 'retry'));
    await push('beside', 'q', 'good');
    expect(texts(await broker.pop(queuePath('beside'), { consumerGroup: 'g', partitions: 9 }))).toEqual([
      'good',
    ]);
  });
});

describe('ttl', () => {
  it.each(paths)('does not deliver what is too old, and shows how much that was (%s)', async (name, path) => {
    const queue = `ttl ${name}`;
    await broker.configure(queue, { ttl: 100 });
    await push(queue, 'p', 'old');
    await ageSegments(broker.database, queue, 'p', 200);
    await push(queue, 'p', 'fresh');
    expect(texts(await broker.pop(path(queue), { consumerGroup: 'g' }))).toEqual(['fresh']);
    const { body } = await broker.get(`/api/v1/resources/queues/${encodeURIComponent(queue)}`);
    expect(body).toMatchObject({ totals: { total: 2, pending: 1, expired: 1 } });
  });
});

describe('maxDeliveries', () => {
  it.each(paths)(
    'puts the message aside that its workers do not survive, and delivers the others (%s)',
    async (name, path) => {
      const queue = `poison ${name}`;
      await broker.configure(queue, { maxDeliveries: 2 });
      await broker.push(
        ['a', 'b', 'poison', 'end'].map((text) => ({
          ...{ queue, partition: 'p', transactionId: text, payload: { text }, headers: { of: text } },
        })),
      );
      const seen: string[][] = [];
      while (seen.at(-1)?.join() !== 'end') {
        // Waiting: the ring heard nothing of a lease that is cut short here, it looks again within its cap.
        const answer = await broker.pop(path(queue), { consumerGroup: 'g', wait: true, timeout: 10_000 });
        const ids = answer.body.messages.map(({ transactionId }) => transactionId);
        seen.push(ids);
        if (ids.includes('poison')) await expireLease(broker.database, queue, 'p');
        else await broker.ackBatch(acksFor(answer.body.messages));
      }
      expect(seen.slice(0, -1)).toEqual([['a', 'b', 'poison', 'end'], ['a'], ['b'], ['poison']]);
      const letters = await broker.get(`/api/v1/dlq?queue=${encodeURIComponent(queue)}`);
      expect((letters.body as { messages: unknown[] }).messages).toMatchObject([
        {
          ...{ transactionId: 'poison', errorMessage: 'max deliveries', consumerGroup: 'g' },
          ...{ data: { text: 'poison' }, headers: { of: 'poison' } },
        },
      ]);
    },
  );

  it('does not answer 204 for the message put aside while another waits behind it', async () => {
    await broker.configure('behind', { maxDeliveries: 1 });
    await push('behind', 'p', 'bad', 'good');
    await broker.pop(partitionPath('behind', 'p'), { consumerGroup: 'g', batch: 1 });
    await expireLease(broker.database, 'behind', 'p');
    const answer = await broker.pop(partitionPath('behind', 'p'), { consumerGroup: 'g' });
    expect([answer.status, texts(answer)]).toEqual([200, ['good']]);
    expect(answer.body.messages[0].deliveryAttempt).toBe(1);
  });
});

describe('maxSize', () => {
  const full = { status: 429, body: { code: 'too_many_messages' } };

  it('refuses what does not fit with 429, stores nothing of it, and takes it again when there is room', async () => {
    await broker.configure('full', { maxSize: 5 });
    expect(await push('full', 'p', ...numbered('m', 4))).toMatchObject({ status: 201 });
    const refused = await push('full', 'p', 'n0', 'n1');
    expect(refused).toMatchObject(full);
    expect(refused.body).toEqual({
      error: 'queue "full" holds 4 of at most 5 messages; 2 more do not fit',
      ...{ code: 'too_many_messages', queue: 'full', messages: 4, maxSize: 5 },
    });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await push('full', 'p', 'n0')).toMatchObject({ status: 201 });
    expect(await push('full', 'q', 'n1')).toMatchObject(full);

    const all = await broker.pop(queuePath('full'), { consumerGroup: 'g', partitions: 9, autoAck: true });
    expect(texts(all)).toEqual([...numbered('m', 4), 'n0']);
    // The count is at most a second old.
    await waitFor(async () => (await push('full', 'q', 'n1')).status === 201, {
      within: 5000,
      what: 'the room to be noticed',
    });
  });

  it('lets many at once fill a queue, and not one message more', async () => {
    await broker.configure('race', { maxSize: 20 });
    const answers = await Promise.all(numbered('m', 60).map((text) => push('race', text, text)));
    const stored = answers.filter(({ status }) => status === 201).length;
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(60 - stored);
    expect(stored).toBeLessThanOrEqual(20);
    expect(stored).toBeGreaterThan(0);
    const { body } = await broker.get('/api/v1/resources/queues/race');
    expect(body).toMatchObject({ totals: { total: stored } });
  });

  it('refuses a request as a whole, other queues included', async () => {
    await broker.configure('small', { maxSize: 1 });
    const both = [
      { queue: 'roomy', payload: 1 },
      { queue: 'small', payload: 1 },
      { queue: 'small', payload: 2 },
    ];
    expect(await broker.push(both)).toMatchObject(full);
    expect(await broker.pop(queuePath('roomy'))).toMatchObject({ status: 204 });
    expect(await broker.push(both.slice(0, 2))).toMatchObject({ status: 201 });
  });

  it('holds for the pushes of a transaction', async () => {
    await broker.configure('tx full', { maxSize: 1 });
    const operation = {
      type: 'push',
      items: numbered('m', 2).map((payload) => ({ queue: 'tx full', payload })),
    };
    expect(await broker.post('/api/v1/transaction', { operations: [operation] })).toMatchObject(full);
  });

  it('is gone with the queue, and when it is set to 0', async () => {
    await broker.configure('gone', { maxSize: 1 });
    await push('gone', 'p', 'a');
    expect(await push('gone', 'p', 'b')).toMatchObject(full);
    await broker.configure('gone', { maxSize: 0 });
    expect(await push('gone', 'p', 'b')).toMatchObject({ status: 201 });
    await broker.configure('gone', { maxSize: 1 });
    expect(await push('gone', 'p', 'c')).toMatchObject(full);
    await broker.del('/api/v1/resources/queues/gone');
    expect(await push('gone', 'p', 'c', 'd')).toMatchObject({ status: 201 });
  });
});

describe('priority', () => {
  it('decides which queue a discovery pop takes from first', async () => {
    for (const [queue, priority] of [
      ['low', 1],
      ['high', 9],
    ] as const) {
      await broker.configure(`ranked.${queue}`, { priority, namespace: 'ranked' });
      for (const partition of numbered('p', 3)) await push(`ranked.${queue}`, partition, queue);
    }
    const order: string[] = [];
    for (let i = 0; i < 6; i++)
      order.push(...texts(await broker.pop('', { namespace: 'ranked', consumerGroup: 'g' })));
    expect(order).toEqual([...Array<string>(3).fill('high'), ...Array<string>(3).fill('low')]);
  });
});
