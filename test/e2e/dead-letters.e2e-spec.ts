import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, startBroker, type TestBroker } from '../support/broker.js';
import { listLetters, putAside } from '../support/dead-letters.js';
import { countRows, inTurn } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

/** The text between `"data":` and the key that follows it. */
const rawData = (text: string) => /"data":(.*?),"producerSub"/s.exec(text)?.[1];

describe('a dead letter', () => {
  it('does not hold up what stands behind it (field case A13)', async () => {
    await broker.configure('lane', { retryLimit: 3, leaseTime: 60 });
    await broker.push([1, 2, 3].map((payload) => ({ queue: 'lane', partition: 'p', payload })));
    const failHead = async () => {
      const { body } = await broker.pop(partitionPath('lane', 'p'), { consumerGroup: 'g' });
      expect(body.messages.map(({ data }) => data)).toEqual([1, 2, 3]);
      const [head] = acksFor(body.messages, 'failed', 'poison').acknowledgments;
      return broker.ackBatch({ consumerGroup: 'g', acknowledgments: [head] });
    };
    await inTurn([1, 2, 3], failHead);
    expect((await failHead()).body).toMatchObject([{ success: true, dlq: true }]);

    // At once, and not after the lease of a minute.
    const { body } = await broker.pop(partitionPath('lane', 'p'), { consumerGroup: 'g' });
    expect(body.messages.map(({ data }) => data)).toEqual([2, 3]);
    expect((await listLetters(broker, { queue: 'lane' })).body.messages).toMatchObject([
      { consumerGroup: 'g', data: 1, errorMessage: 'poison', retryCount: 3 },
    ]);
  });

  it('wakes a pop that waits for the partition', async () => {
    await broker.push([1, 2].map((payload) => ({ queue: 'waiting', partition: 'p', payload })));
    const held = await broker.pop(partitionPath('waiting', 'p'), { consumerGroup: 'g' });
    const parked = broker.pop(partitionPath('waiting', 'p'), {
      consumerGroup: 'g',
      wait: true,
      timeout: 20_000,
    });
    const [head] = acksFor(held.body.messages, 'dlq').acknowledgments;
    await broker.ackBatch({ consumerGroup: 'g', acknowledgments: [head] });
    expect((await parked).body.messages.map(({ data }) => data)).toEqual([2]);
  });

  it.each([
    '{"b": 1.0,  "a":1, "a":2}',
    '12345678901234567890.10e+2',
    '{"a":"\\u0000","b":"\\ud800"}',
    '"\\u003c☃\\/"',
    '[ ]',
    'null',
  ])('shows the payload %s byte for byte, and so does its replay', async (payload) => {
    const queue = `bytes ${payload}`;
    const push = (item: string) => broker.post('/api/v1/push', `{"items":[${item}]}`);
    await push(`{"queue":${JSON.stringify(queue)},"partition":"p","payload":${payload}}`);
    const popped = await broker.pop(partitionPath(queue, 'p'), { consumerGroup: 'g' });
    await broker.ackBatch(acksFor(popped.body.messages, 'dlq'));
    const list = await listLetters(broker, { queue });
    expect(rawData(list.text)).toBe(payload);
    await broker.post(`/api/v1/dlq/${list.body.messages[0].id}/replay`);
    const again = await broker.pop(partitionPath(queue, 'p'), { consumerGroup: 'g' });
    expect(rawData(again.text)).toBe(payload);
  });

  it('goes with its queue', async () => {
    await putAside(broker, { queue: 'deleted' });
    await broker.del('/api/v1/resources/queues/deleted');
    expect((await listLetters(broker, { queue: 'deleted' })).body.total).toBe(0);
    expect(await countRows(broker.database, 'log_dlq', `error = 'deleted'`)).toBe(0);
  });
});

describe('the list', () => {
  let stored: string[];
  beforeAll(async () => {
    const places = [
      ['list 1', 'p1', 'g'],
      ['list 1', 'p2', 'h'],
      ['list 2', 'p/ü 1', 'g'],
    ] as const;
    stored = await inTurn(places, async ([queue, partition, group]) => {
      return (await putAside(broker, { queue, partition }, { group })).id;
    });
    for (const [n, id] of stored.entries()) {
      const failedAt = `2020-01-0${n + 1}T00:00:00.5Z`;
      await broker.database.query('update queen.log_dlq set failed_at = $2 where id = $1', [id, failedAt]);
    }
  });

  it.each<[string, Record<string, string | number>, number[]]>([
    ['a queue', { queue: 'list 1' }, [1, 0]],
    ['a queue and a group', { queue: 'list 1', consumerGroup: 'h' }, [1]],
    ['a partition', { partition: 'p/ü 1' }, [2]],
    ['a time on', { queue: 'list 1', from: '2020-01-02T00:00:00.500Z' }, [1]],
    ['a time range, its end not included', { from: '2020-01-01', to: '2020-01-02T00:00:00.500Z' }, [0]],
    ['a time with an offset', { to: '2020-01-02T02:00:00+02:00' }, [0]],
    ['a page', { to: '2020-02-01', limit: 1, offset: 1 }, [1]],
    ['an empty filter, which is none', { to: '2020-02-01', queue: '', consumerGroup: '' }, [2, 1, 0]],
    ['a name that is not there', { queue: `list 1' or 'a' = 'a` }, []],
  ])('by %s', async (_, query, expected) => {
    const { body } = await listLetters(broker, query);
    expect(body.messages.map(({ id }) => id)).toEqual(expected.map((n) => stored[n]));
    expect(body.total).toBe(expected.length);
  });

  it.each([
    [{ limit: 0 }, { limit: 1, offset: 0 }],
    [
      { limit: -5, offset: -1 },
      { limit: 1, offset: 0 },
    ],
    [{ limit: 1_000_000 }, { limit: 1000, offset: 0 }],
    [{ limit: '' }, { limit: 100, offset: 0 }],
  ])('shows the page %j as it was used', async (query, pagination) => {
    expect((await listLetters(broker, query)).body.pagination).toEqual(pagination);
  });

  it.each([
    'limit=abc',
    'limit=1.5',
    'limit=0x10',
    'offset=1e9',
    'limit=1&limit=2',
    'from=gestern',
    'queue=%00',
  ])('refuses %s by name', async (query) => {
    const { status, body } = await broker.get(`/api/v1/dlq?${query}`);
    expect(status).toBe(400);
    expect(body).toEqual({ error: expect.stringContaining(query.split('=')[0]), code: 'bad_parameter' });
  });

  it('of large payloads comes in pieces, whole and in order', async () => {
    const large = 'x'.repeat(3 * 1024 * 1024);
    await inTurn([0, 1, 2], (n) =>
      putAside(broker, { queue: 'large', partition: `p${n}`, payload: n + large }),
    );
    const { body, headers } = await listLetters(broker, { queue: 'large' });
    expect(headers.get('transfer-encoding')).toBe('chunked');
    expect(body.messages.map(({ partition }) => partition)).toEqual(['p2', 'p1', 'p0']);
    expect(body.messages.map(({ data }) => (data as string).length)).toEqual(Array(3).fill(large.length + 1));
    expect(body.total).toBe(3);
    const page = await listLetters(broker, { queue: 'large', offset: 1, limit: 1 });
    expect(page.body.messages.map(({ partition }) => partition)).toEqual(['p1']);
  });

  it('ends when its client leaves, and takes no connection along', async () => {
    const controller = new AbortController();
    const response = await fetch(`${broker.base}/api/v1/dlq?queue=large`, { signal: controller.signal });
    const reader = response.body!.getReader();
    await reader.read();
    controller.abort();
    await expect(reader.read()).rejects.toThrow();
    await waitFor(async () => (await broker.get('/health/ready')).status === 200, {
      within: 5000,
      what: 'the broker to serve others',
    });
    expect((await listLetters(broker, { queue: 'large', limit: 1 })).body.total).toBe(1);
  });
});

describe('a purge', () => {
  it('of everything has to be meant', async () => {
    expect((await broker.del('/api/v1/dlq')).status).toBe(400);
    const { body } = (await broker.del('/api/v1/dlq?all=true')) as { body: { deleted: number } };
    expect(body.deleted).toBeGreaterThan(5);
    expect(await countRows(broker.database, 'log_dlq')).toBe(0);
  });

  it('goes through more letters than one transaction takes', async () => {
    await putAside(broker, { queue: 'many' });
    await broker.database.query(
      `insert into queen.log_dlq (partition_id, consumer_group, "offset", failed_at)
       select d.partition_id, 'g', n, now() from queen.log_dlq d, generate_series(1, 2500) n`,
    );
    expect((await broker.del('/api/v1/dlq?queue=many')).body).toMatchObject({ deleted: 2501 });
    expect(await countRows(broker.database, 'log_dlq')).toBe(0);
  });
});
