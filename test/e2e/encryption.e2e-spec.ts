import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { openEnvelope, sealPayload } from '../../src/encryption/envelope.js';
import type { Frame } from '../../src/segment/frame.js';
import { decodeSegment } from '../../src/segment/segment.js';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { listLetters, putAside } from '../support/dead-letters.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(60_000);

const KEY = '00112233445566778899aabbccddeeff'.repeat(2);
const KEY_BYTES = Buffer.from(KEY, 'hex');
/** What JSON.parse and stringify would not give back. */
const RAW = '{"secret": 1.0, "big":12345678901234567890, "a":1,"a":"☃"}';
const SECRET = { secret: 'whisper' };

let broker: TestBroker;
let withoutKey: TestBroker;
let otherKey: TestBroker;
beforeAll(async () => {
  broker = await startBroker({ QUEEN_ENCRYPTION_KEY: KEY });
  withoutKey = await startBroker({ database: broker.database });
  otherKey = await startBroker({ database: broker.database, QUEEN_ENCRYPTION_KEY: 'f'.repeat(64) });
});
afterAll(async () => {
  await otherKey.stop();
  await withoutKey.stop();
  await broker.stop();
});

const encrypted = (queue: string) => broker.configure(queue, { encryptionEnabled: true });
const pushRaw = (queue: string, raw: string) =>
  broker.post('/api/v1/push', `{"items":[{"queue":"${queue}","partition":"p","payload":${raw}}]}`);
const take = (queue: string, from = broker) =>
  from.pop(queuePath(queue), { autoAck: true, consumerGroup: 'g', batch: 1000 });

/** Every message of a queue as it stands in the database. */
async function stored(queue: string): Promise<Frame[]> {
  const { rows } = await broker.database.query<{ blob: Buffer; count: number }>(
    `select s.blob, (s.end_offset - s.base_offset + 1)::int as count
       from queen.log_segments s
       join queen.log_partitions p on p.id = s.partition_id
       join queen.queues q on q.id = p.queue_id
      where q.name = $1 order by p.name, s.base_offset`,
    [queue],
  );
  return rows.flatMap(({ blob, count }) => [...decodeSegment(blob, count).frames()]);
}

describe('an encrypted queue', () => {
  it('keeps payloads as envelopes, and gives them back byte for byte', async () => {
    await encrypted('bytes');
    expect((await pushRaw('bytes', RAW)).status).toBe(201);
    const [frame] = await stored('bytes');
    expect(frame.encrypted).toBe(true);
    expect(Object.keys(JSON.parse(frame.payload.toString()) as object)).toEqual([
      'encrypted',
      'iv',
      'authTag',
    ]);
    expect(openEnvelope(KEY_BYTES, frame.payload)?.toString()).toBe(RAW);
    expect((await take('bytes')).text).toContain(`"data":${RAW},`);
  });

  it('is one from the answer of configure on, and other queues are not', async () => {
    await broker.push([{ queue: 'turned', payload: 'before' }]);
    await encrypted('turned');
    await broker.push([
      { queue: 'turned', payload: SECRET },
      { queue: 'plain', payload: SECRET },
    ]);
    await broker.configure('turned', { encryptionEnabled: false });
    await broker.push([{ queue: 'turned', payload: 'after' }]);
    expect((await stored('turned')).map((frame) => frame.encrypted)).toEqual([false, true, false]);
    expect((await stored('plain')).map(({ payload }) => payload.toString())).toEqual([
      JSON.stringify(SECRET),
    ]);
    const { messages } = (await take('turned')).body;
    expect(messages.map(({ data }) => data)).toEqual(['before', SECRET, 'after']);
  });

  it('deleted and made anew is not one any more', async () => {
    await encrypted('anew');
    await broker.del('/api/v1/resources/queues/anew');
    await broker.push([{ queue: 'anew', payload: SECRET }]);
    expect((await stored('anew')).map((frame) => frame.encrypted)).toEqual([false]);
  });

  it('is one on the other brokers within a second or so', async () => {
    await encrypted('elsewhere');
    let count = 0;
    await waitFor(
      async () => {
        await otherKey.push([{ queue: 'elsewhere', payload: SECRET }]);
        count += 1;
        return (await stored('elsewhere')).at(-1)!.encrypted;
      },
      { within: 5000, what: 'the other broker to encrypt' },
    );
    expect(await stored('elsewhere')).toHaveLength(count);
  });

  it('knows duplicates by their transactionId as before', async () => {
    await encrypted('twice');
    const item = { queue: 'twice', transactionId: 't', payload: SECRET };
    const answers = [await broker.push([item, item]), await broker.push([item])];
    const statuses = answers.flatMap(({ body }) =>
      (body as { status: string }[]).map(({ status }) => status),
    );
    expect(statuses).toEqual(['queued', 'duplicate', 'duplicate']);
    expect((await take('twice')).body.messages.map(({ data }) => data)).toEqual([SECRET]);
  });

  it('takes many and large payloads in one push', async () => {
    await encrypted('many');
    const payloads = [...Array.from({ length: 500 }, (_, n) => `${n}`), 'x'.repeat(3_000_000), null];
    await broker.push(payloads.map((payload) => ({ queue: 'many', partition: 'p', payload })));
    const { messages } = (await take('many')).body;
    expect(messages.map(({ data }) => data)).toEqual(payloads);
    expect((await stored('many')).every((frame) => frame.encrypted)).toBe(true);
  });

  it('encrypts what a transaction pushes, too', async () => {
    await encrypted('tx');
    const push = (queue: string) => ({ type: 'push', queue, partition: 'p', payload: SECRET });
    const answer = await broker.post('/api/v1/transaction', { operations: [push('tx'), push('tx.plain')] });
    expect(answer.body).toMatchObject({ success: true });
    expect((await stored('tx')).map((frame) => frame.encrypted)).toEqual([true]);
    expect((await stored('tx.plain')).map((frame) => frame.encrypted)).toEqual([false]);
    const popped = await broker.pop(partitionPath('tx', 'p'), { autoAck: true });
    expect(popped.body.messages.map(({ data }) => data)).toEqual([SECRET]);
  });

  it('shows its messages to people as they were pushed, and that they are stored encrypted', async () => {
    await encrypted('shown');
    await broker.push([{ queue: 'shown', partition: 'p', transactionId: 't', payload: SECRET }]);
    const list = await broker.get('/api/v1/messages?queue=shown');
    const [message] = (list.body as { messages: Record<string, unknown>[] }).messages;
    expect(message).toMatchObject({ data: SECRET, payload: SECRET, isEncrypted: true });
    const detail = await broker.get(`/api/v1/messages/${message.partitionId as string}/t`);
    expect(detail.body).toMatchObject({ data: SECRET, payload: SECRET, isEncrypted: true });
  });
});

describe('a dead letter', () => {
  const lettersOf = async (queue: string) =>
    (
      await broker.database.query<{ payload: string; encrypted: boolean }>(
        `select d.payload, d.encrypted from queen.log_dlq d
           join queen.log_partitions p on p.id = d.partition_id
           join queen.queues q on q.id = p.queue_id where q.name = $1`,
        [queue],
      )
    ).rows;

  it('of an encrypted queue stays encrypted where it lies, and on its way back', async () => {
    await encrypted('dead');
    const letter = await putAside(broker, { queue: 'dead', payload: SECRET });
    expect(letter).toMatchObject({ data: SECRET, isEncrypted: true });
    const [{ payload, encrypted: isMarked }] = await lettersOf('dead');
    expect([isMarked, payload.includes('whisper')]).toEqual([true, false]);
    expect((await listLetters(withoutKey, { queue: 'dead' })).body.messages[0]).toMatchObject({
      data: JSON.parse(payload) as object,
      isEncrypted: true,
    });

    expect((await broker.post(`/api/v1/dlq/${letter.id}/replay`)).status).toBe(200);
    const [, again] = await stored('dead');
    expect([again.encrypted, again.payload.toString()]).toEqual([true, payload]);
    expect((await take('dead')).body.messages.map(({ data }) => data)).toEqual([SECRET]);
  });

  it('of a plain queue is encrypted when it goes into an encrypted one', async () => {
    await encrypted('vault');
    const letter = await putAside(broker, { queue: 'open', payload: SECRET });
    expect((await lettersOf('open'))[0].encrypted).toBe(false);
    await broker.post(`/api/v1/dlq/${letter.id}/replay`, { queue: 'vault' });
    const [frame] = await stored('vault');
    expect([frame.encrypted, frame.payload.includes('whisper')]).toEqual([true, false]);
    expect((await take('vault')).body.messages.map(({ data }) => data)).toEqual([SECRET]);
  });
});

describe('without the right key', () => {
  it('envelopes are served as they are, and can be acked', async () => {
    await encrypted('sealed');
    await broker.push([{ queue: 'sealed', partition: 'p', payload: SECRET }]);
    const [frame] = await stored('sealed');
    const envelope: unknown = JSON.parse(frame.payload.toString());
    const unreadable = async () =>
      (await (await fetch(`${withoutKey.base}/metrics/prometheus`)).text()).match(
        /^queen_encryption_unreadable_total (\d+)$/m,
      )?.[1];
    const before = Number(await unreadable());
    for (const [group, other] of [
      ['none', withoutKey],
      ['wrong', otherKey],
    ] as const) {
      const popped = await other.pop(queuePath('sealed'), { consumerGroup: group });
      expect(popped.body.messages.map(({ data }) => data)).toEqual([envelope]);
      expect((await other.ackBatch(acksFor(popped.body.messages))).body).toMatchObject([{ success: true }]);
    }
    expect(Number(await unreadable()) - before).toBe(1);
  });

  it('payloads are stored as they are: never an error', async () => {
    await encrypted('no key');
    expect((await withoutKey.push([{ queue: 'no key', payload: SECRET }])).status).toBe(201);
    const [frame] = await stored('no key');
    expect([frame.encrypted, frame.payload.toString()]).toEqual([false, JSON.stringify(SECRET)]);
    expect((await take('no key')).body.messages.map(({ data }) => data)).toEqual([SECRET]);
  });
});

it('an envelope that carries no mark is known by its shape', async () => {
  await pushRaw('unmarked', sealPayload(KEY_BYTES, Buffer.from(RAW)).toString());
  const lookalike = '{"encrypted":"AA==","iv":"AA==","authTag":"AA=="}';
  await pushRaw('unmarked', lookalike);
  expect((await stored('unmarked')).map((frame) => frame.encrypted)).toEqual([false, false]);
  const { text } = await take('unmarked');
  expect(text).toContain(`"data":${RAW},`);
  expect(text).toContain(`"data":${lookalike},`);
});

it('what waits on disk is encrypted as well', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'queen-nest-encryption-'));
  await encrypted('spooled');
  const spooling = await startBroker({
    database: broker.database,
    QUEEN_ENCRYPTION_KEY: KEY,
    FILE_BUFFER_DIR: directory,
  });
  try {
    await spooling.post('/api/v1/system/maintenance', { enabled: true });
    const pushed = await spooling.push([{ queue: 'spooled', payload: SECRET, transactionId: 'known' }]);
    expect(pushed.body).toMatchObject([{ status: 'buffered' }]);
    const files = await readdir(directory, { recursive: true, withFileTypes: true });
    const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
    const onDisk = Buffer.concat(await Promise.all(paths.map((path) => readFile(path)))).toString('latin1');
    expect(onDisk).toContain('known');
    expect(onDisk).not.toContain('whisper');

    await spooling.post('/api/v1/system/maintenance', { enabled: false });
    await waitFor(async () => (await stored('spooled')).length === 1, {
      within: 10_000,
      what: 'the spool to be stored',
    });
    expect((await stored('spooled')).map((frame) => frame.encrypted)).toEqual([true]);
    expect((await take('spooled')).body.messages.map(({ data }) => data)).toEqual([SECRET]);
  } finally {
    await spooling.stop();
    await rm(directory, { recursive: true, force: true });
  }
});
