import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { HotlistService } from '../../src/hotlist/hotlist.service.js';
import { ClaimFlusher } from '../../src/pop/flush/claim-flusher.js';
import { untilBlocked } from '../support/blocked.js';
import { queuePath, startBroker, type PopBody, type Answer, type TestBroker } from '../support/broker.js';
import { SOON } from '../support/candidate-paths.js';
import { numbered } from '../support/make.js';
import { openSessions, type TestSession } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

const GROUP = { consumerGroup: 'g' };
const ONE = { ...GROUP, ...SOON, batch: 1, autoAck: true };

const claims = (broker: TestBroker) => broker.broker.app.get(ClaimFlusher).stats();
const dataOf = (answers: Answer<PopBody>[]) =>
  answers.flatMap(({ body }) => body?.messages.map(({ data }) => data) ?? []);

/** Partitions with one message each, and a ring that knows them. */
async function fill(broker: TestBroker, queue: string, count: number): Promise<string[]> {
  await broker.push([{ queue, partition: 'first', payload: 'first' }]);
  await broker.pop(queuePath(queue), { ...ONE }); // first contact
  await broker.pop(queuePath(queue), GROUP); // the ring's first walk
  const payloads = numbered('m', count);
  await broker.push(payloads.map((payload, i) => ({ queue, partition: `p${i}`, payload })));
  return payloads;
}

describe('pops that run at once', () => {
  let broker: TestBroker;
  let s1: TestSession;
  beforeAll(async () => {
    broker = await startBroker({ QUEEN_POP_FUSION_CONCURRENCY: 1 });
    ({ s1 } = await openSessions(broker.database, ['s1']));
  });
  afterEach(() => s1.rollback());
  afterAll(() => broker.stop());

  it('share statements: those that come while one is under way go together, each with a message of its own', async () => {
    const payloads = await fill(broker, 'together', 24);
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    const before = claims(broker);
    const pops = payloads.map(() => broker.pop(queuePath('together'), ONE));
    await waitFor(() => claims(broker).waiting + claims(broker).serving === payloads.length, {
      within: 20_000,
      what: 'all pops to wait for their turn or to have it',
    });
    await s1.rollback();
    expect(dataOf(await Promise.all(pops)).sort()).toEqual([...payloads].sort());
    const after = claims(broker);
    expect(after.jobs - before.jobs).toBeGreaterThanOrEqual(payloads.length);
    // The one that was under way, and one for all that came meanwhile.
    expect(after.statements - before.statements).toBeLessThanOrEqual(3);
  });

  it('lease to each pop what it got, under its own lease', async () => {
    await fill(broker, 'leases', 8);
    const pops = Array.from({ length: 8 }, () =>
      broker.pop(queuePath('leases'), { ...GROUP, ...SOON, batch: 1 }),
    );
    const messages = (await Promise.all(pops)).flatMap(({ body }) => body.messages);
    expect(new Set(messages.map(({ leaseId }) => leaseId)).size).toBe(8);
    const acked = await Promise.all(
      messages.map(({ transactionId, partitionId, leaseId }) =>
        broker.ack({ ...GROUP, transactionId, partitionId, leaseId, status: 'completed' }),
      ),
    );
    expect(acked.map(({ body }) => body[0])).toEqual(
      messages.map(() => expect.objectContaining({ success: true, leaseReleased: true })),
    );
  });

  it('of different queues share as well, and each gets from its own', async () => {
    const queues = numbered('shared ', 3);
    for (const queue of queues) await fill(broker, queue, 4);
    const pops = queues.flatMap((queue) =>
      Array.from({ length: 4 }, async () => ({ queue, answer: await broker.pop(queuePath(queue), ONE) })),
    );
    for (const { queue, answer } of await Promise.all(pops)) {
      expect(answer.body).toMatchObject({ queue, messages: [{ queue }] });
    }
  });
});

describe('a shared claim that takes too long', () => {
  it('fails the pops in it, gives everything back, and pops claim alone afterwards', async () => {
    const broker = await startBroker({ QUEEN_STMT_TIMEOUT_MS: 3000, QUEEN_POP_FUSION_CONCURRENCY: 1 });
    try {
      const payloads = await fill(broker, 'slow', 6);
      const { s1 } = await openSessions(broker.database, ['s1']);
      await s1.begin();
      await s1.run('lock table queen.log_segments in access exclusive mode');
      const pops = payloads.map(() => broker.pop(queuePath('slow'), ONE));
      const failed = await Promise.all(pops);
      expect(failed.map(({ status }) => status)).toEqual(payloads.map(() => 500));
      expect(failed[0].body).toEqual({ error: 'pop failed', code: 'statement_timeout' });
      await untilBlocked(broker.database, 0); // until then a cancelled statement could still get the lock
      await s1.rollback();
      expect(broker.broker.app.get(HotlistService).stats().openTickets).toBe(0);

      const before = claims(broker).statements;
      const again = await Promise.all(payloads.map(() => broker.pop(queuePath('slow'), ONE)));
      expect(dataOf(again).sort()).toEqual([...payloads].sort());
      expect(claims(broker).statements).toBe(before);
    } finally {
      await broker.stop();
    }
  });
});

describe('two brokers whose pops share claims', () => {
  it('deliver every message once', async () => {
    const a = await startBroker({ QUEEN_HOTLIST_REVISIT_CAP_MS: 50, QUEEN_HOTLIST_PAD_MS: 10 });
    const b = await startBroker({
      ...{ database: a.database, QUEEN_HOTLIST_REVISIT_CAP_MS: 50, QUEEN_HOTLIST_PAD_MS: 10 },
    });
    try {
      const payloads = await fill(a, 'both', 30);
      const seen = dataOf([await b.pop(queuePath('both'), { ...GROUP, batch: 1, autoAck: true })]); // its ring's first walk
      const more = numbered('n', 30);
      await b.push(more.map((payload, i) => ({ queue: 'both', partition: `p${i}`, payload })));
      payloads.push(...more);
      const consume = async (broker: TestBroker) => {
        while (seen.length < payloads.length) {
          const { status, body } = await broker.pop(queuePath('both'), {
            ...{ ...GROUP, batch: 1, autoAck: true, wait: true, timeout: 1000 },
          });
          if (status === 200) seen.push(...body.messages.map(({ data }) => data));
        }
      };
      await Promise.all([b, a].flatMap((broker) => Array.from({ length: 6 }, () => consume(broker))));
      expect([...seen].sort()).toEqual([...payloads].sort());
      expect(claims(a).jobs).toBeGreaterThan(0);
      expect(claims(b).jobs).toBeGreaterThan(0);
    } finally {
      await b.stop();
      await a.stop();
    }
  });
});
