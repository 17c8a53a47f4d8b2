import { randomUUID } from 'node:crypto';
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
import { consumerRow, expireLease, numbered } from '../support/make.js';

const STALE = 'already committed: the cursor moved past this message before this ack';
const UNRESOLVABLE =
  'unresolvable: transaction not in the ack window (hash purged or never pushed); if leased, the message redelivers';

describe.each(candidatePaths)('an ack, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  /** m0, m1, … in one partition, leased to group g. */
  async function leased(queue: string, count: number): Promise<Message[]> {
    await broker.push(
      numbered('m', count).map((text) => ({ queue, partition: 'p', transactionId: text, payload: text })),
    );
    return popped(queue);
  }

  async function popped(
    queue: string,
    query: Record<string, string | number | boolean> = {},
  ): Promise<Message[]> {
    const answer = await broker.pop(queuePath(queue), { consumerGroup: 'g', ...query });
    return answer.body?.messages ?? [];
  }

  const texts = (messages: Message[]) => messages.map(({ data }) => data);
  const cursor = (queue: string) => consumerRow(broker.database, queue, 'p');

  /** What was said of each message by its number, in one request and under one lease. */
  function said(messages: Message[], statuses: Record<number, string>, error?: string) {
    const acknowledgments = Object.entries(statuses).map(([n, status]) => {
      const { transactionId, partitionId, leaseId } = messages[Number(n)];
      return { transactionId, partitionId, leaseId, status, error: error ?? null };
    });
    return broker.ackBatch({ consumerGroup: 'g', acknowledgments });
  }

  it('of one message answers a list of one, with every key', async () => {
    const [message] = await leased('single', 1);
    const { status, body, headers } = await broker.ack({
      transactionId: message.transactionId,
      partitionId: message.partitionId,
      leaseId: message.leaseId,
      consumerGroup: 'g',
      status: 'completed',
      error: null,
    });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(body).toEqual([
      {
        index: 0,
        transactionId: 'm0',
        success: true,
        error: null,
        leaseReleased: true,
        dlq: false,
        noop: false,
      },
    ]);
    expect(await cursor('single')).toMatchObject({
      committed: 0,
      workerId: null,
      batchEnd: null,
      totalConsumed: 1,
    });
  });

  it.each(['completed', 'success', 'acked', 'ok', null, undefined])(
    'completes with the status %s',
    async (status) => {
      const queue = `word ${status}`;
      const [message] = await leased(queue, 1);
      const { transactionId, partitionId, leaseId } = message;
      const answer = await broker.ack({ transactionId, partitionId, leaseId, consumerGroup: 'g', status });
      expect(answer.body).toMatchObject([{ success: true }]);
      expect(await cursor(queue)).toMatchObject({ committed: 0, retryCount: 0 });
    },
  );

  it.each(['failed', 'Completed', 'error', ''])('fails with any other status: "%s"', async (status) => {
    const queue = `word "${status}"`;
    const messages = await leased(queue, 1);
    expect((await said(messages, { 0: status })).body).toMatchObject([{ success: true }]);
    expect(await cursor(queue)).toMatchObject({ committed: -1, retryCount: 1, workerId: null });
  });

  it('without a group, or with null, is for queue mode', async () => {
    for (const consumerGroup of [undefined, null, '', '__QUEUE_MODE__']) {
      const queue = `mode ${consumerGroup}`;
      await broker.push([{ queue, payload: 1 }]);
      const [{ transactionId, partitionId, leaseId }] = (await broker.pop(queuePath(queue))).body.messages;
      expect((await broker.ack({ transactionId, partitionId, leaseId, consumerGroup })).body).toMatchObject([
        { success: true },
      ]);
      expect(await broker.pop(queuePath(queue))).toMatchObject({ status: 204 });
    }
  });

  it('of the whole batch ends the lease, and the next pop goes on behind it', async () => {
    const messages = await leased('whole', 5);
    const answer = await broker.ackBatch(acksFor(messages));
    expect(answer.body.map(({ index, success }) => [index, success])).toEqual(
      [0, 1, 2, 3, 4].map((i) => [i, true]),
    );
    expect(await cursor('whole')).toMatchObject({
      committed: 4,
      workerId: null,
      batchEnd: null,
      attemptCount: 0,
    });
    await broker.push([{ queue: 'whole', partition: 'p', payload: 'next' }]);
    expect(texts(await popped('whole'))).toEqual(['next']);
  });

  it('of the last message completes the batch', async () => {
    const messages = await leased('last', 5);
    expect((await said(messages, { 4: 'completed' })).body).toMatchObject([{ success: true, noop: false }]);
    expect(await cursor('last')).toMatchObject({ committed: 4, workerId: null });
    expect(await popped('last')).toEqual([]);
  });

  it('of one in the middle completes those before it; the lease stays for the rest', async () => {
    const messages = await leased('middle', 5);
    expect((await said(messages, { 2: 'completed' })).body).toMatchObject([{ success: true, noop: false }]);
    expect(await cursor('middle')).toMatchObject({
      committed: 2,
      workerId: messages[0].leaseId,
      batchEnd: 4,
    });
    expect(await popped('middle')).toEqual([]);
    await expireLease(broker.database, 'middle', 'p');
    expect(texts(await popped('middle', SOON))).toEqual(['m3', 'm4']);
  });

  it('may come piece by piece and in any order', async () => {
    const messages = await leased('pieces', 6);
    expect((await said(messages, { 3: 'completed', 1: 'completed' })).body).toHaveLength(2);
    expect(
      (await said(messages, { 0: 'completed', 2: 'completed' })).body.map(({ success, noop }) => [
        success,
        noop,
      ]),
    ).toEqual([
      [true, true],
      [true, true],
    ]);
    expect(
      (await said(messages, { 5: 'completed', 4: 'completed' })).body.every(({ success }) => success),
    ).toBe(true);
    expect(await cursor('pieces')).toMatchObject({ committed: 5, workerId: null });
  });

  it('that refuses one brings it back with everything behind it, at once', async () => {
    const messages = await leased('refused', 5);
    const answer = await said(messages, { 0: 'completed', 1: 'completed', 2: 'failed', 4: 'completed' });
    expect(answer.body.every(({ success }) => success)).toBe(true);
    expect(await cursor('refused')).toMatchObject({ committed: 1, workerId: null, retryCount: 1 });
    expect(texts(await popped('refused'))).toEqual(['m2', 'm3', 'm4']);
  });

  it('with several refusals acts on the lowest, and of one message on the gravest', async () => {
    const messages = await leased('lowest', 4);
    await said(messages, { 3: 'dlq', 0: 'completed', 1: 'retry', 2: 'failed' });
    expect(await cursor('lowest')).toMatchObject({ committed: 0, retryCount: 0, workerId: null });

    const again = await popped('lowest');
    const [{ transactionId, partitionId, leaseId }] = again;
    const twice = ['retry', 'failed'].map((status) => ({ transactionId, partitionId, leaseId, status }));
    await broker.ackBatch({ consumerGroup: 'g', acknowledgments: twice });
    expect(await cursor('lowest')).toMatchObject({ committed: 0, retryCount: 1 });
  });

  it('answers every item in the order of the request, whichever lease and partition it is about', async () => {
    const names = numbered('p', 4);
    await broker.push(
      names.flatMap((partition) =>
        numbered(`${partition}-`, 25).map((text) => ({
          queue: 'order',
          partition,
          transactionId: text,
          payload: text,
        })),
      ),
    );
    const first = (await broker.pop(queuePath('order'), { partitions: 2, batch: 50, consumerGroup: 'g' }))
      .body.messages;
    const second = (await broker.pop(queuePath('order'), { partitions: 2, batch: 50, consumerGroup: 'g' }))
      .body.messages;
    expect(first.length + second.length).toBe(100);
    const shuffled = [...first, ...second].sort(
      (a, b) => a.id.charCodeAt(35) - b.id.charCodeAt(35) || (a.id < b.id ? -1 : 1),
    );
    const answer = await broker.ackBatch(acksFor(shuffled));
    expect(answer.body.map(({ index }) => index)).toEqual(shuffled.map((__, i) => i));
    expect(answer.body.map(({ transactionId }) => transactionId)).toEqual(
      shuffled.map(({ transactionId }) => transactionId),
    );
    expect(answer.body.every(({ success }) => success)).toBe(true);
    expect(await broker.pop(queuePath('order'), { partitions: 10, consumerGroup: 'g' })).toMatchObject({
      status: 204,
    });
  });

  it('of a message that was completed before is a no-op, of a refused one a refusal', async () => {
    const messages = await leased('late', 4);
    await said(messages, { 1: 'completed' });
    expect((await said(messages, { 0: 'completed', 1: 'completed' })).body).toMatchObject([
      { success: true, noop: true, error: null },
      { success: true, noop: true, error: null },
    ]);
    for (const status of ['failed', 'retry', 'dlq']) {
      expect((await said(messages, { 0: status })).body).toMatchObject([
        { success: false, noop: false, leaseReleased: false, error: STALE },
      ]);
    }
    expect(await cursor('late')).toMatchObject({
      committed: 1,
      workerId: messages[0].leaseId,
      retryCount: 0,
    });
  });

  it('of an unknown id is refused, and the lease stays for the messages it is about (A11)', async () => {
    const messages = await leased('unknown', 2);
    const { partitionId, leaseId } = messages[0];
    for (const status of ['completed', 'failed']) {
      const answer = await broker.ack({
        transactionId: 'never pushed',
        partitionId,
        leaseId,
        consumerGroup: 'g',
        status,
      });
      expect(answer.body).toMatchObject([{ success: false, noop: false, error: UNRESOLVABLE }]);
    }
    expect(await cursor('unknown')).toMatchObject({ committed: -1, workerId: leaseId, retryCount: 0 });
    expect((await broker.ackBatch(acksFor(messages))).body.every(({ success }) => success)).toBe(true);
  });

  it('of a message of another partition is of an unknown id (A11)', async () => {
    const [message] = await leased('foreign', 1);
    await broker.push([{ queue: 'foreign', partition: 'q', transactionId: 'elsewhere', payload: 1 }]);
    const answer = await broker.ack({
      ...acksFor([message]).acknowledgments[0],
      transactionId: 'elsewhere',
      consumerGroup: 'g',
    });
    expect(answer.body).toMatchObject([{ success: false, error: UNRESOLVABLE }]);
  });

  it('under a lease that has run out, was lost or never was is refused and changes nothing', async () => {
    const messages = await leased('lost', 2);
    expect(
      (
        await said(
          messages.map((m) => ({ ...m, leaseId: randomUUID() })),
          { 1: 'completed' },
        )
      ).body,
    ).toMatchObject([{ success: false, error: 'invalid or expired lease' }]);
    await expireLease(broker.database, 'lost', 'p');
    for (const status of ['completed', 'failed', 'dlq']) {
      expect((await said(messages, { 1: status })).body).toMatchObject([
        { success: false, error: 'invalid or expired lease' },
      ]);
    }
    const others = await popped('lost', SOON);
    expect((await broker.ackBatch(acksFor(messages))).body).toMatchObject([
      { success: false, error: 'invalid or expired lease' },
      { success: false, error: 'invalid or expired lease' },
    ]);
    expect(await cursor('lost')).toMatchObject({ committed: -1, workerId: others[0].leaseId, retryCount: 0 });
  });

  it('for a group or partition without a cursor is refused', async () => {
    const [message] = await leased('no-cursor', 1);
    const { transactionId, partitionId } = message;
    expect((await broker.ack({ transactionId, partitionId, consumerGroup: 'stranger' })).body).toMatchObject([
      { success: false, error: 'consumer not found' },
    ]);
    expect(
      (await broker.ack({ transactionId, partitionId: randomUUID(), consumerGroup: 'g' })).body,
    ).toMatchObject([{ success: false, error: 'consumer not found' }]);
  });

  it.each([
    ['no partitionId', { partitionId: undefined }, 'partitionId is required'],
    ['a null partitionId', { partitionId: null }, 'partitionId is required'],
    ['a partitionId that is no uuid', { partitionId: 'p' }, 'partitionId must be a uuid'],
    ['no transactionId', { transactionId: undefined }, 'transactionId is required'],
    ['a transactionId that is no text', { transactionId: 7 }, 'transactionId must be a string'],
    ['a leaseId that is no text', { leaseId: 7 }, 'leaseId must be a string or null'],
    ['a transactionId that nothing can be called', { transactionId: 'a\0b' }, UNRESOLVABLE],
  ])('is refused alone for %s', async (what, fault, error) => {
    const messages = await leased(`item ${what}`, 2);
    const { consumerGroup, acknowledgments } = acksFor(messages);
    const answer = await broker.ackBatch({
      consumerGroup,
      acknowledgments: [{ ...acknowledgments[0], ...fault }, acknowledgments[1], 'text'],
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject([
      { index: 0, success: false, error },
      { index: 1, transactionId: 'm1', success: true, error: null },
      { index: 2, success: false, error: 'an acknowledgment must be an object' },
    ]);
  });

  describe('without a lease', () => {
    const bare = ({ transactionId, partitionId }: Message, status = 'completed') => ({
      transactionId,
      partitionId,
      consumerGroup: 'g',
      status,
    });

    it('completes under the lease that is live', async () => {
      const messages = await leased('bare-live', 3);
      expect((await broker.ack(bare(messages[0]))).body).toMatchObject([{ success: true }]);
      expect(await cursor('bare-live')).toMatchObject({ committed: 0, workerId: messages[0].leaseId });
      expect((await broker.ack({ ...bare(messages[2]), leaseId: '' })).body).toMatchObject([
        { success: true },
      ]);
      expect(await cursor('bare-live')).toMatchObject({ committed: 2, workerId: null });
    });

    it('refuses under the lease that is live', async () => {
      const messages = await leased('bare-nack', 2);
      expect((await broker.ack({ ...bare(messages[1], 'failed'), leaseId: null })).body).toMatchObject([
        { success: true },
      ]);
      expect(await cursor('bare-nack')).toMatchObject({ committed: -1, retryCount: 1, workerId: null });
    });

    it('completes after the lease has run out', async () => {
      const messages = await leased('bare-late', 3);
      await expireLease(broker.database, 'bare-late', 'p');
      expect((await broker.ack(bare(messages[1]))).body).toMatchObject([{ success: true }]);
      expect(await cursor('bare-late')).toMatchObject({ committed: 1 });
    });

    it('completes what was never leased, up to what there is', async () => {
      const messages = await leased('bare-ahead', 2);
      await broker.ackBatch(acksFor(messages));
      await broker.push([{ queue: 'bare-ahead', partition: 'p', transactionId: 'ahead', payload: 1 }]);
      expect((await broker.ack({ ...bare(messages[0]), transactionId: 'ahead' })).body).toMatchObject([
        { success: true, noop: false },
      ]);
      expect(await cursor('bare-ahead')).toMatchObject({ committed: 2 });
      expect(await popped('bare-ahead')).toEqual([]);
    });

    it('is accepted and has no effect when it refuses and nothing is leased', async () => {
      const messages = await leased('bare-none', 1);
      await said(messages, { 0: 'retry' });
      for (const status of ['failed', 'retry', 'dlq']) {
        expect((await broker.ack(bare(messages[0], status))).body).toMatchObject([
          { success: true, dlq: false },
        ]);
      }
      expect(await cursor('bare-none')).toMatchObject({ committed: -1, retryCount: 0 });
    });
  });

  describe('whose body cannot be used', () => {
    it.each([
      '',
      'x',
      '[]',
      '"a"',
      '7',
      '{"acknowledgments":7}',
      '{"consumerGroup":7}',
      '{"consumerGroup":"a\\u0000"}',
      '{"acknowledgments":[]',
    ])('is 400: %s', async (text) => {
      const response = await fetch(`${broker.base}/api/v1/ack/batch`, { method: 'POST', body: text });
      expect([text, response.status]).toEqual([text, 400]);
      expect(await response.json()).toMatchObject({
        error: expect.stringMatching(/^bad body: /),
        code: 'bad_body',
      });
    });

    it('is 200 and an empty list without acknowledgments', async () => {
      for (const text of ['{}', '{"acknowledgments":[]}', '{"acknowledgments":null,"consumerGroup":null}']) {
        const response = await fetch(`${broker.base}/api/v1/ack/batch`, { method: 'POST', body: text });
        expect([response.status, await response.text()]).toEqual([200, '[]']);
      }
    });
  });

  it('resolves an id that stands twice in the partition to the one that is leased', async () => {
    await broker.configure('double', { dedupWindowSeconds: 0 });
    for (const payload of ['first', 'second'])
      await broker.push([{ queue: 'double', partition: 'p', transactionId: 'x', payload }]);
    const first = await popped('double', { batch: 1 });
    expect((await broker.ackBatch(acksFor(first))).body).toMatchObject([{ success: true, noop: false }]);
    const second = await popped('double', { batch: 1 });
    expect(texts(second)).toEqual(['second']);
    await said(second, { 0: 'retry' });
    const again = await popped('double', { batch: 1 });
    expect(texts(again)).toEqual(['second']);
    expect((await broker.ackBatch(acksFor(again))).body).toMatchObject([{ success: true, noop: false }]);
    expect(await popped('double')).toEqual([]);
  });

  it('moves the cursor of its own group alone', async () => {
    const messages = await leased('own', 3);
    const other = (await broker.pop(partitionPath('own', 'p'), { consumerGroup: 'h' })).body.messages;
    await broker.ackBatch(acksFor(messages));
    expect(await consumerRow(broker.database, 'own', 'p', 'h')).toMatchObject({
      committed: -1,
      workerId: other[0].leaseId,
    });
  });
});
