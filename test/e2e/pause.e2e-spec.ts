import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { numbered } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';
import { PopMetrics } from '../../src/pop/pop.metrics.js';
import { WakeGateService } from '../../src/wake-gate/wake-gate.service.js';

/** Waits of several seconds are told by what they wait for, not by the runner. */
jest.setTimeout(30_000);

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const path = (queue: string, action: string) =>
  `/api/v1/resources/queues/${encodeURIComponent(queue)}/${action}`;
const pause = (queue: string, body?: unknown, on = broker) => on.post(path(queue, 'pause'), body);
const resume = (queue: string, body?: unknown, on = broker) => on.post(path(queue, 'resume'), body);
const push = (queue: string, ...texts: string[]) =>
  broker.push(texts.map((payload) => ({ queue, partition: 'p', payload })));
const texts = (answer: Awaited<ReturnType<TestBroker['pop']>>) =>
  (answer.body?.messages ?? []).map(({ data }) => data as string);

/** Looks and claims of all pops so far. */
const looks = () =>
  [...broker.broker.app.get(PopMetrics).stats().attempts.values()].reduce((sum, count) => sum + count, 0);
const parked = (on = broker) => on.broker.app.get(WakeGateService).stats().parked;

describe('a queue paused for pops', () => {
  const routes = [
    ['queue', (queue: string) => [queuePath(queue), {}] as const],
    ['partition', (queue: string) => [partitionPath(queue, 'p'), {}] as const],
    ['discovery', (queue: string) => ['', { namespace: queue }] as const],
  ] as const;

  it.each(routes)(
    'answers 204 at once, takes pushes, and delivers them after the resume (%s)',
    async (name, route) => {
      const queue = `pops-${name}`;
      const [target, query] = route(queue);
      await push(queue, 'before');
      expect(texts(await broker.pop(target, { ...query, consumerGroup: 'g', autoAck: true }))).toEqual([
        'before',
      ]);
      expect(await pause(queue, { pops: true })).toMatchObject({
        status: 200,
        body: { queue, paused: { pops: true, pushes: false } },
      });
      expect(await push(queue, 'during')).toMatchObject({ status: 201 });
      for (const consumerGroup of ['g', 'new group']) {
        expect(await broker.pop(target, { ...query, consumerGroup })).toMatchObject({
          status: 204,
          text: '',
        });
      }
      expect(await resume(queue, { pops: true })).toMatchObject({ body: { paused: { pops: false } } });
      expect(texts(await broker.pop(target, { ...query, consumerGroup: 'g' }))).toEqual(['during']);
    },
  );

  it.each(routes)('keeps waiting pops parked until it is resumed (%s)', async (name, route) => {
    const queue = `parked-${name}`;
    const [target, query] = route(queue);
    await push(queue, 'first');
    await broker.pop(target, { ...query, consumerGroup: 'g', autoAck: true });
    await pause(queue, { pops: true });
    const waiting = broker.pop(target, { ...query, consumerGroup: 'g', wait: true, timeout: 20_000 });
    await waitFor(() => parked() === 1, { within: 5000, what: 'the pop to be parked' });
    await push(queue, 'second');
    const before = looks();
    await waitFor(() => looks() >= before + 3, { within: 10_000, what: 'some more looks' });
    expect(parked()).toBe(1);
    await resume(queue, { pops: true });
    expect(texts(await waiting)).toEqual(['second']);
  });

  it('lets a waiting pop go with 204 at its deadline', async () => {
    await push('deadline', 'm');
    await broker.pop(queuePath('deadline'), { consumerGroup: 'g', batch: 1 });
    await pause('deadline', { pops: true });
    const query = { consumerGroup: 'g', wait: true, timeout: 300 };
    expect(await broker.pop(queuePath('deadline'), query)).toMatchObject({ status: 204 });
  });
});

describe('a queue paused for pushes', () => {
  it('answers 429 and stores nothing; pops go on', async () => {
    await push('pushes', 'before');
    await pause('pushes', { pushes: true });
    const refused = await push('pushes', 'during');
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      error: 'queue "pushes" is paused for pushes',
      ...{ code: 'queue_paused', queue: 'pushes' },
    });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(texts(await broker.pop(queuePath('pushes'), { autoAck: true }))).toEqual(['before']);
    const transaction = { operations: [{ type: 'push', queue: 'pushes', payload: 1 }] };
    expect(await broker.post('/api/v1/transaction', transaction)).toMatchObject({ status: 429 });

    await resume('pushes', { pushes: true });
    expect(await push('pushes', 'after')).toMatchObject({ status: 201 });
    expect(texts(await broker.pop(queuePath('pushes'), { autoAck: true }))).toEqual(['after']);
  });
});

describe('pause and resume', () => {
  it('mean both sides without a body, and otherwise those that are named', async () => {
    await push('sides', 'm');
    const state = (answer: { body: unknown }) => (answer.body as { paused: unknown }).paused;
    expect(state(await pause('sides'))).toEqual({ pops: true, pushes: true });
    expect(state(await resume('sides', { pops: true }))).toEqual({ pops: false, pushes: true });
    expect(state(await pause('sides', { pops: true, pushes: false }))).toEqual({ pops: true, pushes: true });
    expect(state(await resume('sides', {}))).toEqual({ pops: false, pushes: false });
    expect(state(await pause('sides', { pops: false }))).toEqual({ pops: false, pushes: false });
    expect(state(await pause('sides', { pops: null, pushes: true }))).toEqual({ pops: false, pushes: true });
  });

  it.each([
    ['[]', 'bad_body'],
    ['{', 'bad_body'],
    ['{"pops":"yes"}', 'bad_parameter'],
    ['{"pushes":1}', 'bad_parameter'],
  ])('refuse %s', async (body, code) => {
    await push('refusals', 'm');
    for (const answer of [await pause('refusals', body), await resume('refusals', body)]) {
      expect(answer).toMatchObject({ status: 400, body: { code } });
    }
  });

  it('of a queue that is not there are 404, and create none', async () => {
    for (const answer of [await pause('nowhere'), await resume('nowhere')]) {
      expect(answer).toMatchObject({ status: 404, body: { error: 'Queue not found', code: 'not_found' } });
    }
  });

  it('are shown by the lists, and end with the queue', async () => {
    await push('listed', 'm');
    await pause('listed');
    const { body } = await broker.get('/api/v1/resources/queues/listed');
    expect(body).toMatchObject({ paused: { pops: true, pushes: true } });
    await broker.del('/api/v1/resources/queues/listed');
    expect(await push('listed', 'n')).toMatchObject({ status: 201 });
    expect(texts(await broker.pop(queuePath('listed')))).toEqual(['n']);
  });
});

describe('another broker', () => {
  it('hears of a pause and of its end within a second or so, also after a restart', async () => {
    await push('shared', ...numbered('m', 2));
    const other = await startBroker({ database: broker.database });
    try {
      const pushThere = () => other.push([{ queue: 'shared', partition: 'q', payload: 'there' }]);
      await other.pop(queuePath('shared'), { consumerGroup: 'g', batch: 1, autoAck: true });
      await pause('shared');
      await waitFor(async () => (await pushThere()).status === 429, {
        within: 5000,
        what: 'the pause to arrive',
      });
      // Pops hold to it at once: the database decides.
      expect(await other.pop(queuePath('shared'), { consumerGroup: 'g' })).toMatchObject({ status: 204 });

      const third = await startBroker({ database: broker.database });
      expect(await third.push([{ queue: 'shared', payload: 1 }])).toMatchObject({ status: 429 });
      await third.stop();

      const waiting = other.pop(queuePath('shared'), { consumerGroup: 'g', wait: true, timeout: 20_000 });
      await waitFor(() => parked(other) === 1, { within: 5000, what: 'the pop to be parked there' });
      await resume('shared');
      expect(texts(await waiting).length).toBeGreaterThan(0);
      expect(await pushThere()).toMatchObject({ status: 201 });
    } finally {
      await other.stop();
    }
  });
});
