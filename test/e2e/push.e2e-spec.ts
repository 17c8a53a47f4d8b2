import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { ageSegments, countRows, numbered, partitionRow, run, segmentRows } from '../support/make.js';
import { THIS_PARTITION } from '../support/rows.js';

interface PushResult {
  index: number;
  message_id: string;
  transaction_id: string;
  queueName: string;
  status: string;
}

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NIL = '00000000-0000-0000-0000-000000000000';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

async function push(...items: Parameters<TestBroker['push']>[0]): Promise<PushResult[]> {
  const answer = await broker.push(items);
  expect(answer.status).toBe(201);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  return answer.body as PushResult[];
}

async function popAll(queue: string, partition: string) {
  const answer = await broker.pop(partitionPath(queue, partition), { batch: 1000, autoAck: true });
  return answer.status === 204 ? [] : answer.body.messages;
}

describe('what a push answers', () => {
  it('is one result per item, in the order of the items', async () => {
    const results = await push(
      { queue: 'answer', partition: 'a', transactionId: 't1', payload: 1 },
      { queue: 'other-answer', partition: 'b', payload: 2 },
      { queue: 'answer', partition: 'a', transactionId: 't3', payload: 3 },
    );
    expect(results).toEqual([
      {
        index: 0,
        message_id: expect.stringMatching(UUID_V7),
        transaction_id: 't1',
        queueName: 'answer',
        status: 'queued',
      },
      {
        index: 1,
        message_id: results[1].transaction_id,
        transaction_id: expect.stringMatching(UUID_V7),
        queueName: 'other-answer',
        status: 'queued',
      },
      {
        index: 2,
        message_id: expect.stringMatching(UUID_V7),
        transaction_id: 't3',
        queueName: 'answer',
        status: 'queued',
      },
    ]);
  });

  it('is an empty list for an empty list', async () => {
    const answer = await broker.push([]);
    expect([answer.status, answer.text]).toEqual([201, '[]']);
  });

  it('is 100 distinct ids for 100 items without ids', async () => {
    const results = await push(...numbered('m', 100).map((payload) => ({ queue: 'minted', payload })));
    expect(new Set(results.map(({ message_id }) => message_id)).size).toBe(100);
    expect(
      results.every(
        ({ status, message_id, transaction_id }) => status === 'queued' && transaction_id === message_id,
      ),
    ).toBe(true);
  });
});

describe('what a push stores', () => {
  it('keeps the order of the items of a partition and numbers them without gaps', async () => {
    const items = numbered('m', 60).map((text, i) => ({
      queue: 'order',
      partition: i % 2 === 0 ? 'even' : 'odd',
      transactionId: text,
      payload: i,
    }));
    await push(...items);
    await push({ queue: 'order', partition: 'even', payload: 60 });
    expect((await popAll('order', 'even')).map(({ data }) => data)).toEqual(
      Array.from({ length: 31 }, (_, i) => 2 * i),
    );
    expect((await popAll('order', 'odd')).map(({ data }) => data)).toEqual(
      Array.from({ length: 30 }, (_, i) => 2 * i + 1),
    );
    const segments = await segmentRows(broker.database, 'order', 'even');
    expect(segments.map(({ base, end }) => [base, end])).toEqual([
      [0, 29],
      [30, 30],
    ]);
  });

  it('takes an absent or null partition as "Default", and the empty one as another', async () => {
    await push(
      { queue: 'default', payload: 'absent' },
      { queue: 'default', partition: null, payload: 'null' },
      { queue: 'default', partition: '', payload: 'empty' },
    );
    expect((await popAll('default', 'Default')).map(({ data }) => data)).toEqual(['absent', 'null']);
    expect(await popAll('default', '')).toMatchObject([{ data: 'empty', partition: '' }]);
  });

  it('gives back null and {} as they were', async () => {
    await push({ queue: 'nothing', payload: null }, { queue: 'nothing', payload: {} });
    expect((await popAll('nothing', 'Default')).map(({ data }) => data)).toEqual([null, {}]);
  });

  it('ignores keys it does not know, and a producer named in the body', async () => {
    await push({ queue: 'extra', payload: 1, producerSub: 'admin', data: 'not the payload', priority: 9 });
    expect(await popAll('extra', 'Default')).toMatchObject([{ data: 1, producerSub: null, traceId: null }]);
  });

  it('carries a trace id, and ignores one that is not a uuid', async () => {
    const traceId = '01890a5d-ac96-774b-bcce-b302099a8057';
    await push(
      { queue: 'trace', payload: 1, traceId },
      { queue: 'trace', payload: 2, traceId: 'abc' },
      { queue: 'trace', payload: 3, traceId: null },
    );
    expect((await popAll('trace', 'Default')).map((message) => message.traceId)).toEqual([
      traceId,
      null,
      null,
    ]);
  });

  it('is there for a pop without waiting as soon as the answer is', async () => {
    for (let i = 0; i < 25; i++) {
      await push({ queue: 'at-once', partition: `p${i % 5}`, payload: i });
      const answer = await broker.pop(queuePath('at-once'), { autoAck: true });
      expect(answer.body?.messages.map(({ data }) => data)).toEqual([i]);
    }
  });
});

describe('a repeated transactionId', () => {
  it('is a duplicate of the first one in the same request', async () => {
    const item = { queue: 'twice', transactionId: 'x', payload: 1 };
    const [first, second, third] = await push(item, { ...item, payload: 2 }, item);
    expect([first, second, third].map(({ status }) => status)).toEqual(['queued', 'duplicate', 'duplicate']);
    expect(second.message_id).toBe(first.message_id);
    expect(third.message_id).toBe(first.message_id);
    expect((await popAll('twice', 'Default')).map(({ data }) => data)).toEqual([1]);
  });

  it('is a duplicate of the stored one, whose id all repeats carry (A14)', async () => {
    const item = { queue: 'stored', transactionId: 'x', payload: 1 };
    const [original] = await push(item);
    const repeats = await push(item, item);
    expect(repeats).toMatchObject([
      { status: 'duplicate', message_id: original.message_id, transaction_id: 'x' },
      { status: 'duplicate', message_id: original.message_id, transaction_id: 'x' },
    ]);
    expect((await partitionRow(broker.database, 'stored', 'Default'))?.lastOffset).toBe(0);
  });

  it('does not keep the new ones of its batch from being stored', async () => {
    await push(...numbered('t', 5).map((transactionId) => ({ queue: 'mixed', transactionId, payload: 0 })));
    const results = await push(
      ...numbered('t', 5, 3).map((transactionId) => ({ queue: 'mixed', transactionId, payload: 1 })),
    );
    expect(results.map(({ status }) => status)).toEqual([
      'duplicate',
      'duplicate',
      'queued',
      'queued',
      'queued',
    ]);
    expect((await popAll('mixed', 'Default')).map(({ transactionId }) => transactionId)).toEqual(
      numbered('t', 8),
    );
  });

  it('is another message in another partition or queue (A14)', async () => {
    const results = await push(
      { queue: 'scope', partition: 'a', transactionId: 'x', payload: 1 },
      { queue: 'scope', partition: 'b', transactionId: 'x', payload: 2 },
      { queue: 'scope2', partition: 'a', transactionId: 'x', payload: 3 },
    );
    expect(results.map(({ status }) => status)).toEqual(['queued', 'queued', 'queued']);
  });

  it('is a key like any other when empty', async () => {
    const results = await push(
      { queue: 'empty-id', transactionId: '', payload: 1 },
      { queue: 'empty-id', transactionId: '', payload: 2 },
    );
    expect(results).toMatchObject([
      { status: 'queued', transaction_id: '' },
      { status: 'duplicate', transaction_id: '' },
    ]);
  });

  it('is a new message once the dedup window has passed, or without a window (A14)', async () => {
    const item = { queue: 'window', transactionId: 'x', payload: 1 };
    await push(item);
    await ageSegments(broker.database, 'window', 'Default', 3599);
    expect(await push(item)).toMatchObject([{ status: 'duplicate' }]);
    await ageSegments(broker.database, 'window', 'Default', 2);
    expect(await push(item)).toMatchObject([{ status: 'queued' }]);

    await broker.configure('no-window', { dedupWindowSeconds: 0 });
    await push({ ...item, queue: 'no-window' });
    expect(await push({ ...item, queue: 'no-window' })).toMatchObject([{ status: 'queued' }]);
  });

  it('has the nil id when the original has been removed already', async () => {
    const item = { queue: 'gone', transactionId: 'x', payload: 1 };
    await push(item);
    await run(broker.database, [
      `delete from queen.log_segments where partition_id = ${THIS_PARTITION}`,
      ['gone', 'Default'],
    ]);
    expect(await push(item)).toMatchObject([{ status: 'duplicate', message_id: NIL }]);
  });

  it('is stored once when eight clients push it at the same time', async () => {
    for (const partition of ['a', 'b', 'c']) {
      const item = { queue: 'race', partition, transactionId: 'x', payload: 1 };
      const results = (await Promise.all(Array.from({ length: 8 }, () => push(item)))).flat();
      expect(results.map(({ status }) => status).sort()).toEqual([
        ...Array<string>(7).fill('duplicate'),
        'queued',
      ]);
      expect(new Set(results.map(({ message_id }) => message_id)).size).toBe(1);
      expect(await popAll('race', partition)).toHaveLength(1);
    }
  });
});

describe('the first push to a queue', () => {
  async function queueRow(name: string) {
    const [row] = (await broker.database.query('select * from queen.queues where name = $1', [name])).rows;
    return row;
  }

  it('creates it, with namespace and task from the dots in its name', async () => {
    await push(
      { queue: 'ns.task.more', payload: 1 },
      { queue: 'plain', payload: 1 },
      { queue: 'ns.', payload: 1 },
    );
    expect(await queueRow('ns.task.more')).toMatchObject({ namespace: 'ns', task: 'task' });
    expect(await queueRow('plain')).toMatchObject({ namespace: 'plain', task: '' });
    expect(await queueRow('ns.')).toMatchObject({ namespace: 'ns', task: '' });
  });

  it('gives it the defaults of a queue that nobody configured', async () => {
    await push({ queue: 'defaults', payload: 1 });
    expect(await queueRow('defaults')).toMatchObject({
      lease_time: 60,
      retry_limit: 3,
      dead_letter_queue: true,
      dlq_after_max_retries: true,
      dedup_window_seconds: 3600,
    });
  });

  it('leaves a configured queue as it is', async () => {
    await broker.configure('kept.as-is', { namespace: 'mine', leaseTime: 7 });
    await push({ queue: 'kept.as-is', payload: 1 });
    expect(await queueRow('kept.as-is')).toMatchObject({ namespace: 'mine', task: '', lease_time: 7 });
    expect(await countRows(broker.database, 'queues', 'name = $1', ['kept.as-is'])).toBe(1);
  });
});
