import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type Message,
  type TestBroker,
} from '../support/broker.js';
import { candidatePaths, SOON } from '../support/candidate-paths.js';
import { consumerRow, countRows, expireLease, numbered } from '../support/make.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ISO_MICROS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe.each(candidatePaths)('a pop across a queue, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  function push(queue: string, partition: string, texts: string[]) {
    return broker.push(texts.map((text) => ({ queue, partition, transactionId: text, payload: text })));
  }

  it('delivers what was pushed, with everything a client reads', async () => {
    const pushed = await broker.push([
      { queue: 'shape', partition: 'p', transactionId: 't1', payload: { a: [1] } },
      { queue: 'shape', partition: 'p', payload: 'x' },
    ]);
    const ids = (pushed.body as { message_id: string }[]).map(({ message_id }) => message_id);
    const { status, body, headers } = await broker.pop(queuePath('shape'), { consumerGroup: 'g' });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    const { leaseId, partitionId } = body;
    expect(leaseId).toMatch(UUID_V7);
    expect(partitionId).toMatch(UUID);
    const common = {
      queue: 'shape',
      partition: 'p',
      partitionId,
      leaseId,
      consumerGroup: 'g',
      traceId: null,
      producerSub: null,
      createdAt: expect.stringMatching(ISO_MICROS),
      deliveryAttempt: 1,
    };
    expect(body).toEqual({
      success: true,
      queue: 'shape',
      partition: 'p',
      partitionId,
      leaseId,
      consumerGroup: 'g',
      messages: [
        { ...common, id: ids[0], transactionId: 't1', data: { a: [1] } },
        { ...common, id: ids[1], transactionId: ids[1], data: 'x' },
      ],
      partitionsClaimed: 1,
    });
  });

  it('is 204 when there is nothing, and registers a group with a queue that does not exist yet', async () => {
    const answer = await broker.pop(queuePath('early'), { consumerGroup: 'g', subscriptionMode: 'new' });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await countRows(broker.database, 'queues', 'name = $1', ['early'])).toBe(1);
    await push('early', 'p', ['first']);
    expect(await broker.pop(queuePath('early'), { consumerGroup: 'g' })).toMatchObject({ status: 200 });
  });

  it('drains one partition unless told otherwise', async () => {
    for (const partition of ['a', 'b', 'c']) await push('one', partition, numbered(partition, 2));
    const { body } = await broker.pop(queuePath('one'), { batch: 100 });
    expect(body.partitionsClaimed).toBe(1);
    expect(body.messages.map(({ data }) => data)).toEqual(numbered(body.partition, 2));
  });

  it('takes several partitions under one lease, each in order and in one piece', async () => {
    for (const partition of ['a', 'b', 'c']) await push('many', partition, numbered(partition, 2));
    const { body } = await broker.pop(queuePath('many'), { batch: 100, partitions: 3 });
    expect(body.partitionsClaimed).toBe(3);
    expect(new Set(body.messages.map(({ partitionId }) => partitionId)).size).toBe(3);
    expect(new Set(body.messages.map(({ leaseId }) => leaseId))).toEqual(new Set([body.leaseId]));
    expect([body.partition, body.partitionId]).toEqual([
      body.messages[0].partition,
      body.messages[0].partitionId,
    ]);
    const order = [...new Set(body.messages.map(({ partition }) => partition))];
    expect(body.messages.map(({ data }) => data)).toEqual(
      order.flatMap((partition) => numbered(partition, 2)),
    );
  });

  it('takes the batch as a cap over all its partitions', async () => {
    for (const partition of numbered('p', 5)) await push('cap', partition, numbered(partition, 100));
    const first = await broker.pop(queuePath('cap'), { batch: 10, partitions: 5 });
    expect(first.body.messages).toHaveLength(10);
    const second = await broker.pop(queuePath('cap'), { batch: 150, partitions: 5 });
    expect(second.body.messages).toHaveLength(150);
  });

  it('skips a leased partition, and the others still serve', async () => {
    for (const partition of ['a', 'b']) await push('skip', partition, numbered(partition, 3));
    const first = await broker.pop(queuePath('skip'), { batch: 1 });
    const second = await broker.pop(queuePath('skip'), { batch: 1 });
    expect(new Set([first.body.partition, second.body.partition])).toEqual(new Set(['a', 'b']));
    expect(second.body.leaseId).not.toBe(first.body.leaseId);
    expect(await broker.pop(queuePath('skip'))).toMatchObject({ status: 204 });
    expect(await broker.pop(partitionPath('skip', 'a'))).toMatchObject({ status: 204 });
  });

  it('goes on to the next partitions when the first it asks turn out leased', async () => {
    for (let round = 0; round < 8; round++) {
      const queue = `next-${round}`;
      for (const partition of ['a', 'b', 'c']) await push(queue, partition, numbered(partition, 3));
      const popped = [];
      for (let i = 0; i < 3; i++) popped.push(await broker.pop(queuePath(queue), { batch: 1 }));
      expect(new Set(popped.map(({ body }) => body?.partition))).toEqual(new Set(['a', 'b', 'c']));
    }
  });

  it('serves the empty partition like any other, also once the group is known', async () => {
    expect(await broker.pop(queuePath('empty-name'))).toMatchObject({ status: 204 });
    expect(await broker.pop(queuePath('empty-name'))).toMatchObject({ status: 204 });
    await push('empty-name', '', ['m']);
    expect((await broker.pop(queuePath('empty-name'))).body).toMatchObject({
      partition: '',
      messages: [{ data: 'm' }],
    });
  });

  it('has a cursor per group', async () => {
    await push('groups', 'p', numbered('m', 3));
    for (const consumerGroup of ['a', 'b', '']) {
      const { body } = await broker.pop(queuePath('groups'), { consumerGroup });
      expect(body.messages.map(({ data }) => data)).toEqual(numbered('m', 3));
      expect(body.consumerGroup).toBe(consumerGroup || '__QUEUE_MODE__');
      expect((await broker.ackBatch(acksFor(body.messages))).body.every(({ success }) => success)).toBe(true);
      expect(await broker.pop(queuePath('groups'), { consumerGroup })).toMatchObject({ status: 204 });
    }
  });

  it('with auto-ack completes what it hands out, without a lease', async () => {
    await push('auto', 'p', numbered('m', 5));
    const first = await broker.pop(queuePath('auto'), { autoAck: true, batch: 3, consumerGroup: 'g' });
    expect(first.body.leaseId).toBe('');
    expect(first.body.messages.map(({ leaseId }) => leaseId)).toEqual(['', '', '']);
    expect(await consumerRow(broker.database, 'auto', 'p')).toMatchObject({
      committed: 2,
      workerId: null,
      leaseExpiresAt: null,
      batchEnd: null,
      totalConsumed: 3,
    });
    const second = await broker.pop(queuePath('auto'), { autoAck: true, consumerGroup: 'g' });
    expect(second.body.messages.map(({ data }) => data)).toEqual(['m3', 'm4']);
    expect(await broker.pop(queuePath('auto'), { autoAck: true, consumerGroup: 'g' })).toMatchObject({
      status: 204,
    });
  });

  it('leases for as long as it asks, else as long as the queue says', async () => {
    await broker.configure('length', { leaseTime: 100 });
    await push('length', 'p', ['m0']);
    const secondsLeft = async (query: Record<string, string | number>) => {
      await broker.pop(queuePath('length'), query);
      return (await consumerRow(broker.database, 'length', 'p', String(query.consumerGroup)))!
        .leaseSecondsLeft!;
    };
    expect(await secondsLeft({ consumerGroup: 'own', leaseSeconds: 7 })).toBeCloseTo(3.5, -1);
    const queues = await secondsLeft({ consumerGroup: 'queue' });
    expect(queues).toBeGreaterThan(85);
    expect(queues).toBeLessThanOrEqual(100);
  });

  it('goes on inside a segment where the last one stopped', async () => {
    await push('inside', 'p', numbered('m', 10));
    for (const [from, count] of [
      [0, 3],
      [3, 4],
      [7, 3],
    ]) {
      const { body } = await broker.pop(queuePath('inside'), {
        batch: count === 3 && from === 7 ? 100 : count,
      });
      expect(body.messages.map(({ data }) => data)).toEqual(numbered('m', count, from));
      await broker.ackBatch(acksFor(body.messages));
    }
    expect(await broker.pop(queuePath('inside'))).toMatchObject({ status: 204 });
  });

  it('stamps messages with the time they were committed, which never goes back inside a partition', async () => {
    for (let i = 0; i < 5; i++) await push('times', 'p', numbered(`m${i}-`, 2));
    const { body } = await broker.pop(queuePath('times'));
    const times = body.messages.map(({ createdAt }) => createdAt);
    expect(times).toHaveLength(10);
    expect([...times].sort()).toEqual(times);
    expect(times[0]).toBe(times[1]);
  });

  it('brings a batch back when its lease runs out, without an event and at no charge', async () => {
    await push('expiry', 'p', numbered('m', 3));
    const first = await broker.pop(queuePath('expiry'), { consumerGroup: 'g', batch: 2, leaseSeconds: 3600 });
    await expireLease(broker.database, 'expiry', 'p');
    const again = await broker.pop(queuePath('expiry'), { consumerGroup: 'g', batch: 2, ...SOON });
    expect(again.body.messages).toMatchObject([
      { data: 'm0', deliveryAttempt: 2 },
      { data: 'm1', deliveryAttempt: 2 },
    ]);
    expect(again.body.leaseId).not.toBe(first.body.leaseId);
    expect(await consumerRow(broker.database, 'expiry', 'p')).toMatchObject({
      retryCount: 0,
      attemptCount: 2,
    });
  });

  it('serves lanes of different depth to the last message, a batch shared over them, each in order', async () => {
    const depths = { a: 15, b: 20, c: 75 };
    for (const [lane, depth] of Object.entries(depths)) await push('lanes', lane, numbered(lane, depth));
    const seen: Message[] = [];
    const consume = async () => {
      // A 204 may only mean that the others hold the lanes this moment: until all have come.
      while (seen.length < 110) {
        const query = { partitions: 5, batch: 10, autoAck: true, wait: true, timeout: 300 };
        const answer = await broker.pop(queuePath('lanes'), query);
        if (answer.status === 204) continue;
        expect(answer.body.messages.length).toBeLessThanOrEqual(10);
        seen.push(...answer.body.messages);
      }
    };
    await Promise.all([consume(), consume(), consume()]);
    for (const [lane, depth] of Object.entries(depths)) {
      const got = seen.filter(({ partition }) => partition === lane).map(({ data }) => data as string);
      expect(new Set(got)).toEqual(new Set(numbered(lane, depth)));
      expect(got).toHaveLength(depth);
    }
  });

  it('keeps one partition in order with ten consumers on it', async () => {
    await push('strict', 'p', numbered('m', 40));
    const done: unknown[] = [];
    const consume = async () => {
      while (done.length < 40) {
        const { status, body } = await broker.pop(queuePath('strict'), {
          batch: 1,
          wait: true,
          timeout: 300,
        });
        if (status === 204) continue;
        done.push(body.messages[0].data);
        await broker.ackBatch(acksFor(body.messages));
      }
    };
    await Promise.all(Array.from({ length: 10 }, consume));
    expect(done).toEqual(numbered('m', 40));
  }, 20_000);
});
