import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { formatBrokerPid } from '../../src/base/process-lock/broker-lock.js';
import { DEFAULT_TENANT } from '../../src/base/names/names.js';
import { mintUuid } from '../../src/segment/uuid-v7.js';
import { encodeRecord } from '../../src/spool/spool-record.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { queuePath, startBroker, type BrokerSettings, type TestBroker } from '../support/broker.js';
import { numbered } from '../support/make.js';
import { startOwnPostgres, type OwnPostgres } from '../support/own-postgres.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(120_000);

const MAINTENANCE = '/api/v1/system/maintenance';
const SOON = { within: 30_000 };

let postgres: OwnPostgres;
let spool: string;
let open: TestBroker[];

beforeAll(async () => {
  postgres = await startOwnPostgres();
});
afterAll(() => postgres.remove());

beforeEach(async () => {
  spool = await mkdtemp(join(tmpdir(), 'queen-nest-test-spool-'));
  open = [];
});
afterEach(async () => {
  await postgres.start();
  for (const broker of open) await broker.stop();
  await rm(spool, { recursive: true });
});

async function start(settings: BrokerSettings = {}): Promise<TestBroker> {
  const broker = await startBroker({ database: postgres.database, FILE_BUFFER_DIR: spool, ...settings });
  open.push(broker);
  return broker;
}

/** Once: a second call for the same broker joins the first. */
const stop = (broker: TestBroker) => broker.stop();

const push = (broker: TestBroker, queue: string, ...texts: string[]) =>
  broker.push(texts.map((payload) => ({ queue, partition: 'p', payload, transactionId: payload })));
const statuses = (answer: { body: unknown }) =>
  (answer.body as { status: string }[]).map(({ status }) => status);
const report = async (broker: TestBroker) =>
  (await broker.get(MAINTENANCE)).body as {
    bufferedMessages: number;
    bufferHealthy: boolean;
    bufferStats: {
      pendingCount: number;
      failedCount: number;
      dbHealthy: boolean;
      failedFiles: { count: number };
    };
  };
const drained = (broker: TestBroker) =>
  waitFor(async () => (await report(broker)).bufferedMessages === 0, {
    ...SOON,
    what: 'the spool to be drained',
  });

/** Everything the queue holds for a new group, in order. */
async function contents(broker: TestBroker, queue: string): Promise<unknown[]> {
  const consumerGroup = randomUUID();
  const found: unknown[] = [];
  for (;;) {
    const { status, body } = await broker.pop(queuePath(queue), {
      consumerGroup,
      autoAck: true,
      batch: 1000,
    });
    if (status !== 200) return found;
    found.push(...body.messages.map(({ data }) => data));
  }
}

describe('a database that is away', () => {
  it('has pushes buffered, and gets all of them once when it is back', async () => {
    const broker = await start();
    expect(statuses(await push(broker, 'outage', 'before'))).toEqual(['queued']);
    await postgres.stop();
    const texts = numbered('m', 40);
    const answers = await Promise.all(texts.map((text) => push(broker, 'outage', text)));
    for (const answer of answers) {
      expect(answer.status).toBe(201);
      expect(statuses(answer)).toEqual(['buffered']);
    }
    expect(await report(broker)).toMatchObject({
      bufferedMessages: 40,
      bufferHealthy: false,
      bufferStats: { dbHealthy: false },
    });
    expect((await broker.pop(queuePath('outage'))).status).toBeGreaterThanOrEqual(500);

    await postgres.start();
    await drained(broker);
    expect(await report(broker)).toMatchObject({ bufferHealthy: true, bufferStats: { dbHealthy: true } });
    expect([...(await contents(broker, 'outage'))].sort()).toEqual(['before', ...texts].sort());
    expect(statuses(await push(broker, 'outage', 'after'))).toEqual(['queued']);
  });

  it('gives a pop that was parked through it what comes out of the spool', async () => {
    const broker = await start();
    // Twice empty: the group has its ring then, and waits without asking the database.
    for (let i = 0; i < 2; i++) await broker.pop(queuePath('parked'), { consumerGroup: 'g' });
    const pop = broker.pop(queuePath('parked'), { consumerGroup: 'g', wait: true, timeout: 90_000 });
    await waitFor(() => broker.broker.app.get(WakeGateService).stats().parked === 1, {
      ...{ ...SOON, what: 'the pop to be parked' },
    });
    await postgres.stop();
    expect(statuses(await push(broker, 'parked', 'm'))).toEqual(['buffered']);
    const startedMs = performance.now();
    await postgres.start();
    expect((await pop).body.messages).toMatchObject([{ data: 'm' }]);
    // Long before a reseed would have found it.
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });

  it('while the broker restarts as well loses nothing', async () => {
    const first = await start();
    await postgres.stop();
    expect(statuses(await push(first, 'restart', ...numbered('m', 10)))).toEqual(Array(10).fill('buffered'));
    await stop(first);
    await postgres.start();
    const second = await start();
    await drained(second);
    expect(await contents(second, 'restart')).toEqual(numbered('m', 10));
  });

  it('keeps the order of a partition among what was spooled', async () => {
    const broker = await start();
    await postgres.stop();
    for (const text of numbered('m', 30)) await push(broker, 'order', text);
    await postgres.start();
    await drained(broker);
    expect(await contents(broker, 'order')).toEqual(numbered('m', 30));
  });

  it('that had stored a message before it went does not get it twice', async () => {
    const broker = await start();
    await push(broker, 'twice', 'm0');
    await postgres.stop();
    // The client never heard of the first one, and sends it again with another.
    expect(statuses(await push(broker, 'twice', 'm0', 'm1'))).toEqual(['buffered', 'buffered']);
    expect(statuses(await push(broker, 'twice', 'm1'))).toEqual(['buffered']);
    await postgres.start();
    await drained(broker);
    expect(await contents(broker, 'twice')).toEqual(['m0', 'm1']);
  });

  it('with the spool off fails pushes, and says when to come again', async () => {
    const broker = await start({ QUEEN_SPOOL: false });
    await push(broker, 'off', 'before');
    await postgres.stop();
    const answer = await push(broker, 'off', 'm');
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(answer.body).toMatchObject({ code: expect.stringMatching(/^(pool|database_unavailable)$/) });
    await postgres.start();
    await waitFor(async () => (await push(broker, 'off', 'm')).status === 201, { ...SOON, what: 'a push' });
    expect(await contents(broker, 'off')).toEqual(['before', 'm']);
  });
});

describe('the order of a partition across an outage', () => {
  /** One message during the outage, one right after it while the first still lies in the spool. */
  async function acrossAnOutage(
    strict: boolean,
  ): Promise<{ during: string[]; after: string[]; order: unknown[] }> {
    const queue = `strict ${strict}`;
    const settings = { QUEEN_SPOOL_STRICT_ORDER: strict };
    // It looks into the spool once at the start, and then not for a minute.
    const first = await start({ ...settings, FILE_BUFFER_FLUSH_MS: 60_000 });
    await push(first, queue, 'm0');
    await postgres.stop();
    const during = statuses(await push(first, queue, 'm1'));
    await postgres.start();
    const served = async () => (await first.get('/health/ready')).status === 200;
    await waitFor(served, { ...SOON, what: 'the database to be seen again' });
    const after = statuses(await push(first, queue, 'm2'));
    expect(statuses(await first.push([{ queue, partition: 'other', payload: 'o' }]))).toEqual(['queued']);
    await stop(first);
    const second = await start(settings);
    await drained(second);
    expect(statuses(await push(second, queue, 'm3'))).toEqual(['queued']);
    const order = (await contents(second, queue)).filter((text) => text !== 'o');
    return { during, after, order };
  }

  it('is not kept by default: what is spooled comes after what was pushed meanwhile', async () => {
    const { during, after, order } = await acrossAnOutage(false);
    expect([during, after]).toEqual([['buffered'], ['queued']]);
    expect(order).toEqual(['m0', 'm2', 'm1', 'm3']);
  });

  it('is kept in strict mode: newer messages go behind the older ones in the spool', async () => {
    const { during, after, order } = await acrossAnOutage(true);
    expect([during, after]).toEqual([['buffered'], ['buffered']]);
    expect(order).toEqual(['m0', 'm1', 'm2', 'm3']);
  });
});

describe('files that a broker left behind', () => {
  function record(queue: string, text: string): Buffer {
    return Buffer.concat(
      encodeRecord({
        target: { tenant: DEFAULT_TENANT, queue, partition: 'p' },
        messageId: mintUuid(Date.now()),
        transactionId: Buffer.from(text),
        ...{ traceId: null, producerSub: null, headers: null, encrypted: false },
        payload: Buffer.from(JSON.stringify(text)),
      }),
    );
  }

  /** As a broker leaves its place that was killed: its lock names a process that is gone. */
  async function killed(files: Record<string, Buffer>): Promise<string> {
    const place = join(spool, '0');
    await mkdir(place, { recursive: true });
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(place, name), bytes);
    await writeFile(join(place, 'broker.pid'), formatBrokerPid({ pid: 2 ** 30, startedAt: null }));
    return place;
  }

  it('are stored in the order of time, a half-written record at the end is passed over', async () => {
    const half = record('left', 'never acknowledged').subarray(0, 50);
    await killed({
      '0000000002000-00000000.tmp': Buffer.concat([record('left', 'm2'), record('left', 'm3'), half]),
      '0000000001000-00000000.buf': Buffer.concat([record('left', 'm0'), record('left', 'm1')]),
    });
    const broker = await start();
    await drained(broker);
    expect(await contents(broker, 'left')).toEqual(['m0', 'm1', 'm2', 'm3']);
  });

  it('stored twice are there once', async () => {
    const name = '0000000001000-00000000.buf';
    const place = await killed({
      [name]: Buffer.concat(numbered('m', 250).map((text) => record('again', text))),
    });
    const kept = join(spool, 'kept');
    await copyFile(join(place, name), kept);
    const first = await start();
    await drained(first);
    await stop(first);
    await mkdir(place, { recursive: true });
    await copyFile(kept, join(place, name));
    const second = await start();
    await drained(second);
    expect(await contents(second, 'again')).toEqual(numbered('m', 250));
  });

  it('with a message that cannot be stored are stored but for that one, which is set aside', async () => {
    const place = await killed({
      '0000000001000-00000000.buf': Buffer.concat([
        record('poison', 'm0'),
        record('', 'poison'), // no queue has this name
        record('poison', 'm1'),
      ]),
      '0000000002000-00000000.buf': record('poison', 'm2'),
    });
    const broker = await start();
    await drained(broker);
    expect(await contents(broker, 'poison')).toEqual(['m0', 'm1', 'm2']);
    const { bufferStats } = await report(broker);
    expect(bufferStats).toMatchObject({ failedCount: 1, dbHealthy: true, failedFiles: { count: 1 } });
    expect(await readdir(join(place, 'failed'))).toEqual(['0000000001000-00000000.buf']);

    // Known after a restart as well.
    await stop(broker);
    expect(await readdir(place)).toEqual(['failed']);
  });

  it('belong to one broker: a second one beside it has a place of its own', async () => {
    const [first, second] = [await start(), await start()];
    for (const broker of [first, second]) await broker.post(MAINTENANCE, { enabled: true });
    await push(first, 'beside', 'a');
    await push(second, 'beside', 'b');
    expect((await readdir(spool)).sort()).toEqual(['0', '1']);
    for (const broker of [first, second]) {
      await broker.post(MAINTENANCE, { enabled: false });
      await drained(broker);
    }
    expect([...(await contents(first, 'beside'))].sort()).toEqual(['a', 'b']);
  });
});
