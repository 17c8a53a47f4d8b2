import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { consumerRow, numbered } from '../support/make.js';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker({ DEFAULT_TIMEOUT: 120 });
});
afterAll(() => broker.stop());

const ROUTES = ['/api/v1/pop/queue/q', '/api/v1/pop/queue/q/partition/p', '/api/v1/pop'];

/** `query` as it stands in the URL. */
function get(route: string, query: string) {
  return broker.get(`${route}?namespace=n&${query}`);
}

describe.each(ROUTES)('a parameter of GET %s (A07)', (route) => {
  it.each(['batch', 'partitions', 'timeout', 'leaseSeconds'])(
    'is refused when it is no plain decimal: %s',
    async (name) => {
      const spellings = [
        '1.5',
        'NaN',
        'Infinity',
        '1e9',
        '0x10',
        '10abc',
        '',
        '%20',
        '2147483648',
        '9007199254740993',
        '-2147483649',
        '+1',
        '१',
      ];
      const answers = await Promise.all(spellings.map((value) => get(route, `${name}=${value}`)));
      answers.forEach(({ status, body }, i) => {
        expect([spellings[i], status]).toEqual([spellings[i], 400]);
        expect(body).toMatchObject({
          error: expect.stringContaining(name),
          code: 'bad_parameter',
          parameters: [name],
        });
      });
    },
  );

  it.each(['autoAck', 'wait'])('is refused when it is neither true nor false: %s', async (name) => {
    for (const value of ['', '1', '0', 'yes', 'TRUE', 'null', 'true%20']) {
      const answer = await get(route, `${name}=${value}`);
      expect([value, answer.status]).toEqual([value, 400]);
      expect(answer.body).toMatchObject({ error: expect.stringContaining(name), code: 'bad_parameter' });
    }
  });

  it('is refused when it comes twice', async () => {
    for (const name of ['batch', 'wait', 'consumerGroup']) {
      const answer = await get(route, `${name}=1&${name}=1`);
      expect(answer).toMatchObject({
        status: 400,
        body: { error: `${name} is given more than once`, code: 'bad_parameter' },
      });
    }
  });

  it('is refused when negative only where that means nothing', async () => {
    expect(await get(route, 'timeout=-1')).toMatchObject({ status: 400, body: { parameters: ['timeout'] } });
    expect(await get(route, 'batch=-1&partitions=-1&leaseSeconds=-1')).toMatchObject({ status: 204 });
  });

  it('is ignored when its name is not known', async () => {
    expect(
      await get(route, 'autopilot=true&conflation=x&batch[]=1&batch[a]=1&__proto__=1&constructor=1'),
    ).toMatchObject({ status: 204 });
  });

  it('above its maximum is lowered, and the answer says so', async () => {
    const answer = await get(route, 'batch=2147483647&partitions=1001&timeout=3600001&leaseSeconds=604801');
    expect(answer.status).toBe(204);
    expect(answer.headers.get('queen-clamped')).toBe(
      'batch=10000, partitions=1000, timeout=3600000, leaseSeconds=604800',
    );
    expect((await get(route, 'batch=10000&partitions=1000')).headers.get('queen-clamped')).toBeNull();
  });

  it('several faults are all named in one answer', async () => {
    const answer = await get(route, 'batch=x&timeout=y&wait=z');
    expect(answer.body).toMatchObject({
      code: 'bad_parameter',
      parameters: expect.arrayContaining(['batch', 'timeout', 'wait']),
    });
  });
});

describe('a parameter that is left out', () => {
  beforeEach(async () => {
    await broker.del('/api/v1/resources/queues/defaults');
    const items = numbered('m', 450).map((payload, i) => ({
      queue: 'defaults',
      partition: `p${i % 2}`,
      payload,
    }));
    await broker.push(items);
  });

  it('means 200 messages of one partition, leased for the time of the queue, in queue mode', async () => {
    const { body } = await broker.pop(queuePath('defaults'));
    expect(body).toMatchObject({ success: true, partitionsClaimed: 1, consumerGroup: '__QUEUE_MODE__' });
    expect(body.messages).toHaveLength(200);
    expect(body.leaseId).not.toBe('');
    const cursor = await consumerRow(broker.database, 'defaults', body.partition, '__QUEUE_MODE__');
    expect(cursor).toMatchObject({ committed: -1, batchEnd: 199, workerId: body.leaseId });
    expect(cursor!.leaseSecondsLeft).toBeGreaterThan(50);
    expect(cursor!.leaseSecondsLeft).toBeLessThanOrEqual(60);
  });

  it('an empty group is no group', async () => {
    const { body } = await broker.pop(queuePath('defaults'), { consumerGroup: '' });
    expect(body.consumerGroup).toBe('__QUEUE_MODE__');
  });

  it('the timeout is that of the settings, and 0 does not wait', async () => {
    const startedMs = performance.now();
    expect(await broker.pop(queuePath('empty'), { wait: true })).toMatchObject({ status: 204 });
    const waitedMs = performance.now() - startedMs;
    expect(waitedMs).toBeGreaterThanOrEqual(115);
    expect(waitedMs).toBeLessThan(5000);
    expect(await broker.pop(queuePath('empty'), { wait: true, timeout: 0 })).toMatchObject({ status: 204 });
  });
});

it('a batch of 0 or less acts as 1, and partitions of 0 or less as no limit', async () => {
  await broker.push(numbered('m', 6).map((payload, i) => ({ queue: 'small', partition: `p${i}`, payload })));
  expect((await broker.pop(queuePath('small'), { batch: 0, consumerGroup: 'a' })).body.messages).toHaveLength(
    1,
  );
  expect(
    (await broker.pop(queuePath('small'), { batch: -5, consumerGroup: 'b' })).body.messages,
  ).toHaveLength(1);
  expect(
    (await broker.pop(queuePath('small'), { partitions: 0, consumerGroup: 'c' })).body.partitionsClaimed,
  ).toBe(6);
  expect(
    (await broker.pop(queuePath('small'), { partitions: -1, consumerGroup: 'd' })).body.partitionsClaimed,
  ).toBe(6);
});

it('leaseSeconds of 0 or less means the time of the queue', async () => {
  await broker.configure('lease', { leaseTime: 500 });
  await broker.push([{ queue: 'lease', partition: 'p', payload: 1 }]);
  for (const leaseSeconds of [0, -1]) {
    const group = `g${leaseSeconds}`;
    await broker.pop(queuePath('lease'), { leaseSeconds, consumerGroup: group });
    expect((await consumerRow(broker.database, 'lease', 'p', group))!.leaseSecondsLeft).toBeGreaterThan(480);
  }
});
