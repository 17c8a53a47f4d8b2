import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HintsService } from '../../src/hints/hints.service.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';
import { acksFor, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { waitFor } from '../support/wait-for.js';

const parkedOn = (broker: TestBroker) =>
  broker.broker.app.get(WakeGateService, { strict: false }).stats().parked;

async function prime(broker: TestBroker, queue: string): Promise<void> {
  await broker.pop(queuePath(queue), { consumerGroup: 'g' }); // first contact
  await broker.pop(queuePath(queue), { consumerGroup: 'g' }); // the ring's first walk
}

async function deliveredMs(
  from: TestBroker,
  to: TestBroker,
  queue: string,
  partition: string,
): Promise<number> {
  const popping = to.pop(queuePath(queue), { consumerGroup: 'g', wait: true, timeout: 20_000 });
  await waitFor(() => parkedOn(to) > 0, { within: 5000, what: 'the pop to park' });
  await from.push([{ queue, partition, payload: 1 }]);
  const pushedMs = performance.now();
  const answer = await popping;
  expect(answer.status).toBe(200);
  await to.ackBatch(acksFor(answer.body.messages));
  return performance.now() - pushedMs;
}

describe('two brokers on one database', () => {
  let a: TestBroker;
  let b: TestBroker;
  beforeAll(async () => {
    a = await startBroker({ QUEEN_HOTLIST_RESEED_MS: 1000 });
    b = await startBroker({ QUEEN_HOTLIST_RESEED_MS: 1000, database: a.database });
    const peers = [a, b].map(({ broker }) => broker.app.get(HintsService, { strict: false }));
    await waitFor(() => peers.every((hints) => hints.stats().hasPeers), {
      within: 10_000,
      what: 'the brokers to meet',
    });
  });
  afterAll(async () => {
    await b.stop();
    await a.stop();
  });

  it('a push into one reaches a pop parked at the other, again and again, without waiting for a reseed', async () => {
    const queue = 'two.hints';
    await a.push([{ queue, partition: 'p0', payload: 0 }]);
    await prime(b, queue);
    for (let n = 1; n <= 5; n++) expect(await deliveredMs(a, b, queue, `p${n}`)).toBeLessThan(900);
    expect(b.broker.app.get(HintsService, { strict: false }).stats().received).toBeGreaterThan(0);
  });

  it('a batch leased by one is acked through the other', async () => {
    const queue = 'two.acks';
    await a.push([1, 2, 3].map((n) => ({ queue, transactionId: `t${n}`, payload: n })));
    const popped = await a.pop(queuePath(queue), { consumerGroup: 'g', batch: 3 });
    const acked = await b.ackBatch(acksFor(popped.body.messages));
    expect(acked.body.map(({ success }) => success)).toEqual([true, true, true]);
    expect((await a.pop(queuePath(queue), { consumerGroup: 'g' })).status).toBe(204);
  });

  it('a queue deleted at one begins anew at the other', async () => {
    const queue = 'two.delete';
    await a.push([{ queue, payload: 'old' }]);
    const old = await b.pop(queuePath(queue), { consumerGroup: 'g', autoAck: true });
    expect(old.status).toBe(200);
    await a.del(`/api/v1/resources/queues/${queue}`);
    await a.push([{ queue, payload: 'new' }]);
    const fresh = await b.pop(queuePath(queue), {
      consumerGroup: 'g',
      autoAck: true,
      wait: true,
      timeout: 5000,
    });
    expect(fresh.body.messages.map(({ data }) => data)).toEqual(['new']);
  });
});

describe('two brokers that do not hear each other', () => {
  let a: TestBroker;
  let b: TestBroker;
  beforeAll(async () => {
    const deaf = { QUEEN_HINT_BUS: 'off', QUEEN_HOTLIST_RESEED_MS: 1000 };
    a = await startBroker(deaf);
    b = await startBroker({ ...deaf, database: a.database });
  });
  afterAll(async () => {
    await b.stop();
    await a.stop();
  });

  it('find each other’s messages within the reseed interval and its jitter', async () => {
    const queue = 'two.deaf';
    await a.push([{ queue, partition: 'p0', payload: 0 }]);
    await prime(b, queue);
    await deliveredMs(a, b, queue, 'p1');
  }, 30_000);
});
