import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LimiterService } from '../../src/limiter/limiter.service.js';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type BrokerSettings,
  type TestBroker,
} from '../support/broker.js';
import { candidatePaths, SOON } from '../support/candidate-paths.js';
import { expireLease, numbered } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';

/** Longer than any test: a pop that comes back in time was woken, it did not look again by itself. */
const NO_RE_POLL: BrokerSettings = { POP_WAIT_INITIAL_INTERVAL_MS: 60_000, POP_WAIT_MAX_INTERVAL_MS: 60_000 };

async function parked(broker: TestBroker, count: number): Promise<void> {
  const gates = broker.broker.app.get(WakeGateService);
  await waitFor(() => gates.stats().parked === count, { within: 10_000, what: `${count} pops to be parked` });
}

function push(broker: TestBroker, queue: string, partition: string, ...texts: string[]) {
  return broker.push(texts.map((payload) => ({ queue, partition, payload })));
}

/** The group's cursors exist, so that a later pop waits by the rules of a group that is known. */
async function known(broker: TestBroker, queue: string): Promise<void> {
  await push(broker, queue, 'first', 'm');
  await broker.pop(queuePath(queue), { consumerGroup: 'g', autoAck: true });
  expect(await broker.pop(queuePath(queue), { consumerGroup: 'g' })).toMatchObject({ status: 204 });
}

describe.each(candidatePaths)('a pop that waits is woken, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({ ...settings, ...NO_RE_POLL });
  });
  afterAll(() => broker.stop());

  function waiting(path: string, query = {}) {
    return broker.pop(path, { consumerGroup: 'g', ...query, ...SOON });
  }

  it('by a push to its queue, be its group known or new', async () => {
    await known(broker, 'push');
    const groups = ['g', 'new'].map((consumerGroup) =>
      waiting(queuePath('push'), { consumerGroup, subscriptionMode: 'new' }),
    );
    await parked(broker, 2);
    await push(broker, 'push', 'p', 'woken');
    for (const answer of await Promise.all(groups))
      expect(answer.body.messages).toMatchObject([{ data: 'woken' }]);
  });

  it('by a push to its partition, and not by one to another', async () => {
    await known(broker, 'partition');
    const pop = waiting(partitionPath('partition', 'mine'));
    await parked(broker, 1);
    await push(broker, 'partition', 'other', 'not mine');
    await push(broker, 'partition', 'mine', 'mine');
    expect((await pop).body.messages).toMatchObject([{ data: 'mine' }]);
    expect(await broker.pop(partitionPath('partition', 'other'))).toMatchObject({ status: 200 });
  });

  it('by a refusal of the batch it waits for', async () => {
    for (const status of ['failed', 'retry']) {
      const queue = `nack ${status}`;
      await known(broker, queue);
      await push(broker, queue, 'p', 'm');
      const { messages } = (await broker.pop(queuePath(queue), { consumerGroup: 'g' })).body;
      const pops = [waiting(queuePath(queue)), waiting(partitionPath(queue, 'p'))];
      await parked(broker, 2);
      await broker.ackBatch(acksFor(messages, status));
      const first = await Promise.race(pops);
      expect(first.body.messages).toMatchObject([{ data: 'm', deliveryAttempt: 2 }]);
      await broker.ackBatch(acksFor(first.body.messages, status));
      const [one, other] = await Promise.all(pops);
      expect([one.body.messages, other.body.messages]).toMatchObject([[{ data: 'm' }], [{ data: 'm' }]]);
      await broker.del(`/api/v1/resources/queues/${encodeURIComponent(queue)}`);
    }
  });

  it('by the completion of the batch before', async () => {
    await known(broker, 'next');
    await push(broker, 'next', 'p', 'm0', 'm1');
    const { messages } = (await broker.pop(queuePath('next'), { consumerGroup: 'g', batch: 1 })).body;
    const pop = waiting(queuePath('next'));
    await parked(broker, 1);
    await broker.ackBatch(acksFor(messages));
    expect((await pop).body.messages).toMatchObject([{ data: 'm1' }]);
  });

  it('by a dead letter that frees its partition', async () => {
    await broker.configure('poison', { retryLimit: 0 });
    await known(broker, 'poison');
    await push(broker, 'poison', 'p', 'm0', 'm1');
    const { messages } = (await broker.pop(queuePath('poison'), { consumerGroup: 'g' })).body;
    const pop = waiting(queuePath('poison'));
    await parked(broker, 1);
    await broker.ackBatch(acksFor(messages.slice(0, 1), 'failed'));
    expect((await pop).body.messages).toMatchObject([{ data: 'm1' }]);
  });

  it('when a delay of its queue is taken back', async () => {
    await known(broker, 'configured');
    await broker.configure('configured', { delayedProcessing: 600 });
    await push(broker, 'configured', 'p', 'm');
    const pop = waiting(queuePath('configured'));
    await parked(broker, 1);
    await broker.configure('configured', { delayedProcessing: 0 });
    expect((await pop).body.messages).toMatchObject([{ data: 'm' }]);
  });

  it('together with others, and each gets a partition', async () => {
    await known(broker, 'crowd');
    const pops = Array.from({ length: 12 }, () => waiting(queuePath('crowd')));
    await parked(broker, 12);
    await broker.push(
      numbered('p', 12).map((partition) => ({ queue: 'crowd', partition, payload: partition })),
    );
    const got = (await Promise.all(pops)).flatMap(({ body }) => body.messages.map(({ data }) => data));
    expect(got.sort()).toEqual(numbered('p', 12).sort());
  });

  it('for one message once: the others go on waiting (A23)', async () => {
    await known(broker, 'single');
    const pops = Array.from({ length: 5 }, () =>
      broker.pop(queuePath('single'), { consumerGroup: 'g', wait: true, timeout: 1500 }),
    );
    await parked(broker, 5);
    await push(broker, 'single', 'p', 'm');
    const statuses = (await Promise.all(pops)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 204, 204, 204, 204]);
  });
});

describe.each(candidatePaths)('a pop that waits, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({ ...settings, QUEEN_HOTLIST_RESEED_MS: 300 });
  });
  afterAll(() => broker.stop());

  it('is answered at once when there is something', async () => {
    await push(broker, 'there', 'p', 'm');
    const startedMs = performance.now();
    expect(await broker.pop(queuePath('there'), { wait: true, timeout: 60_000 })).toMatchObject({
      status: 200,
    });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  it.each([
    ['across a queue', queuePath('nothing')],
    ['of one partition', partitionPath('nothing', 'p')],
    ['by namespace', ''],
  ])('ends with 204 at its deadline, not before and hardly after: %s', async (__, path) => {
    const startedMs = performance.now();
    const answer = await broker.pop(path, { wait: true, timeout: 450, namespace: 'no.such' });
    const tookMs = performance.now() - startedMs;
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(tookMs).toBeGreaterThanOrEqual(445);
    expect(tookMs).toBeLessThan(450 + 4000); // clients give up 5 s after the deadline
  });

  it('gets what a lease that ran out gives back, without any event', async () => {
    await push(broker, 'expiry', 'p', 'm');
    await broker.pop(queuePath('expiry'), { consumerGroup: 'g', leaseSeconds: 3600 });
    const pops = [
      broker.pop(queuePath('expiry'), { consumerGroup: 'g', ...SOON }),
      broker.pop(queuePath('expiry'), { consumerGroup: 'g', ...SOON }),
    ];
    await parked(broker, 2);
    await expireLease(broker.database, 'expiry', 'p');
    const first = await Promise.race(pops);
    expect(first.body.messages).toMatchObject([{ data: 'm', deliveryAttempt: 2 }]);
    await expireLease(broker.database, 'expiry', 'p');
    const both = await Promise.all(pops);
    expect(both.map(({ body }) => body.messages[0].deliveryAttempt).sort()).toEqual([2, 3]);
  });

  it('finds what another broker stored, without being told', async () => {
    await known(broker, 'foreign');
    const pop = broker.pop(queuePath('foreign'), { consumerGroup: 'g', ...SOON });
    await parked(broker, 1);
    const other = await startBroker({ ...settings, database: broker.database });
    await push(other, 'foreign', 'p', 'm');
    await other.stop();
    expect((await pop).body.messages).toMatchObject([{ data: 'm' }]);
  });

  it('holds neither a permit nor a connection', async () => {
    for (const queue of numbered('idle', 4)) await known(broker, queue);
    const leaving = new AbortController();
    const wait = (path: string) =>
      broker.pop(
        path,
        { namespace: 'none', consumerGroup: 'g', wait: true, timeout: 60_000 },
        { signal: leaving.signal },
      );
    const pops = [
      ...Array.from({ length: 60 }, (__, i) => wait(queuePath(`idle${i % 4}`))),
      ...Array.from({ length: 10 }, () => wait(partitionPath('idle0', 'p'))),
      ...Array.from({ length: 10 }, () => wait('')),
    ];
    const ended = Promise.allSettled(pops);
    const { app } = broker.broker;
    const sql = app.get(RawSqlService);
    const gates = app.get(WakeGateService);
    await waitFor(
      async () => {
        const { total, idle, waiting } = sql.stats();
        const { inFlight, waiting: queued } = app.get(LimiterService).stats().pop;
        const { rows } = await broker.database.query<{ busy: number }>(
          `select count(*)::int as busy from pg_stat_activity
             where datname = current_database() and application_name = 'queen-nest' and state <> 'idle'`,
        );
        return (
          gates.stats().parked === pops.length &&
          idle === total &&
          waiting === 0 &&
          inFlight === 0 &&
          queued === 0 &&
          rows[0].busy === 0
        );
      },
      { within: 4000, what: 'eighty parked pops that hold nothing' },
    );
    leaving.abort();
    await parked(broker, 0);
    expect((await ended).every(({ status }) => status === 'rejected')).toBe(true);
    await waitFor(() => gates.stats().gates === 0, { within: 2000, what: 'the gates to be dropped' });
  }, 20_000);
});

describe('with the ring', () => {
  it('sixty quiet pops cost the database next to nothing (A23)', async () => {
    const broker = await startBroker();
    await known(broker, 'quiet');
    const pops = Array.from({ length: 60 }, () =>
      broker.pop(queuePath('quiet'), { consumerGroup: 'g', wait: true, timeout: 2500 }),
    );
    await parked(broker, 60);
    const sql = broker.broker.app.get(RawSqlService);
    const before = sql.stats().statements;
    for (const answer of await Promise.all(pops)) expect(answer.status).toBe(204);
    // They looked again some four times each; a statement for every look would be some 240.
    expect(sql.stats().statements - before).toBeLessThan(20);
    await broker.stop();
  }, 20_000);

  it('empty polls that do not wait ask the database nothing', async () => {
    const broker = await startBroker();
    await known(broker, 'polled');
    const poll = () => broker.pop(queuePath('polled'), { consumerGroup: 'g' });
    await poll();
    const sql = broker.broker.app.get(RawSqlService);
    const before = sql.stats().statements;
    for (let i = 0; i < 50; i++) expect(await poll()).toMatchObject({ status: 204 });
    expect(sql.stats().statements - before).toBeLessThan(5); // the background looks at its own tables now and then
    await push(broker, 'polled', 'p', 'm');
    expect(await poll()).toMatchObject({ status: 200 });
    await broker.stop();
  });
});
