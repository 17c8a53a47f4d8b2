import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type Message,
  type TestBroker,
} from '../support/broker.js';
import { candidatePaths } from '../support/candidate-paths.js';
import { listLetters, putAside, type DeadLetter } from '../support/dead-letters.js';
import { inTurn, numbered } from '../support/make.js';

interface Progress {
  success: boolean;
  processed: number;
  moved: number;
  gone: number;
  duplicate: number;
  empty: number;
  remaining: number;
  next: string | null;
  done: boolean;
  stopped?: { error: string; code: string };
}

describe.each(candidatePaths)('a replay, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  const replay = ({ id }: DeadLetter, body?: unknown) => broker.post(`/api/v1/dlq/${id}/replay`, body);
  const pop = async (queue: string, partition = 'p') =>
    (await broker.pop(partitionPath(queue, partition), { consumerGroup: 'g' })).body?.messages ?? [];

  it('goes to the tail, and is marked by its transactionId (field case A13)', async () => {
    const letter = await putAside(broker, { queue: 'tail', transactionId: 't1', payload: 'poison' });
    await broker.push([{ queue: 'tail', partition: 'p', transactionId: 't2', payload: 'later' }]);
    expect((await replay(letter)).status).toBe(200);
    const messages = await pop('tail');
    expect(messages.map(({ transactionId, data }) => [transactionId, data])).toEqual([
      ['t2', 'later'],
      [`dlq:${letter.id}`, 'poison'],
    ]);
    expect(messages[1].id).not.toBe(letter.messageId);
    // It can be acknowledged under that id like any other message.
    expect((await broker.ackBatch(acksFor(messages))).body).toMatchObject([
      { success: true },
      { success: true },
    ]);
  });

  it('is seen by the very next pop across the queue, and wakes one that waits', async () => {
    const first = await putAside(broker, { queue: 'woken', partition: 'a' });
    const second = await putAside(broker, { queue: 'woken', partition: 'b' });
    await replay(first);
    const seen = await broker.pop(queuePath('woken'), { consumerGroup: 'g', autoAck: true, partitions: 10 });
    expect(seen.body.messages.map(({ partition }) => partition)).toEqual(['a']);
    const waiting = broker.pop(queuePath('woken'), { consumerGroup: 'g', wait: true, timeout: 20_000 });
    await replay(second);
    expect((await waiting).body.messages.map(({ partition }) => partition)).toEqual(['b']);
  });

  it('inside the dedup window is not swallowed, and the id of the original stays taken (field case A14)', async () => {
    const item = { queue: 'window', partition: 'p', transactionId: 'x', payload: 1 };
    await broker.configure('window', { dedupWindowSeconds: 60 });
    const letter = await putAside(broker, item);
    expect((await replay(letter)).body).toMatchObject({ replayedAs: { status: 'queued' } });
    expect((await broker.push([item])).body).toMatchObject([
      { status: 'duplicate', message_id: letter.messageId },
    ]);
    const messages = await pop('window');
    expect(messages.map(({ transactionId }) => transactionId)).toEqual([`dlq:${letter.id}`]);

    // And once more: dead again, it is another letter with another id.
    await broker.ackBatch(acksFor(messages, 'dlq'));
    const [again] = (await listLetters(broker, { queue: 'window' })).body.messages;
    expect(again.transactionId).toBe(`dlq:${letter.id}`);
    expect((await replay(again)).body).toMatchObject({ replayedAs: { status: 'queued' } });
  });

  it('may go to another queue, which is made when it is missing, or to another partition', async () => {
    const first = await putAside(broker, { queue: 'source', payload: 1 });
    expect((await replay(first, { queue: 'new/queue ü' })).body).toMatchObject({ queue: 'new/queue ü' });
    expect((await pop('new/queue ü')).map(({ data }) => data)).toEqual([1]);
    const second = await putAside(broker, { queue: 'source', payload: 2 });
    const answer = await replay(second, { queue: null, partition: 'q' });
    expect(answer.body).toMatchObject({ queue: 'source', partition: 'q' });
    expect((await pop('source', 'q')).map(({ data }) => data)).toEqual([2]);
  });

  it('pressed twice, or by two at once, makes one message', async () => {
    const letter = await putAside(broker, { queue: 'double' });
    const answers = await Promise.all(Array.from({ length: 8 }, () => replay(letter)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(404)]);
    expect(await pop('double')).toHaveLength(1);
  });

  it('keeps the letter that another group has of the message', async () => {
    const item = { queue: 'groups', transactionId: 't' };
    const first = await putAside(broker, item, { group: 'g' });
    await putAside(broker, item, { group: 'h' });
    await replay(first);
    expect((await listLetters(broker, { queue: 'groups' })).body.messages).toMatchObject([
      { consumerGroup: 'h' },
    ]);
  });

  it('keeps headers and trace id', async () => {
    const headers = {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      b: '',
      a: '\u2603',
    };
    const traceId = '4bf92f35-77b3-4da6-a3ce-929d0e0e4736';
    const letter = await putAside(broker, { queue: 'headers', headers, traceId });
    expect(letter).toMatchObject({ headers, traceId });
    await replay(letter);
    const [message] = (await pop('headers')) as (Message & { headers?: unknown })[];
    expect(message).toMatchObject({ headers, traceId });
  });

  it('keeps an encrypted payload encrypted, and the mark that it is', async () => {
    const letter = await putAside(broker, {
      queue: 'sealed',
      payload: { encrypted: 'AA==', iv: 'AA==', authTag: 'AA==' },
    });
    await broker.database.query('update queen.log_dlq set encrypted = true where id = $1', [letter.id]);
    const [listed] = (await listLetters(broker, { queue: 'sealed' })).body.messages;
    expect(listed.isEncrypted).toBe(true);
    await replay(letter);
    await broker.ackBatch(acksFor(await pop('sealed'), 'dlq'));
    const [again] = (await listLetters(broker, { queue: 'sealed' })).body.messages;
    expect(again).toMatchObject({ isEncrypted: true, data: letter.data, transactionId: `dlq:${letter.id}` });
  });

  it('by address takes the newest letter', async () => {
    const item = { queue: 'by address', transactionId: 'a b/ü?#' };
    await putAside(broker, item, { group: 'g' });
    const newest = await putAside(broker, item, { group: 'h' });
    const path = `/api/v1/messages/${newest.partitionId}/${encodeURIComponent(item.transactionId)}/retry`;
    expect((await broker.post(path)).body).toMatchObject({
      replayedAs: { transaction_id: `dlq:${newest.id}` },
    });
    expect((await broker.post(path, {})).status).toBe(200);
    expect((await broker.post(path)).status).toBe(404);
    expect(await pop('by address')).toHaveLength(2);
  });
});

describe('a replay is a push like any other', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  const replay = ({ id }: DeadLetter) => broker.post(`/api/v1/dlq/${id}/replay`);

  it('waits for the end of push maintenance, and nothing is lost', async () => {
    const letter = await putAside(broker, { queue: 'maintained' });
    const refused = { status: 503, body: { success: false, code: 'push_maintenance' } };
    const set = `insert into queen.system_state (key, value) values ('maintenance_mode', $1)
      on conflict (key) do update set value = excluded.value`;
    await broker.database.query(set, ['{"enabled":true}']);
    const answer = await replay(letter);
    expect(answer).toMatchObject(refused);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await broker.post('/api/v1/dlq/replay', { queue: 'maintained' })).toMatchObject(refused);
    await broker.database.query(set, ['{"enabled":false}']);
    expect((await replay(letter)).status).toBe(200);
  });

  it('is not let into a queue that is paused for pushes', async () => {
    const letter = await putAside(broker, { queue: 'paused' });
    expect((await broker.post('/api/v1/resources/queues/paused/pause', { pushes: true })).status).toBe(200);
    expect(await replay(letter)).toMatchObject({ status: 429, body: { code: 'queue_paused' } });
    await broker.post('/api/v1/resources/queues/paused/resume', {});
    expect((await replay(letter)).status).toBe(200);
  });

  it('is not let into a queue that is full', async () => {
    const letter = await putAside(broker, { queue: 'full' });
    await broker.push([{ queue: 'full', partition: 'p', payload: 1 }]);
    await broker.configure('full', { maxSize: 1 });
    expect(await replay(letter)).toMatchObject({ status: 429, body: { code: 'too_many_messages' } });
    await broker.configure('full', { maxSize: 2 });
    expect((await replay(letter)).status).toBe(200);
  });
});

describe('replaying many', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  const replayMany = async (body: Record<string, unknown>) =>
    (await broker.post('/api/v1/dlq/replay', body)).body as Progress;

  /** As many letters in one partition, in the order of their payloads. */
  async function putAsideMany(queue: string, count: number): Promise<void> {
    await broker.push(
      numbered('t', count).map((transactionId, n) => ({ queue, partition: 'p', transactionId, payload: n })),
    );
    for (let n = 0; n < count; n++) {
      const { body } = await broker.pop(partitionPath(queue, 'p'), { consumerGroup: 'g', batch: 1 });
      await broker.ackBatch(acksFor(body.messages, 'dlq'));
    }
  }

  const payloads = async (queue: string) => {
    const { body } = await broker.pop(partitionPath(queue, 'p'), { consumerGroup: 'check', autoAck: true });
    return body.messages
      .filter(({ transactionId }) => transactionId.startsWith('dlq:'))
      .map(({ data }) => data);
  };

  it('goes on where the call before ended, in the order of failure, until nothing remains', async () => {
    await putAsideMany('steps', 7);
    const seen: Progress[] = [];
    for (let next: string | null = null; seen.length === 0 || next !== null;) {
      const progress = await replayMany({ queue: 'steps', limit: 3, ...(next === null ? {} : { next }) });
      seen.push(progress);
      next = progress.next;
    }
    expect(seen.map(({ processed, moved, remaining, done }) => [processed, moved, remaining, done])).toEqual([
      [3, 3, 4, false],
      [3, 3, 1, false],
      [1, 1, 0, true],
    ]);
    expect(await payloads('steps')).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('steps over what cannot be moved, and says how many', async () => {
    await putAsideMany('mixed', 3);
    const { messages } = (await listLetters(broker, { queue: 'mixed' })).body;
    await broker.database.query('update queen.log_dlq set payload = null where id = $1', [messages[1].id]);
    await broker.push([
      { queue: 'mixed', partition: 'p', transactionId: `dlq:${messages[0].id}`, payload: 9 },
    ]);
    expect(await replayMany({ queue: 'mixed' })).toEqual({
      ...{ success: true, dryRun: false, processed: 3, moved: 1, gone: 0, duplicate: 1, empty: 1 },
      ...{ remaining: 0, next: null, done: true },
    });
    expect((await listLetters(broker, { queue: 'mixed' })).body.total).toBe(2);
  });

  it('leaves alone what failed after the first call', async () => {
    await putAsideMany('meanwhile', 2);
    const { next } = await replayMany({ queue: 'meanwhile', limit: 1 });
    // The message that was just replayed fails again.
    const popped = await broker.pop(partitionPath('meanwhile', 'p'), { consumerGroup: 'g', batch: 1 });
    await broker.ackBatch(acksFor(popped.body.messages, 'dlq'));
    expect(await replayMany({ queue: 'meanwhile', next })).toMatchObject({
      processed: 1,
      remaining: 0,
      next: null,
    });
    expect((await listLetters(broker, { queue: 'meanwhile' })).body.total).toBe(1);
  });

  it('by two at once moves each letter once', async () => {
    await putAsideMany('at once', 10);
    const both = await Promise.all([1, 2].map(() => replayMany({ queue: 'at once' })));
    expect(both[0].moved + both[1].moved).toBe(10);
    expect(both.every(({ success, processed, moved, gone }) => success && processed === moved + gone)).toBe(
      true,
    );
    expect(new Set(await payloads('at once')).size).toBe(10);
  });

  it('to another queue, of one group and time', async () => {
    await putAside(broker, { queue: 'chosen', payload: 'of g' }, { group: 'g' });
    await putAside(broker, { queue: 'chosen', payload: 'of h', partition: 'q' }, { group: 'h' });
    const from = '2020-01-01';
    expect(await replayMany({ consumerGroup: 'h', from, to: '2021-01-01' })).toMatchObject({
      processed: 0,
      done: true,
    });
    const target = { queue: 'chosen elsewhere', partition: 'p' };
    expect(await replayMany({ consumerGroup: 'h', from, target })).toMatchObject({ moved: 1 });
    expect(await payloads('chosen elsewhere')).toEqual(['of h']);
  });

  it('of everything has to be meant', async () => {
    expect(await replayMany({})).toMatchObject({ code: 'filter_required' });
    expect((await replayMany({ all: true })).moved).toBeGreaterThan(0);
  });

  it('that breaks off tells what was done and where to go on', async () => {
    await putAsideMany('broken', 3);
    const { messages } = (await listLetters(broker, { queue: 'broken' })).body;
    await broker.database.query(`
      create function queen.refuse_second() returns trigger language plpgsql as $$
      begin
        if old.id = '${messages[1].id}' then raise exception 'no' using errcode = 'P0001'; end if;
        return old;
      end $$;
      create trigger refuse_second before delete on queen.log_dlq
        for each row execute function queen.refuse_second()`);
    const broken = await replayMany({ queue: 'broken' });
    expect(broken).toMatchObject({
      ...{ success: false, processed: 1, moved: 1, remaining: 2, done: false },
      stopped: { code: 'sql_failed', error: expect.any(String) },
    });
    await broker.database.query('drop trigger refuse_second on queen.log_dlq');
    expect(await replayMany({ queue: 'broken', next: broken.next })).toMatchObject({ moved: 2, done: true });
    expect(await payloads('broken')).toEqual([0, 1, 2]);
  });
});

it('another broker sees a replay', async () => {
  const one = await startBroker();
  const two = await startBroker({ database: one.database });
  try {
    const letters = await inTurn([1, 2], (n) => putAside(one, { queue: 'shared', payload: n }));
    await one.post(`/api/v1/dlq/${letters[0].id}/replay`);
    await two.post(`/api/v1/dlq/${letters[1].id}/replay`);
    const { body } = await two.pop(partitionPath('shared', 'p'), { consumerGroup: 'g' });
    expect(body.messages.map(({ data }) => data)).toEqual([1, 2]);
  } finally {
    await two.stop();
    await one.stop();
  }
});
