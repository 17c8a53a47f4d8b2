import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { consumerRow, expireLease, numbered } from '../support/make.js';

interface Extended {
  leaseId: string;
  success: boolean;
  renewed: number;
  newExpiresAt: string | null;
  expiresAt: string | null;
  lease_expires_at: string | null;
}

const ISO_MICROS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe('extending a lease', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  /** One message in each partition, all under one lease of so many seconds. */
  async function leased(queue: string, partitions: string[], leaseSeconds: number) {
    await broker.push(
      partitions.map((partition) => ({ queue, partition, transactionId: 't', payload: partition })),
    );
    const query = { consumerGroup: 'g', partitions: partitions.length, leaseSeconds };
    return (await broker.pop(queuePath(queue), query)).body;
  }

  async function extend(leaseId: string, body?: unknown): Promise<Extended> {
    const answer = await broker.post(`/api/v1/lease/${encodeURIComponent(leaseId)}/extend`, body);
    expect(answer.status).toBe(200);
    return answer.body as Extended;
  }

  const secondsLeft = async (queue: string, partition: string) =>
    (await consumerRow(broker.database, queue, partition))!.leaseSecondsLeft!;

  it('prolongs every partition of its pop, and says until when', async () => {
    const partitions = numbered('p', 3);
    const { leaseId } = await leased('all', partitions, 10);
    const answer = await extend(leaseId, { seconds: 500 });
    expect(answer).toEqual({
      leaseId,
      success: true,
      renewed: 3,
      newExpiresAt: expect.stringMatching(ISO_MICROS),
      expiresAt: answer.newExpiresAt,
      lease_expires_at: answer.newExpiresAt,
    });
    for (const partition of partitions) {
      const cursor = await consumerRow(broker.database, 'all', partition);
      expect(cursor!.leaseSecondsLeft).toBeGreaterThan(450);
      expect(cursor!.leaseSecondsLeft).toBeLessThanOrEqual(500);
      expect(Math.abs(cursor!.leaseExpiresAt!.getTime() - Date.parse(answer.expiresAt!))).toBeLessThan(1000);
    }
  });

  it('says the earliest end when the partitions differ', async () => {
    const { leaseId } = await leased('differ', ['p', 'q'], 10);
    const longer =
      "update queen.log_consumers set lease_expires_at = lease_expires_at + interval '1 hour' where worker_id = $1 and partition_id = (select id from queen.log_partitions where name = 'q' and id = partition_id)";
    await broker.database.query(longer, [leaseId]);
    const { renewed, expiresAt } = await extend(leaseId, { seconds: 100 });
    expect(renewed).toBe(2);
    const first = await consumerRow(broker.database, 'differ', 'p');
    expect(Math.abs(first!.leaseExpiresAt!.getTime() - Date.parse(expiresAt!))).toBeLessThan(1000);
  });

  it('never shortens', async () => {
    const { leaseId } = await leased('shorter', ['p'], 1000);
    expect(await extend(leaseId, { seconds: 1 })).toMatchObject({ success: true, renewed: 1 });
    expect(await secondsLeft('shorter', 'p')).toBeGreaterThan(950);
  });

  it.each([
    ['nothing', undefined],
    ['{}', '{}'],
    ['what is no JSON', 'x'],
    ['a text', '{"seconds":"500"}'],
    ['a fraction', '{"seconds":1.5}'],
    ['null', '{"seconds":null}'],
    ['a list', '[500]'],
  ])('by %s is by 60 seconds', async (what, body) => {
    const queue = `default ${what}`;
    const { leaseId } = await leased(queue, ['p'], 1);
    await extend(leaseId, body);
    const left = await secondsLeft(queue, 'p');
    expect(left).toBeGreaterThan(40);
    expect(left).toBeLessThanOrEqual(60);
  });

  it('by less than a second is by one, and by more than a week by a week', async () => {
    const { leaseId } = await leased('bounds', ['p'], 1);
    expect(await extend(leaseId, { seconds: -5 })).toMatchObject({ success: true });
    expect(await secondsLeft('bounds', 'p')).toBeLessThanOrEqual(1);
    await extend(leaseId, { seconds: 1e9 });
    expect(await secondsLeft('bounds', 'p')).toBeLessThanOrEqual(7 * 24 * 3600);
  });

  it.each(['unknown', randomUUID(), '', 'a/b', 'a\0b', "'; drop table queen.queues; --", '\ud7ff'])(
    'that nobody holds is told so: "%s"',
    async (leaseId) => {
      expect(await extend(leaseId, { seconds: 100 })).toEqual({
        leaseId,
        success: false,
        renewed: 0,
        newExpiresAt: null,
        expiresAt: null,
        lease_expires_at: null,
      });
    },
  );

  it('that has run out does not bring it back to life (A10)', async () => {
    const { leaseId } = await leased('over', ['p'], 1000);
    await expireLease(broker.database, 'over', 'p');
    expect(await extend(leaseId, { seconds: 100 })).toMatchObject({ success: false, renewed: 0 });
    expect(await secondsLeft('over', 'p')).toBeLessThan(0);
    expect(await broker.pop(partitionPath('over', 'p'), { consumerGroup: 'g' })).toMatchObject({
      status: 200,
    });
  });

  it('that another worker took over meanwhile leaves that one alone (A10)', async () => {
    const first = await leased('taken', ['p'], 1000);
    await expireLease(broker.database, 'taken', 'p');
    await broker.pop(partitionPath('taken', 'p'), { consumerGroup: 'g', leaseSeconds: 10 });
    expect(await extend(first.leaseId, { seconds: 5000 })).toMatchObject({ success: false, renewed: 0 });
    expect(await secondsLeft('taken', 'p')).toBeLessThanOrEqual(10);
  });

  it('that is partly done prolongs what is left', async () => {
    const { leaseId, messages } = await leased('partly', ['p', 'q'], 10);
    await broker.ackBatch(acksFor(messages.slice(0, 1)));
    expect(await extend(leaseId, { seconds: 100 })).toMatchObject({ success: true, renewed: 1 });
    await broker.ackBatch(acksFor(messages.slice(1)));
    expect(await extend(leaseId, { seconds: 100 })).toMatchObject({ success: false, renewed: 0 });
  });

  it('keeps a batch from being redelivered, and its ack is applied (A10)', async () => {
    const { leaseId, messages } = await leased('kept', ['p'], 1000);
    await extend(leaseId, { seconds: 2000 });
    expect(await broker.pop(queuePath('kept'), { consumerGroup: 'g' })).toMatchObject({ status: 204 });
    expect((await broker.ackBatch(acksFor(messages))).body).toMatchObject([{ success: true }]);
  });

  it('works through another broker on the same database', async () => {
    const { leaseId } = await leased('elsewhere', ['p', 'q'], 10);
    const other = await startBroker({ database: broker.database });
    const answer = await other.post(`/api/v1/lease/${leaseId}/extend`, { seconds: 500 });
    expect(answer.body).toMatchObject({ success: true, renewed: 2 });
    expect(await secondsLeft('elsewhere', 'q')).toBeGreaterThan(450);
    await other.stop();
  });
});
