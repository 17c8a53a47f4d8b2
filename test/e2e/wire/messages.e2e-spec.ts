import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hashTransactionId } from '../../../src/segment/transaction-hash.js';
import { acksFor, partitionPath, startBroker, type TestBroker } from '../../support/broker.js';
import { putAside } from '../../support/dead-letters.js';

/** The exact shapes that clients of the message routes read; a key with another name fails here. */
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const millis = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const zoned = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
const NIL = '00000000-0000-0000-0000-000000000000';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

describe('GET /api/v1/messages', () => {
  it('has the keys of a message, the mode and the length of the page', async () => {
    await broker.configure('shape', { namespace: 'ns', task: 'tk' });
    const traceId = '01890000-0000-7000-8000-000000000009';
    const [{ message_id: id }] = (
      await broker.push([
        {
          queue: 'shape',
          partition: 'p',
          transactionId: 't1',
          payload: { a: 1 },
          traceId,
          headers: { h: '1' },
        },
      ])
    ).body as { message_id: string }[];
    const { status, headers, body } = await broker.get('/api/v1/messages?queue=shape');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(body).toEqual({
      messages: [
        {
          ...{ id, transactionId: 't1', txnHash: hashTransactionId('t1').toString('hex'), partitionId: uuid },
          ...{ queuePath: 'shape/p', queue: 'shape', partition: 'p', namespace: 'ns', task: 'tk' },
          ...{ status: 'pending', queueStatus: 'pending', busStatus: { consumedBy: 0, totalGroups: 0 } },
          ...{ traceId, producerSub: null, queuePriority: 0, payloadAvailable: true },
          ...{ segment: { seq: 0, frameIdx: 0 }, createdAt: millis, leaseExpiresAt: null },
          ...{ data: { a: 1 }, payload: { a: 1 }, headers: { h: '1' } },
        },
      ],
      mode: { hasQueueMode: false, busGroupsCount: 0, type: 'none' },
      total: 1,
    });
  });

  it('is empty without an error where there is nothing', async () => {
    expect(await broker.get('/api/v1/messages?queue=nowhere')).toMatchObject({
      status: 200,
      body: { messages: [], mode: { hasQueueMode: false, busGroupsCount: 0, type: 'none' }, total: 0 },
    });
  });

  it.each([
    ['queue', [undefined], { hasQueueMode: true, busGroupsCount: 0, type: 'queue' }],
    ['bus', ['g', 'h'], { hasQueueMode: false, busGroupsCount: 2, type: 'bus' }],
    ['hybrid', [undefined, 'g'], { hasQueueMode: true, busGroupsCount: 1, type: 'hybrid' }],
  ] as const)('says that consumption is %s', async (name, groups, mode) => {
    const queue = `mode ${name}`;
    await broker.push([{ queue, partition: 'p', payload: 1 }]);
    for (const group of groups) {
      await broker.pop(partitionPath(queue, 'p'), group === undefined ? {} : { consumerGroup: group });
    }
    const { body } = await broker.get(`/api/v1/messages?queue=${encodeURIComponent(queue)}`);
    expect(body).toMatchObject({ mode, total: 1 });
    const isLeased = mode.hasQueueMode;
    expect((body as { messages: object[] }).messages).toMatchObject([
      { status: isLeased ? 'processing' : 'pending', leaseExpiresAt: isLeased ? millis : null },
    ]);
  });

  it('goes on without content where a segment cannot be read', async () => {
    await broker.push([{ queue: 'damaged', partition: 'p', transactionId: 't', payload: 1 }]);
    await broker.push([{ queue: 'damaged', partition: 'q', transactionId: 'u', payload: 2 }]);
    await broker.database.query(
      `update queen.log_segments s set blob = substr(s.blob, 1, 20) from queen.log_partitions p
       join queen.queues q on q.id = p.queue_id
       where s.partition_id = p.id and q.name = 'damaged' and p.name = 'p'`,
    );
    const { status, body } = await broker.get('/api/v1/messages?queue=damaged');
    expect(status).toBe(200);
    const { messages } = body as { messages: Record<string, unknown>[] };
    expect(messages).toMatchObject([
      { transactionId: 'u', data: 2, payloadAvailable: true },
      { id: null, transactionId: null, payloadAvailable: false },
    ]);
    expect(messages[1]).not.toHaveProperty('data');
    expect(messages[1]).not.toHaveProperty('payload');
    expect(messages[0]).not.toHaveProperty('headers');
    expect(messages[0]).not.toHaveProperty('isEncrypted');
  });
});

describe('GET /api/v1/messages/:partitionId/:transactionId', () => {
  const detail = (partitionId: string, transactionId: string) =>
    broker.get(`/api/v1/messages/${partitionId}/${encodeURIComponent(transactionId)}`);

  it('has the keys of a message and of those who consume it', async () => {
    await broker.configure('one', { namespace: 'ns', task: 'tk', leaseTime: 30, retryLimit: 7 });
    await broker.push([
      { queue: 'one', partition: 'p', transactionId: 'a/b ü', payload: [1.5], headers: { h: '1' } },
    ]);
    const popped = await broker.pop(partitionPath('one', 'p'), { consumerGroup: 'g' });
    const { partitionId } = popped.body;
    const { status, body } = await detail(partitionId, 'a/b ü');
    expect(status).toBe(200);
    expect(body).toEqual({
      ...{ id: popped.body.messages[0].id, transactionId: 'a/b ü', data: [1.5], payload: [1.5] },
      ...{ payloadAvailable: true, traceId: null, producerSub: null, headers: { h: '1' }, createdAt: millis },
      ...{ partitionId, partition: 'p', isEncrypted: false, queue: 'one', queuePath: 'one/p' },
      ...{ namespace: 'ns', task: 'tk', status: 'processing', errorMessage: null, retryCount: 0 },
      leaseExpiresAt: zoned,
      queueConfig: { leaseTime: 30, retryLimit: 7, retryDelay: 0, ttl: 0, priority: 0 },
      mode: { hasQueueMode: false, busGroupsCount: 1, type: 'bus' },
      consumerGroups: [{ name: 'g', group: 'g', consumed: false, leaseExpiresAt: zoned }],
    });
    await broker.ackBatch(acksFor(popped.body.messages));
    expect((await detail(partitionId, 'a/b ü')).body).toMatchObject({
      ...{ status: 'completed', leaseExpiresAt: null },
      consumerGroups: [{ name: 'g', group: 'g', consumed: true, leaseExpiresAt: null }],
    });
  });

  it('of a dead letter says why', async () => {
    const { partitionId } = await putAside(broker, { queue: 'dead', transactionId: 't' }, { error: 'why' });
    expect((await detail(partitionId, 't')).body).toMatchObject({
      ...{ status: 'dead_letter', errorMessage: 'why', retryCount: 0, payloadAvailable: true },
      consumerGroups: [{ name: 'g', consumed: true }],
    });
  });

  it('of what is not there is a 404', async () => {
    expect(await detail(NIL, 't')).toMatchObject({
      status: 404,
      body: { error: 'Message not found', code: 'message_not_found' },
    });
  });

  it('refuses a partitionId that is none, and an id that no message can have', async () => {
    const refused = (error: string) => ({ status: 400, body: { error, code: 'bad_parameter' } });
    expect(await detail('p', 't')).toMatchObject(refused('partitionId must be a uuid'));
    expect(await detail(NIL, 'a\0')).toMatchObject(refused('transactionId must not contain U+0000'));
  });

  it('of a damaged segment is a 500 that says so', async () => {
    await broker.push([{ queue: 'damaged detail', partition: 'p', transactionId: 't', payload: 1 }]);
    const { partitionId } = (await broker.pop(partitionPath('damaged detail', 'p'), { autoAck: true })).body;
    await broker.database.query(
      'update queen.log_segments set blob = substr(blob, 1, 20) where partition_id = $1',
      [partitionId],
    );
    expect(await detail(partitionId, 't')).toMatchObject({ status: 500, body: { code: 'segment_damaged' } });
  });
});
