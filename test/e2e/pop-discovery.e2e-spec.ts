import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { consumerRow, countRows, numbered } from '../support/make.js';

describe('a pop by namespace or task', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  const push = (queue: string, partition: string, ...texts: string[]) =>
    broker.push(texts.map((payload) => ({ queue, partition, payload })));

  it('without either is refused, in the shape clients know', async () => {
    for (const query of ['', '?namespace=&task=', '?batch=1']) {
      const answer = await broker.get(`/api/v1/pop${query}`);
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual({
        success: false,
        error: 'namespace or task is required',
        messages: [],
        code: 'no_filter',
      });
    }
  });

  it('finds a queue that was never configured by the dots in its name', async () => {
    await push('dots.mail.x', 'p', 'm');
    const { body } = await broker.pop('', { namespace: 'dots' });
    expect(body).toMatchObject({ success: true, queue: '', partition: 'p', partitionsClaimed: 1 });
    expect(body.messages).toMatchObject([{ data: 'm', queue: 'dots.mail.x', partition: 'p' }]);
  });

  it('takes what both filters match, exactly, and an empty filter matches all', async () => {
    await push('n1.t1', 'p', 'n1t1');
    await push('n1.t2', 'p', 'n1t2');
    await push('n2.t1', 'p', 'n2t1');
    await push('n1x.t1x', 'p', 'other');
    const found = async (filter: Record<string, string>, consumerGroup: string) => {
      const answer = await broker.pop('', { ...filter, consumerGroup, partitions: 100 });
      return (answer.body?.messages ?? []).map(({ data }) => data).sort();
    };
    expect(await found({ namespace: 'n1' }, 'a')).toEqual(['n1t1', 'n1t2']);
    expect(await found({ task: 't1' }, 'b')).toEqual(['n1t1', 'n2t1']);
    expect(await found({ namespace: 'n1', task: 't1' }, 'c')).toEqual(['n1t1']);
    expect(await found({ namespace: 'n1', task: '' }, 'd')).toEqual(['n1t1', 'n1t2']);
    expect(await found({ namespace: 'N1' }, 'e')).toEqual([]);
    expect(await found({ namespace: 'n' }, 'f')).toEqual([]);
  });

  it('goes by configured labels when there are some', async () => {
    await broker.configure('labelled', { namespace: 'label ns', task: 'label/task' });
    await push('labelled', 'p', 'm');
    expect((await broker.pop('', { namespace: 'label ns', task: 'label/task' })).body.messages).toMatchObject(
      [{ queue: 'labelled' }],
    );
  });

  it('takes no more partitions and messages than asked, over all queues, under one lease', async () => {
    for (const queue of ['wide.a', 'wide.b', 'wide.c']) {
      for (const partition of ['p', 'q'])
        await push(queue, partition, ...numbered(`${queue}${partition}`, 5));
    }
    const one = await broker.pop('', { namespace: 'wide', consumerGroup: 'a' });
    expect(one.body.partitionsClaimed).toBe(1);
    expect(one.body.messages).toHaveLength(5);
    const four = await broker.pop('', { namespace: 'wide', consumerGroup: 'b', partitions: 4 });
    expect(four.body.partitionsClaimed).toBe(4);
    expect(new Set(four.body.messages.map(({ leaseId }) => leaseId))).toEqual(new Set([four.body.leaseId]));
    const capped = await broker.pop('', { namespace: 'wide', consumerGroup: 'c', partitions: 6, batch: 12 });
    expect(capped.body.messages).toHaveLength(12);
    const results = await broker.ackBatch(acksFor(four.body.messages));
    expect(results.body.map(({ success }) => success)).toEqual(Array<boolean>(20).fill(true));
    const rest = await broker.pop('', { namespace: 'wide', consumerGroup: 'b', partitions: 6 });
    expect(rest.body.partitionsClaimed).toBe(2);
  });

  it('leases each partition for the time of its own queue', async () => {
    await broker.configure('terms.long', { leaseTime: 1000, namespace: 'terms' });
    await broker.configure('terms.short', { leaseTime: 100, namespace: 'terms' });
    await push('terms.long', 'p', 'm');
    await push('terms.short', 'p', 'm');
    await broker.pop('', { namespace: 'terms', consumerGroup: 'g', partitions: 2 });
    expect((await consumerRow(broker.database, 'terms.long', 'p'))!.leaseSecondsLeft).toBeGreaterThan(900);
    const short = (await consumerRow(broker.database, 'terms.short', 'p'))!.leaseSecondsLeft!;
    expect(short).toBeGreaterThan(50);
    expect(short).toBeLessThanOrEqual(100);
    await broker.pop('', { namespace: 'terms', consumerGroup: 'own', partitions: 2, leaseSeconds: 500 });
    expect((await consumerRow(broker.database, 'terms.short', 'p', 'own'))!.leaseSecondsLeft).toBeGreaterThan(
      400,
    );
  });

  it('shares cursors with the other shapes of a pop', async () => {
    await push('mix.a', 'p', ...numbered('m', 4));
    const first = await broker.pop('', { namespace: 'mix', consumerGroup: 'g', batch: 2, autoAck: true });
    expect(first.body.messages.map(({ data }) => data)).toEqual(['m0', 'm1']);
    const second = await broker.pop(queuePath('mix.a'), { consumerGroup: 'g' });
    expect(second.body.messages.map(({ data }) => data)).toEqual(['m2', 'm3']);
  });

  it('is 204 when nothing matches, and creates nothing', async () => {
    expect(await broker.pop('', { namespace: 'no such', consumerGroup: 'g' })).toMatchObject({
      status: 204,
      text: '',
    });
    expect(await countRows(broker.database, 'queues', "name like '%no such%'")).toBe(0);
  });

  it('that waits is woken by a push to a queue that did not exist before', async () => {
    const waiting = broker.pop('', { namespace: 'late', wait: true, timeout: 10_000 });
    await push('late.queue', 'p', 'm');
    expect((await waiting).body.messages).toMatchObject([{ data: 'm', queue: 'late.queue' }]);
  });

  it('starts a new group at the tail when it says so, with partitions that come later in full', async () => {
    await push('fresh.a', 'p', 'old');
    const fresh = { namespace: 'fresh', consumerGroup: 'g', subscriptionMode: 'new', partitions: 10 };
    expect(await broker.pop('', fresh)).toMatchObject({ status: 204 });
    await push('fresh.a', 'p', 'new');
    await push('fresh.a', 'q', 'later');
    const { body } = await broker.pop('', fresh);
    expect(body.messages.map(({ data }) => data).sort()).toEqual(['later', 'new']);
  });
});
