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

describe.each(candidatePaths)('verdicts that meet, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  async function leased(queue: string, partition: string, count: number): Promise<Message[]> {
    await broker.push(
      numbered('m', count).map((text) => ({ queue, partition, transactionId: text, payload: text })),
    );
    return (await broker.pop(partitionPath(queue, partition), { consumerGroup: 'g' })).body.messages;
  }

  const texts = (messages: Message[] | undefined) => (messages ?? []).map(({ data }) => data);

  it('everything completed and one failed, each sent twice at the same moment: one of the two counts (A11)', async () => {
    let completions = 0;
    for (let round = 0; round < 20; round++) {
      const partition = `p${round}`;
      const messages = await leased('verdicts', partition, 10);
      const all = acksFor(messages);
      const one = {
        consumerGroup: 'g',
        acknowledgments: [acksFor([messages[5]], 'failed').acknowledgments[0]],
      };
      const order = round % 2 === 0 ? [all, one, all, one] : [one, all, one, all];
      const answers = await Promise.all(order.map((body) => broker.ackBatch(body)));
      const byBody = (body: unknown) =>
        answers.filter((__, i) => order[i] === body).map((answer) => answer.body);

      const completed = byBody(all).filter((results) => results.every(({ success }) => success));
      const failed = byBody(one).filter(([result]) => result.success);
      const cursor = await consumerRow(broker.database, 'verdicts', partition);
      if (completed.length > 0) {
        completions += 1;
        expect(failed).toHaveLength(0);
        expect(cursor).toMatchObject({ committed: 9, workerId: null, totalConsumed: 10, retryCount: 0 });
        // The repeat is told so, or heard that the lease is over; it never counts again.
        expect(completed.filter((results) => results.every(({ noop }) => !noop))).toHaveLength(1);
        expect(await broker.pop(partitionPath('verdicts', partition), { consumerGroup: 'g' })).toMatchObject({
          status: 204,
        });
      } else {
        expect(failed).toHaveLength(1);
        expect(cursor).toMatchObject({ committed: -1, workerId: null, retryCount: 1 });
        for (const result of byBody(all).flat())
          expect(result).toMatchObject({ success: false, error: 'invalid or expired lease' });
        const again = await broker.pop(partitionPath('verdicts', partition), { consumerGroup: 'g' });
        expect(texts(again.body?.messages)).toEqual(numbered('m', 10));
      }
    }
    expect(completions).toBeGreaterThan(0);
  }, 30_000);

  it('the same completion repeated later is a no-op (A11)', async () => {
    const messages = await leased('repeat', 'p', 3);
    expect(
      (await broker.ackBatch(acksFor(messages))).body.map(({ success, noop }) => [success, noop]),
    ).toEqual(Array(3).fill([true, false]));
    expect(
      (await broker.ackBatch(acksFor(messages))).body.map(({ success, noop }) => [success, noop]),
    ).toEqual(Array(3).fill([true, true]));
    expect(await consumerRow(broker.database, 'repeat', 'p')).toMatchObject({ totalConsumed: 3 });
  });

  it('a batch acked in reverse, one request a message, at the same time, is completed once (A11)', async () => {
    const messages = await leased('reverse', 'p', 10);
    const answers = await Promise.all(
      [...messages]
        .reverse()
        .map(({ transactionId, partitionId, leaseId }) =>
          broker.ack({ transactionId, partitionId, leaseId, consumerGroup: 'g' }),
        ),
    );
    // The one of the last message ends the lease; those that came after it find it over.
    for (const { body } of answers) {
      expect(body).toHaveLength(1);
      if (!body[0].success) expect(body[0].error).toBe('invalid or expired lease');
    }
    expect(await consumerRow(broker.database, 'reverse', 'p')).toMatchObject({
      committed: 9,
      totalConsumed: 10,
      workerId: null,
    });
  });

  it('after a retry of the fourth the next deliveries are the fourth and what follows, whoever asks (A12)', async () => {
    const messages = await leased('order', 'p', 10);
    const { consumerGroup, acknowledgments } = acksFor(messages.slice(0, 4));
    acknowledgments[3].status = 'retry';
    await broker.ackBatch({ consumerGroup, acknowledgments });

    const got: Message[] = [];
    const consume = async () => {
      while (got.length < 7) {
        const { body } = await broker.pop(queuePath('order'), {
          consumerGroup: 'g',
          batch: 2,
          wait: true,
          timeout: 200,
        });
        if (!body) continue;
        got.push(...body.messages);
        await broker.ackBatch(acksFor(body.messages));
      }
    };
    await Promise.all([consume(), consume(), consume(), consume()]);
    expect(texts(got)).toEqual(numbered('m', 7, 3));
    expect(got.slice(0, 2).map(({ deliveryAttempt }) => deliveryAttempt)).toEqual([2, 2]);
  });

  it('a worker that dies after acking three leaves the others, in order (A12)', async () => {
    const messages = await leased('dead', 'p', 10);
    await broker.ackBatch(acksFor(messages.slice(0, 3)));
    await expireLease(broker.database, 'dead', 'p');
    const { body } = await broker.pop(queuePath('dead'), { consumerGroup: 'g', ...SOON });
    expect(texts(body.messages)).toEqual(numbered('m', 7, 3));
  });
});
