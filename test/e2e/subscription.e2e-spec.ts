import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { candidatePaths } from '../support/candidate-paths.js';
import { ageSegments, countRows, numbered } from '../support/make.js';

/** Where a group starts that was never here before. `data` of what the first pop gets, in order. */
describe.each(candidatePaths)('the first contact of a group, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  const push = (queue: string, partition: string, ...texts: string[]) =>
    broker.push(texts.map((payload) => ({ queue, partition, payload })));

  async function popped(path: string, query: Record<string, string | number> = {}): Promise<unknown[]> {
    const answer = await broker.pop(path, { consumerGroup: 'g', partitions: 100, ...query });
    if (answer.status === 204) return [];
    await broker.ackBatch(acksFor(answer.body.messages));
    return answer.body.messages.map(({ data }) => data).sort();
  }

  it.each(['', 'all', 'from_beginning', 'anything'])(
    'in mode "%s" gets everything retained',
    async (mode) => {
      const queue = `all ${mode}`;
      await push(queue, 'p', 'old');
      expect(await popped(queuePath(queue), { subscriptionMode: mode })).toEqual(['old']);
    },
  );

  it.each(['new', 'NEW', 'new-only', 'new_only', 'newonly'])(
    'in mode "%s" skips what is there, and gets what comes',
    async (mode) => {
      const queue = `skip ${mode}`;
      await push(queue, 'p', 'old');
      expect(await popped(queuePath(queue), { subscriptionMode: mode })).toEqual([]);
      await push(queue, 'p', 'new');
      expect(await popped(queuePath(queue), { subscriptionMode: mode })).toEqual(['new']);
    },
  );

  it('from now is as in mode new', async () => {
    await push('now', 'p', 'old');
    expect(await popped(queuePath('now'), { subscriptionFrom: 'now' })).toEqual([]);
    await push('now', 'p', 'new');
    expect(await popped(queuePath('now'))).toEqual(['new']);
  });

  it('in mode new gets partitions that come later in full, also those of a consumer that asks for one by name', async () => {
    await push('later', 'p', 'old');
    expect(await popped(queuePath('later'), { subscriptionMode: 'new' })).toEqual([]);
    await push('later', 'q', ...numbered('q', 3));
    await push('later', 'r', ...numbered('r', 3));
    expect(await popped(queuePath('later'), { subscriptionMode: 'new' })).toEqual([
      'q0',
      'q1',
      'q2',
      'r0',
      'r1',
      'r2',
    ]);
    await push('later', 's', ...numbered('s', 2));
    expect(await popped(partitionPath('later', 's'), { subscriptionMode: 'new' })).toEqual(['s0', 's1']);
  });

  it('reaches every partition of a queue too large for one statement', async () => {
    await push('large', 'p', 'first');
    await broker.database.query(
      `insert into queen.log_partitions (queue_id, name)
       select id, 'empty-' || n from queen.queues, generate_series(1, 10000) n where name = 'large'`,
    );
    expect(await popped(queuePath('large'))).toEqual(['first']);
    expect(
      await countRows(
        broker.database,
        'log_consumers c join queen.log_partitions p on p.id = c.partition_id join queen.queues q on q.id = p.queue_id',
        "q.name = 'large' and c.consumer_group = 'g'",
      ),
    ).toBe(10_001);
  });

  it('is never repeated: another mode later changes nothing', async () => {
    await push('once', 'p', ...numbered('m', 4));
    expect(await popped(queuePath('once'), { batch: 2 })).toEqual(['m0', 'm1']);
    expect(await popped(queuePath('once'), { subscriptionMode: 'new' })).toEqual(['m2', 'm3']);
    await push('once', 'p', 'm4');
    expect(await popped(queuePath('once'), { subscriptionFrom: 'now' })).toEqual(['m4']);
  });

  it('from a time gets the first segment written at or after it, and what follows', async () => {
    for (const text of ['m0', 'm1', 'm2']) await push('time', 'p', text);
    await ageSegments(broker.database, 'time', 'p', 3 * 3600, { to: 0 });
    await ageSegments(broker.database, 'time', 'p', 3600, { from: 1, to: 1 });
    const from = (hoursAgo: number) => new Date(Date.now() - hoursAgo * 3_600_000).toISOString();
    expect(await popped(queuePath('time'), { consumerGroup: 'a', subscriptionFrom: from(4) })).toEqual([
      'm0',
      'm1',
      'm2',
    ]);
    expect(await popped(queuePath('time'), { consumerGroup: 'b', subscriptionFrom: from(2) })).toEqual([
      'm1',
      'm2',
    ]);
    expect(await popped(queuePath('time'), { consumerGroup: 'c', subscriptionFrom: from(0.5) })).toEqual([
      'm2',
    ]);
    expect(await popped(queuePath('time'), { consumerGroup: 'd', subscriptionFrom: from(-1) })).toEqual([]);
  });

  it('from a time in another zone means that moment (A25)', async () => {
    await push('zone', 'p', 'm0');
    await ageSegments(broker.database, 'zone', 'p', 1800, { to: 0 });
    await push('zone', 'p', 'm1');
    const anHourAgo = new Date(Date.now() - 3_600_000);
    const tokyo = new Date(anHourAgo.getTime() + 9 * 3_600_000).toISOString().replace('Z', '+09:00');
    expect(await popped(queuePath('zone'), { consumerGroup: 'a', subscriptionFrom: tokyo })).toEqual([
      'm0',
      'm1',
    ]);
    const zoneless = new Date(Date.now() - 600_000).toISOString().replace('Z', '');
    expect(await popped(queuePath('zone'), { consumerGroup: 'b', subscriptionFrom: zoneless })).toEqual([
      'm1',
    ]);
  });

  it('from what is no time is mode new across a queue, and is ignored for one partition', async () => {
    await push('nonsense', 'p', 'old');
    const noTimes = ['yesterday-ish', '2026-13-45', "'; drop table t;--", '\0', '2026-01-01\0'];
    for (const [i, subscriptionFrom] of noTimes.entries()) {
      const consumerGroup = `g${i}`;
      expect(await popped(queuePath('nonsense'), { consumerGroup, subscriptionFrom })).toEqual([]);
      expect(
        await popped(partitionPath('nonsense', 'p'), {
          consumerGroup: `${consumerGroup}!`,
          subscriptionFrom,
        }),
      ).toEqual(['old']);
    }
  });

  it('with one partition by name goes by what that pop says', async () => {
    for (const partition of ['p', 'q']) await push('direct', partition, 'old');
    expect(await popped(partitionPath('direct', 'p'), { subscriptionMode: 'new' })).toEqual([]);
    expect(await popped(partitionPath('direct', 'q'))).toEqual(['old']);
    await push('direct', 'p', 'new');
    expect(await popped(partitionPath('direct', 'p'))).toEqual(['new']);
  });

  it('is a matter of record once the group has asked across the queue: a pop of one partition cannot say otherwise', async () => {
    await push('record', 'p', 'old');
    expect(await popped(queuePath('record'))).toEqual(['old']);
    await push('record', 'q', 'kept');
    expect(await popped(partitionPath('record', 'q'), { subscriptionMode: 'new' })).toEqual(['kept']);
    expect(
      await countRows(
        broker.database,
        'consumer_groups_metadata',
        "consumer_group = 'g' and queue_id = (select id from queen.queues where name = 'record')",
      ),
    ).toBe(1);
  });

  it.each(['', '__QUEUE_MODE__'])(
    'in queue mode skips nothing, whatever it asks for: group "%s"',
    async (consumerGroup) => {
      const tail = { consumerGroup, subscriptionMode: 'new', subscriptionFrom: 'now' };
      const queue = `queue-mode ${consumerGroup}`;
      await push(queue, 'p', 'old');
      expect(await popped(queuePath(queue), tail)).toEqual(['old']);
      await push(queue, 'q', 'old as well');
      expect(await popped(partitionPath(queue, 'q'), tail)).toEqual(['old as well']);
    },
  );

  it('by many at once seeds every partition once', async () => {
    for (const partition of numbered('p', 20)) await push('crowd', partition, `${partition}-m`);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () =>
        broker.pop(queuePath('crowd'), { consumerGroup: 'g', autoAck: true, partitions: 5 }),
      ),
    );
    const rest = await broker.pop(queuePath('crowd'), { consumerGroup: 'g', autoAck: true, partitions: 100 });
    const got = [...answers, rest].flatMap(({ body }) => body?.messages.map(({ data }) => data) ?? []);
    expect(got.sort()).toEqual(
      numbered('p', 20)
        .map((partition) => `${partition}-m`)
        .sort(),
    );
  });
});
