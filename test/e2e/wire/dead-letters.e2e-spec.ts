import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../../support/broker.js';
import { listLetters, putAside } from '../../support/dead-letters.js';

/** The exact shapes that clients of the dead-letter routes read; a key with another name fails here. */
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const millis = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const NIL = '00000000-0000-0000-0000-000000000000';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const encoded = encodeURIComponent;
const address = (partitionId: string, transactionId: string) =>
  `/api/v1/messages/${partitionId}/${encoded(transactionId)}`;

describe('GET /api/v1/dlq', () => {
  it('has the keys of a dead letter, the page and its length', async () => {
    const traceId = '01890000-0000-7000-8000-000000000009';
    const letter = await putAside(
      broker,
      { queue: 'shape', transactionId: 't1', payload: { a: [1] }, traceId, headers: { h: '1' } },
      { group: 'g1', error: 'boom' },
    );
    const { status, headers, body } = await listLetters(broker, { queue: 'shape' });
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(body).toEqual({
      messages: [
        {
          ...{ id: uuid, transactionId: 't1', partitionId: uuid, queue: 'shape', partition: 'p' },
          ...{ consumerGroup: 'g1', errorMessage: 'boom', retryCount: 0, data: { a: [1] } },
          ...{ producerSub: null, createdAt: millis, failedAt: millis, messageId: uuid, offset: 0, traceId },
          headers: { h: '1' },
        },
      ],
      pagination: { limit: 100, offset: 0 },
      total: 1,
    });
    expect(letter.createdAt).toBe(letter.failedAt);
  });

  it('is empty without an error where there is nothing', async () => {
    const { status, body } = await listLetters(broker, { queue: 'nowhere' });
    expect(status).toBe(200);
    expect(body).toEqual({ messages: [], pagination: { limit: 100, offset: 0 }, total: 0 });
  });

  it('names queue mode by its word, and counts spent retries', async () => {
    await broker.configure('spent', { retryLimit: 1 });
    await broker.push([{ queue: 'spent', payload: 1 }]);
    for (let failure = 0; failure < 2; failure++) {
      const { body } = await broker.pop(queuePath('spent'));
      await broker.ackBatch(acksFor(body.messages, 'failed', `failure ${failure}`));
    }
    const { body } = await listLetters(broker, { queue: 'spent', consumerGroup: '__QUEUE_MODE__' });
    expect(body.messages).toMatchObject([
      { consumerGroup: '__QUEUE_MODE__', errorMessage: 'failure 1', retryCount: 1 },
    ]);
    expect(body.messages[0]).not.toHaveProperty('headers');
    expect(body.messages[0]).not.toHaveProperty('isEncrypted');
  });

  it('of a message nobody could read has no data, and says so', async () => {
    await broker.push([{ queue: 'unreadable', partition: 'p', transactionId: 't', payload: 1 }]);
    const { body } = await broker.pop(partitionPath('unreadable', 'p'), { consumerGroup: 'g' });
    await broker.database.query(
      `update queen.log_segments set blob = substr(blob, 1, 20) where partition_id = $1`,
      [body.partitionId],
    );
    await broker.ackBatch(acksFor(body.messages, 'dlq'));
    const { messages } = (await listLetters(broker, { queue: 'unreadable' })).body;
    expect(messages).toMatchObject([
      { transactionId: 't', messageId: null, data: null, payloadAvailable: false },
    ]);
    expect(await broker.post(`/api/v1/dlq/${messages[0].id}/replay`)).toMatchObject({
      status: 409,
      body: {
        ...{ success: false, error: expect.stringMatching(/no payload/), code: 'dead_letter_empty' },
        ...{ dlqRowRemoved: false, pushResult: null },
      },
    });
  });
});

describe('POST /api/v1/dlq/:id/replay', () => {
  it('answers with the push it made', async () => {
    const { id } = await putAside(broker, { queue: 'replayed' });
    const { status, body } = await broker.post(`/api/v1/dlq/${id.toUpperCase()}/replay`);
    expect(status).toBe(200);
    expect(body).toEqual({
      ...{ success: true, id, queue: 'replayed', partition: 'p' },
      replayedAs: {
        index: 0,
        message_id: uuid,
        transaction_id: `dlq:${id}`,
        queueName: 'replayed',
        status: 'queued',
      },
      dlqRowRemoved: true,
    });
    expect((await listLetters(broker, { queue: 'replayed' })).body.total).toBe(0);
  });

  it('of what is not there is a 404', async () => {
    expect(await broker.post(`/api/v1/dlq/${NIL}/replay`, {})).toMatchObject({
      status: 404,
      body: { success: false, error: 'Dead letter not found', code: 'dead_letter_not_found' },
    });
  });

  it('under an id that a client took is a 409, and the letter stays', async () => {
    const { id } = await putAside(broker, { queue: 'taken' });
    await broker.push([{ queue: 'taken', partition: 'p', transactionId: `dlq:${id}`, payload: 2 }]);
    expect(await broker.post(`/api/v1/dlq/${id}/replay`)).toMatchObject({
      status: 409,
      body: {
        ...{ success: false, error: expect.any(String), code: 'replay_duplicate', dlqRowRemoved: false },
        pushResult: { status: 'duplicate' },
      },
    });
    expect((await listLetters(broker, { queue: 'taken' })).body.total).toBe(1);
  });

  it.each([
    ['an id that is none', '/api/v1/dlq/1/replay', undefined, 'bad_parameter', /^id must be a uuid/],
    ['a body that is no object', `/api/v1/dlq/${NIL}/replay`, [], 'bad_body', /expected an object/],
    ['a body that is no JSON', `/api/v1/dlq/${NIL}/replay`, '{', 'bad_body', /not JSON/],
    [
      'a queue that is no text',
      `/api/v1/dlq/${NIL}/replay`,
      { queue: 1 },
      'bad_body',
      /queue must be a string/,
    ],
    ['a name that no queue can have', `/api/v1/dlq/${NIL}/replay`, { queue: '' }, 'bad_name', /empty/],
    [
      'a key it does not know',
      `/api/v1/dlq/${NIL}/replay`,
      { topic: 'x' },
      'bad_body',
      /"topic" is not known/,
    ],
  ])('refuses %s', async (_, path, body, code, error) => {
    expect(await broker.post(path, body)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(error), code },
    });
  });
});

describe('POST /api/v1/messages/:partitionId/:transactionId/retry', () => {
  it('answers with the push it made', async () => {
    const { id, partitionId } = await putAside(broker, { queue: 'retried', transactionId: 'a/b %' });
    const { status, body } = await broker.post(`${address(partitionId, 'a/b %')}/retry`);
    expect(status).toBe(200);
    expect(body).toEqual({
      ...{ success: true, id, queue: 'retried', partition: 'p' },
      replayedAs: {
        index: 0,
        message_id: uuid,
        transaction_id: `dlq:${id}`,
        queueName: 'retried',
        status: 'queued',
      },
      dlqRowRemoved: true,
    });
  });

  it('of what is not there is a 404', async () => {
    expect(await broker.post(`${address(NIL, 't')}/retry`, {})).toMatchObject({
      status: 404,
      body: {
        ...{ success: false, partitionId: NIL, transactionId: 't' },
        ...{ error: 'Message not found', message: expect.any(String), code: 'message_not_found' },
      },
    });
  });
});

describe('DELETE /api/v1/messages/:partitionId/:transactionId', () => {
  it('removes the dead letters of the address', async () => {
    const { partitionId } = await putAside(broker, { queue: 'removed', transactionId: 't' });
    const { status, body } = await broker.del(address(partitionId, 't'));
    expect(status).toBe(200);
    expect(body).toEqual({
      ...{ success: true, partitionId, transactionId: 't', message: 'Message deleted successfully' },
    });
    expect((await listLetters(broker, { queue: 'removed' })).body.total).toBe(0);
    expect(await broker.del(address(partitionId, 't'))).toMatchObject({
      status: 404,
      body: {
        ...{ success: false, partitionId, transactionId: 't', error: 'Message not found' },
        ...{ message: expect.any(String), code: 'message_not_found' },
      },
    });
  });

  it('refuses a partitionId that is none', async () => {
    expect(await broker.del(address('p', 't'))).toMatchObject({
      status: 400,
      body: { error: 'partitionId must be a uuid', code: 'bad_parameter' },
    });
  });
});

describe('DELETE /api/v1/dlq', () => {
  it('deletes by filter, or says what it would', async () => {
    await putAside(broker, { queue: 'purged', partition: 'p1' });
    await putAside(broker, { queue: 'purged', partition: 'p2' });
    expect(await broker.del('/api/v1/dlq?queue=purged&dryRun=true')).toMatchObject({
      status: 200,
      body: { success: true, dryRun: true, matched: 2, deleted: 0 },
    });
    const { status, body } = await broker.del('/api/v1/dlq?queue=purged&partition=p1');
    expect([status, body]).toEqual([200, { success: true, dryRun: false, deleted: 1 }]);
    expect((await listLetters(broker, { queue: 'purged' })).body.messages).toMatchObject([
      { partition: 'p2' },
    ]);
  });

  it.each([
    ['without a filter', '', 'filter_required', /all=true/],
    ['with a filter that has no value', '?queue=', 'filter_required', /all=true/],
    ['with a misspelt filter', '?queue=a&group=b', 'bad_parameter', /"group" is no parameter/],
    ['with a time that is none', '?from=now', 'bad_parameter', /from must be an ISO 8601 time/],
  ])('%s deletes nothing', async (_, query, code, error) => {
    expect(await broker.del(`/api/v1/dlq${query}`)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(error), code },
    });
    expect((await listLetters(broker, { queue: 'taken' })).body.total).toBe(1);
  });
});

describe('POST /api/v1/dlq/replay', () => {
  it('says what it would do', async () => {
    await putAside(broker, { queue: 'bulk' });
    const { status, body } = await broker.post('/api/v1/dlq/replay', { queue: 'bulk', dryRun: true });
    expect([status, body]).toEqual([
      200,
      {
        ...{ success: true, dryRun: true, matched: 1, replayable: 1 },
        ...{ oldestFailedAt: millis, newestFailedAt: millis },
      },
    ]);
  });

  it('says what it did', async () => {
    const { status, body } = await broker.post('/api/v1/dlq/replay', { queue: 'bulk', consumerGroup: null });
    expect([status, body]).toEqual([
      200,
      {
        ...{ success: true, dryRun: false, processed: 1, moved: 1, gone: 0, duplicate: 0, empty: 0 },
        ...{ remaining: 0, next: null, done: true },
      },
    ]);
    expect((await broker.post('/api/v1/dlq/replay', { queue: 'bulk', dryRun: true })).body).toEqual({
      ...{ success: true, dryRun: true, matched: 0, replayable: 0 },
      ...{ oldestFailedAt: null, newestFailedAt: null },
    });
  });

  it.each([
    ['no body', undefined, 'bad_body', /the body is empty/],
    ['no filter', {}, 'filter_required', /all=true/],
    ['a misspelt filter', { queue: 'a', group: 'b' }, 'bad_body', /"group" is not known here/],
    ['a limit of nothing', { queue: 'a', limit: 0 }, 'bad_body', /limit must not be less than 1/],
    ['a limit that is no number', { queue: 'a', limit: '10' }, 'bad_body', /limit must be an integer/],
    ['a time that is none', { from: 'now' }, 'bad_parameter', /from must be an ISO 8601 time/],
    ['a cursor that is none', { queue: 'a', next: 'x' }, 'bad_parameter', /next must be/],
    ['a target that is none', { queue: 'a', target: 'b' }, 'bad_body', /target must be an object/],
    ['a target nobody can reach', { queue: 'a', target: { queue: '..' } }, 'bad_name', /queue must not be/],
    ['__proto__', '{"queue":"a","__proto__":{}}', 'bad_body', /"__proto__" is not known here/],
  ])('refuses %s', async (_, body, code, error) => {
    expect(await broker.post('/api/v1/dlq/replay', body)).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(error), code },
    });
  });
});
