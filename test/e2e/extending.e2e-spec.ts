import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PinnedPartitionsModule } from '../../examples/extending/pinned-partitions.module.js';
import { TcpHintBus } from '../../examples/extending/tcp-hint-bus.js';
import { TcpHintsModule } from '../../examples/extending/tcp-hints.module.js';
import { acksFor, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { waitFor } from '../support/wait-for.js';

describe('a candidate source of a module of its own', () => {
  const pin = { queue: 'orders', consumerGroup: 'vip', partitions: ['gold', 'silver'] };
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({ own: [PinnedPartitionsModule.with([pin])] });
  });
  afterAll(() => broker.stop());

  const pop = (consumerGroup: string, query: Record<string, string | number | boolean> = {}) =>
    broker.pop(queuePath('orders'), { consumerGroup, batch: 10, partitions: 10, ...query });

  it('serves its group from its partitions, in its order', async () => {
    await broker.push(
      ['bronze', 'silver', 'gold'].map((partition) => ({ queue: 'orders', partition, payload: partition })),
    );
    const { body } = await pop('vip');
    expect(body.messages.map(({ partition }) => partition)).toEqual(['gold', 'silver']);
    expect((await pop('vip')).status).toBe(204);
    expect((await broker.ackBatch(acksFor(body.messages))).body.every(({ success }) => success)).toBe(true);
    expect((await pop('vip')).status).toBe(204);
  });

  it('leaves every other group to the sources of the broker', async () => {
    const { body } = await pop('others');
    expect(body.messages.map(({ partition }) => partition).sort()).toEqual(['bronze', 'gold', 'silver']);
  });

  it('parks, and is woken by a push', async () => {
    const parked = pop('vip', { wait: true, timeout: 30_000 });
    await broker.push([{ queue: 'orders', partition: 'bronze', payload: 1 }]);
    await broker.push([{ queue: 'orders', partition: 'gold', payload: 2 }]);
    expect((await parked).body.messages.map(({ data }) => data)).toEqual([2]);
  });

  it('shows in the metrics', async () => {
    const text = await (await fetch(`${broker.base}/metrics/prometheus`)).text();
    expect(text).toMatch(/path="own"/);
  });
});

describe('a hint transport of a module of its own', () => {
  const host = '127.0.0.1';
  const first = new TcpHintBus({ host, port: 0, peers: [] });
  let second: TcpHintBus;
  let here: TestBroker;
  let there: TestBroker;

  beforeAll(async () => {
    here = await startBroker({ own: [TcpHintsModule.with(first)] });
    second = new TcpHintBus({ host, port: 0, peers: [{ host, port: first.port }] });
    // Found by a hint, or not at all while this test runs.
    there = await startBroker({
      ...{ own: [TcpHintsModule.with(second)], database: here.database },
      ...{ POP_WAIT_INITIAL_INTERVAL_MS: 60_000, POP_WAIT_MAX_INTERVAL_MS: 60_000 },
      ...{ QUEEN_HOTLIST_RESEED_MS: 3_600_000 },
    });
    await waitFor(() => first.stats().hasPeers && second.stats().hasPeers, {
      within: 30_000,
      what: 'the brokers to meet',
    });
  });
  afterAll(async () => {
    await there.stop();
    await here.stop();
  });

  it('tells a broker of what was pushed to another', async () => {
    const push = (payload: number) => here.push([{ queue: 'news', partition: 'p', payload }]);
    await push(1);
    const query = { consumerGroup: 'g', autoAck: true };
    expect((await there.pop(queuePath('news'), query)).status).toBe(200); // its group has a ring from now on
    const parked = there.pop(queuePath('news'), { ...query, wait: true, timeout: 50_000 });
    const before = second.stats().received;
    let done = false;
    void parked.then(() => (done = true));
    // The pop may not be parked yet when the first of them comes: then it is simply found.
    await waitFor(
      async () => {
        if (!done) await push(2);
        return done;
      },
      { within: 40_000, what: 'the hint to wake the pop' },
    );
    expect((await parked).body.messages.length).toBeGreaterThan(0);
    await waitFor(() => second.stats().received > before, { within: 10_000, what: 'the hint' });
  });

  it('connects again when a connection breaks', async () => {
    const { reconnects } = second.stats();
    for (const socket of (first as unknown as { sockets: Set<{ destroy(): void }> }).sockets)
      socket.destroy();
    await waitFor(() => second.stats().reconnects > reconnects && second.stats().hasPeers, {
      within: 30_000,
      what: 'another connection',
    });
  });
});
