import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { numbered } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(60_000);

const PUSH = '/api/v1/system/maintenance';
const POP = '/api/v1/system/maintenance/pop';
const SOON = { within: 10_000 };

let broker: TestBroker;
beforeEach(async () => {
  broker = await startBroker();
});
afterEach(() => broker.stop());

const push = (queue: string, ...texts: string[]) =>
  broker.push(texts.map((payload) => ({ queue, partition: 'p', payload, transactionId: payload })));
const statuses = (body: unknown) => (body as { status: string }[]).map(({ status }) => status);
const take = async (from: TestBroker, queue: string, batch = 1000) =>
  ((await from.pop(queuePath(queue), { autoAck: true, batch })).body?.messages ?? []).map(({ data }) => data);
const buffered = async (from = broker) =>
  ((await from.get(PUSH)).body as { bufferedMessages: number }).bufferedMessages;
const parked = (from = broker) => from.broker.app.get(WakeGateService).stats().parked;

describe('pop maintenance', () => {
  it('sends parked pops away at once, on every route, and lets nobody in', async () => {
    await broker.configure('ns.empty', { namespace: 'ns' });
    const query = { wait: true, timeout: 60_000, namespace: 'ns' };
    const pops = [queuePath('ns.empty'), partitionPath('ns.empty', 'p'), ''].map((path) =>
      broker.pop(path, query),
    );
    await waitFor(() => parked() === 3, { ...SOON, what: 'three pops to be parked' });
    await broker.post(POP, { enabled: true });
    for (const { status, text } of await Promise.all(pops)) expect([status, text]).toEqual([204, '']);

    await push('ns.empty', 'm');
    expect((await broker.pop(queuePath('ns.empty'), query)).status).toBe(204);
    await broker.post(POP, { enabled: false });
    expect(await take(broker, 'ns.empty')).toEqual(['m']);
  });

  it('ends the wait of a pop that would rather have a fuller batch, and gives it nothing', async () => {
    await broker.configure('fill', { minPopWaitTime: 60_000 });
    // Twice empty: the ring is there then, and counts what comes.
    for (let i = 0; i < 2; i++) expect(await take(broker, 'fill')).toEqual([]);
    await push('fill', 'm');
    const pop = broker.pop(queuePath('fill'), { wait: true, timeout: 60_000, batch: 10 });
    await waitFor(() => parked() === 1, { ...SOON, what: 'the pop to wait for more' });
    await broker.post(POP, { enabled: true });
    expect((await pop).status).toBe(204);
    await broker.post(POP, { enabled: false });
    expect(await take(broker, 'fill', 1)).toEqual(['m']);
  });

  it('is on from the first request when the broker starts during it', async () => {
    await broker.post(POP, { enabled: true });
    await push('q', 'm');
    const second = await startBroker({ database: broker.database });
    try {
      expect((await second.pop(queuePath('q'))).status).toBe(204);
    } finally {
      await second.stop();
    }
  });

  it('reaches another broker within the refresh period, hint or not', async () => {
    const second = await startBroker({ database: broker.database, QUEEN_CACHE_REFRESH_INTERVAL_MS: 100 });
    try {
      await push('q', 'm');
      const pop = second.pop(queuePath('empty'), { wait: true, timeout: 60_000 });
      await waitFor(() => parked(second) === 1, { ...SOON, what: 'the pop to be parked' });
      await broker.post(POP, { enabled: true });
      expect((await pop).status).toBe(204);
      expect((await second.pop(queuePath('q'))).status).toBe(204);
      await broker.post(POP, { enabled: false });
      await waitFor(async () => (await second.pop(queuePath('q'))).status === 200, {
        ...{ ...SOON, what: 'the other broker to serve again' },
      });
    } finally {
      await second.stop();
    }
  });
});

describe('push maintenance', () => {
  it('keeps pushes on disk while pops go on, and then stores them in order, once', async () => {
    await push('q', 'before');
    for (let round = 0; round < 3; round++) {
      await broker.post(PUSH, { enabled: true });
      const texts = numbered(`r${round}-`, 25);
      for (const text of texts) expect(statuses((await push('q', text)).body)).toEqual(['buffered']);
      expect(await take(broker, 'q')).toEqual(round === 0 ? ['before'] : []);
      expect(await buffered()).toBe(25);

      await broker.post(PUSH, { enabled: false });
      await waitFor(async () => (await buffered()) === 0, { ...SOON, what: 'the spool to be drained' });
      expect(await take(broker, 'q')).toEqual(texts);
    }
    expect(await take(broker, 'q')).toEqual([]);
  });

  it('wakes the pops that wait for what comes out of the spool', async () => {
    await broker.post(PUSH, { enabled: true });
    await push('q', 'm');
    const pop = broker.pop(queuePath('q'), { wait: true, timeout: 60_000, autoAck: true });
    await waitFor(() => parked() === 1, { ...SOON, what: 'the pop to be parked' });
    const switchedAtMs = performance.now();
    await broker.post(PUSH, { enabled: false });
    expect((await pop).body.messages).toMatchObject([{ data: 'm' }]);
    // Far below the reseed period, which would find it as well.
    expect(performance.now() - switchedAtMs).toBeLessThan(10_000);
  });

  it('stores what was pushed before and during it once', async () => {
    expect(statuses((await push('q', 'm0')).body)).toEqual(['queued']);
    await broker.post(PUSH, { enabled: true });
    expect(statuses((await push('q', 'm0', 'm1')).body)).toEqual(['buffered', 'buffered']);
    expect(statuses((await push('q', 'm1', 'm2')).body)).toEqual(['buffered', 'buffered']);
    await broker.post(PUSH, { enabled: false });
    await waitFor(async () => (await buffered()) === 0, { ...SOON, what: 'the spool to be drained' });
    expect(await take(broker, 'q')).toEqual(['m0', 'm1', 'm2']);
  });

  it('keeps all that a message is: payload to the byte, headers, trace and ids', async () => {
    await broker.post(PUSH, { enabled: true });
    const traceId = '01890a5d-ac96-774b-bcce-b302099a8057';
    const payload = '{"b":1.50,"a":9007199254740993,"a":"\\u0000"}';
    const body =
      `{"items":[{"queue":"q","partition":"p/ä","payload":${payload},"transactionId":"t \\"1\\"",` +
      `"traceId":"${traceId}","headers":{"traceparent":"00-x"}}]}`;
    const answer = await broker.post('/api/v1/push', body);
    const [{ message_id }] = answer.body as { message_id: string }[];
    await broker.post(PUSH, { enabled: false });
    const { text, body: popped } = await broker.pop(queuePath('q'), { wait: true, timeout: 20_000 });
    expect(text).toContain(`"data":${payload}`);
    expect(popped.messages).toMatchObject([
      {
        id: message_id,
        ...{ transactionId: 't "1"', traceId, partition: 'p/ä', headers: { traceparent: '00-x' } },
      },
    ]);
  });

  it('goes on after a restart: the files are drained by the next broker that has the directory', async () => {
    await broker.post(PUSH, { enabled: true });
    const spool = await mkdtemp(join(tmpdir(), 'queen-nest-test-spool-'));
    const second = await startBroker({ database: broker.database, FILE_BUFFER_DIR: spool });
    await second.push(numbered('n', 10).map((payload) => ({ queue: 'q2', payload })));
    expect(await buffered(second)).toBe(10);
    await second.stop();

    const third = await startBroker({ database: broker.database, FILE_BUFFER_DIR: spool });
    try {
      expect(await buffered(third)).toBe(10); // maintenance is still on
      await third.post(PUSH, { enabled: false });
      await waitFor(async () => (await buffered(third)) === 0, { ...SOON, what: 'the spool to be drained' });
      expect(await take(third, 'q2')).toEqual(numbered('n', 10));
    } finally {
      await third.stop();
      await rm(spool, { recursive: true });
    }
  });

  it('refuses with 500 and the array when the spool is full, and takes nothing then', async () => {
    const small = await startBroker({ database: broker.database, FILE_BUFFER_MAX_BYTES: 1_048_576 });
    try {
      await small.post(PUSH, { enabled: true });
      const payload = 'x'.repeat(700_000);
      const pushOne = () => small.push([{ queue: 'q', payload, transactionId: 'big' }]);
      expect((await pushOne()).status).toBe(201);
      const { status, body } = await pushOne();
      expect([status, body]).toEqual([
        500,
        [expect.objectContaining({ index: 0, status: 'failed', code: 'spool_failed' })],
      ]);
      expect((await small.get(PUSH)).body).toMatchObject({ bufferedMessages: 1, bufferHealthy: false });
      await small.post(PUSH, { enabled: false });
      await waitFor(async () => (await buffered(small)) === 0, { ...SOON, what: 'the spool to be drained' });
      expect(await take(small, 'q')).toHaveLength(1);
    } finally {
      await small.stop();
    }
  });

  it('shows in the metrics, and what waits on disk with it', async () => {
    const valueOf = async (name: string) => {
      const text = await (await fetch(`${broker.base}/metrics/prometheus`)).text();
      return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
    };
    expect(await valueOf('queen_maintenance_mode_enabled')).toBe(0);
    await broker.post(PUSH, { enabled: true });
    await push('q', 'm0', 'm1');
    expect(await valueOf('queen_maintenance_mode_enabled')).toBe(1);
    expect(await valueOf('queen_file_buffer_pending')).toBe(2);
    expect(await valueOf('queen_spool_written_total')).toBe(2);
    await broker.post(PUSH, { enabled: false });
    await waitFor(async () => (await buffered()) === 0, { ...SOON, what: 'the spool to be drained' });
    expect(await valueOf('queen_spool_replayed_total')).toBe(2);
    expect(await valueOf('queen_file_buffer_pending')).toBe(0);
    expect(await valueOf('queen_file_buffer_db_healthy')).toBe(1);
  });

  it('with the spool switched off takes no push at all', async () => {
    const none = await startBroker({ database: broker.database, QUEEN_SPOOL: false });
    try {
      await none.post(PUSH, { enabled: true });
      const { status, body } = await none.push([{ queue: 'q', payload: 1 }]);
      expect([status, body]).toEqual([
        500,
        [expect.objectContaining({ status: 'failed', code: 'spool_failed' })],
      ]);
    } finally {
      await none.stop();
    }
  });
});
