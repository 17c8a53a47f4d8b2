import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { queuePath, startBroker, type Message, type TestBroker } from '../support/broker.js';
import { candidatePaths, SOON } from '../support/candidate-paths.js';
import { consumerRow, countRows, expireLease, numbered } from '../support/make.js';

describe.each(candidatePaths)('the retry budget and the dead letters, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  async function prepared(
    queue: string,
    count: number,
    options: Record<string, unknown> = {},
  ): Promise<void> {
    if (Object.keys(options).length > 0) await broker.configure(queue, options);
    await broker.push(
      numbered('m', count).map((text) => ({
        queue,
        partition: 'p',
        transactionId: text,
        payload: { of: text },
      })),
    );
  }

  async function popped(queue: string, query = {}): Promise<Message[]> {
    const answer = await broker.pop(queuePath(queue), { consumerGroup: 'g', ...query });
    return answer.body?.messages ?? [];
  }

  const ids = (messages: Message[]) => messages.map(({ transactionId }) => transactionId);

  async function refuse(messages: Message[], status: string, error?: string | null) {
    const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }) => ({
      transactionId,
      partitionId,
      leaseId,
      status,
      error,
    }));
    return (await broker.ackBatch({ consumerGroup: 'g', acknowledgments })).body;
  }

  async function deadLetters(queue: string) {
    const { rows } = await broker.database.query(
      `select d.* from queen.log_dlq d join queen.log_partitions p on p.id = d.partition_id
         join queen.queues q on q.id = p.queue_id where q.name = $1 order by d."offset"`,
      [queue],
    );
    return rows;
  }

  it('a message that fails once more than the limit is a dead letter, and the next one is delivered at once', async () => {
    await prepared('budget', 3);
    for (let failure = 1; failure <= 4; failure++) {
      const [first, ...rest] = await popped('budget');
      expect([first.transactionId, first.deliveryAttempt]).toEqual(['m0', failure]);
      expect(rest).toHaveLength(2);
      const [result] = await refuse([first], 'failed', `failure ${failure}`);
      expect(result).toMatchObject({ success: true, dlq: failure === 4, error: null });
      expect((await consumerRow(broker.database, 'budget', 'p'))!.retryCount).toBe(
        failure === 4 ? 0 : failure,
      );
    }
    expect(ids(await popped('budget'))).toEqual(['m1', 'm2']);
    const [letter] = await deadLetters('budget');
    expect(letter).toMatchObject({
      consumer_group: 'g',
      transaction_id: 'm0',
      payload: '{"of":"m0"}',
      error: 'failure 4',
      retry_count: 3,
      offset: '0',
      message_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      failed_at: expect.any(Date),
    });
  });

  it('a limit of 0 makes the first failure a dead letter', async () => {
    await prepared('none', 2, { retryLimit: 0 });
    expect(await refuse((await popped('none')).slice(0, 1), 'failed')).toMatchObject([
      { success: true, dlq: true },
    ]);
    expect(await deadLetters('none')).toMatchObject([
      { transaction_id: 'm0', error: 'Retries exhausted', retry_count: 0 },
    ]);
    expect(ids(await popped('none'))).toEqual(['m1']);
  });

  it('a refused batch is charged once, whatever its size', async () => {
    await prepared('batch', 5);
    expect(await refuse(await popped('batch'), 'failed')).toHaveLength(5);
    expect(await consumerRow(broker.database, 'batch', 'p')).toMatchObject({ retryCount: 1, committed: -1 });
    expect(ids(await popped('batch'))).toEqual(numbered('m', 5));
  });

  it('retry is free of charge', async () => {
    await prepared('free', 1, { retryLimit: 1 });
    for (let i = 1; i <= 6; i++) {
      const messages = await popped('free');
      expect(messages).toMatchObject([{ transactionId: 'm0', deliveryAttempt: i }]);
      expect(await refuse(messages, 'retry')).toMatchObject([{ success: true, dlq: false }]);
    }
    expect(await consumerRow(broker.database, 'free', 'p')).toMatchObject({ retryCount: 0 });
    expect(await deadLetters('free')).toEqual([]);
  });

  it('a lease that runs out is free of charge', async () => {
    await prepared('expiry', 1, { retryLimit: 0 });
    for (let i = 0; i < 3; i++) {
      expect(ids(await popped('expiry', SOON))).toEqual(['m0']);
      await expireLease(broker.database, 'expiry', 'p');
    }
    expect(await consumerRow(broker.database, 'expiry', 'p')).toMatchObject({ retryCount: 0 });
  });

  it('dlq puts a message aside at once, whatever its budget', async () => {
    await prepared('at-once', 3);
    const messages = await popped('at-once');
    const results = await refuse([messages[1]], 'dlq', 'poison');
    expect(results).toMatchObject([{ success: true, dlq: true, error: null, leaseReleased: true }]);
    // The cursor is behind it now, so what stands before it counts as done, as with an ack of it.
    expect(await deadLetters('at-once')).toMatchObject([
      { transaction_id: 'm1', error: 'poison', offset: '1' },
    ]);
    expect(await consumerRow(broker.database, 'at-once', 'p')).toMatchObject({
      committed: 1,
      workerId: null,
      retryCount: 0,
    });
    expect(ids(await popped('at-once'))).toEqual(['m2']);
  });

  it('a spent budget is restored by the next completed batch', async () => {
    await prepared('restored', 2, { retryLimit: 2 });
    await refuse(await popped('restored', { batch: 1 }), 'failed');
    await refuse(await popped('restored', { batch: 1 }), 'failed');
    const completed = await popped('restored', { batch: 1 });
    expect(await refuse(completed, 'completed')).toMatchObject([{ success: true }]);
    expect(await consumerRow(broker.database, 'restored', 'p')).toMatchObject({
      committed: 0,
      retryCount: 0,
    });
    await refuse(await popped('restored'), 'failed');
    expect(await deadLetters('restored')).toEqual([]);
  });

  it.each([
    ['both off', { deadLetterQueue: false, dlqAfterMaxRetries: false }, 0],
    ['one on', { deadLetterQueue: false, dlqAfterMaxRetries: true }, 1],
    ['the other on', { deadLetterQueue: true, dlqAfterMaxRetries: false }, 1],
  ])('without dead letters the message is dropped: %s', async (what, options, letters) => {
    const queue = `dropped ${what}`;
    await prepared(queue, 2, { retryLimit: 0, ...options });
    const [first] = await popped(queue);
    expect(await refuse([first], 'failed')).toMatchObject([{ success: true, dlq: letters === 1 }]);
    expect(await deadLetters(queue)).toHaveLength(letters);
    expect(ids(await popped(queue))).toEqual(['m1']);
  });

  it('dlq is obeyed although the queue keeps no dead letters by itself', async () => {
    await prepared('asked', 1, { deadLetterQueue: false, dlqAfterMaxRetries: false });
    expect(await refuse(await popped('asked'), 'dlq')).toMatchObject([{ success: true, dlq: true }]);
    expect(await deadLetters('asked')).toHaveLength(1);
  });

  it('the reason is that of the message, else the first one given, else says that retries ran out', async () => {
    const reasons: [string, (string | null)[]][] = [
      ['own', ['own', 'other']],
      ['other', [null, 'other']],
      ['Retries exhausted', [null, '']],
    ];
    for (const [reason, [own, other]] of reasons) {
      const queue = `reason ${reason}`;
      await prepared(queue, 2, { retryLimit: 0 });
      const messages = await popped(queue);
      const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }, i) => ({
        transactionId,
        partitionId,
        leaseId,
        status: 'failed',
        error: i === 0 ? own : other,
      }));
      await broker.ackBatch({ consumerGroup: 'g', acknowledgments });
      expect(await deadLetters(queue)).toMatchObject([{ error: reason }]);
    }
  });

  it('a dead letter keeps the payload byte for byte, and an unusable character in the reason is replaced', async () => {
    const payload = '{"b":1.00,"a":12345678901234567890,"a":"\\u0000"}';
    await fetch(`${broker.base}/api/v1/push`, {
      method: 'POST',
      body: `{"items":[{"queue":"bytes","partition":"p","payload": ${payload} }]}`,
    });
    await refuse(await popped('bytes'), 'dlq', 'bad\0 and \ud800');
    expect(await deadLetters('bytes')).toMatchObject([{ payload, error: 'bad\ufffd and \ufffd' }]);
  });

  it('one poison message in two groups is two letters', async () => {
    await prepared('groups', 1, { retryLimit: 0 });
    for (const consumerGroup of ['a', 'b', '']) {
      const [{ transactionId, partitionId, leaseId }] = (
        await broker.pop(queuePath('groups'), { consumerGroup })
      ).body.messages;
      await broker.ack({ transactionId, partitionId, leaseId, consumerGroup, status: 'failed' });
    }
    expect((await deadLetters('groups')).map(({ consumer_group }) => consumer_group).sort()).toEqual([
      '__QUEUE_MODE__',
      'a',
      'b',
    ]);
  });

  it('a handler that refuses one of five sees each of the others completed once', async () => {
    await prepared('each', 5, { retryLimit: 1 });
    const completed: string[] = [];
    for (let round = 0; round < 6 && completed.length < 4; round++) {
      const messages = await popped('each');
      for (const message of messages) {
        const isPoison = message.transactionId === 'm1';
        const [result] = await refuse([message], isPoison ? 'failed' : 'completed');
        expect(result.success).toBe(true);
        if (isPoison) break;
        completed.push(message.transactionId);
      }
    }
    expect(completed).toEqual(['m0', 'm2', 'm3', 'm4']);
    expect(await deadLetters('each')).toMatchObject([{ transaction_id: 'm1' }]);
    expect(
      await countRows(
        broker.database,
        'log_consumers',
        "consumer_group = 'g' and committed = 4 and worker_id is null",
      ),
    ).toBeGreaterThan(0);
  });
});
