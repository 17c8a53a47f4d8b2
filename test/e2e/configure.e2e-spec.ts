import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { consumerRow, countRows } from '../support/make.js';

interface Configured {
  configured: boolean;
  queueId: string;
  partitionId: null;
  queue: string;
  namespace: string;
  task: string;
  storage: string;
  options: Record<string, unknown>;
}

const DEFAULTS = {
  priority: 0,
  leaseTime: 300,
  retryLimit: 3,
  retryDelay: 0,
  maxSize: 0,
  ttl: 0,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionEnabled: false,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0,
  encryptionEnabled: false,
  minPopWaitTime: 0,
  dedupWindowSeconds: 3600,
  maxDeliveries: 0,
};

const CHOSEN = {
  leaseTime: 7,
  retryLimit: 1,
  deadLetterQueue: false,
  dlqAfterMaxRetries: false,
  delayedProcessing: 2,
  windowBuffer: 3,
  minPopWaitTime: 50,
  dedupWindowSeconds: 60,
  priority: 2,
  retryDelay: 30,
  ttl: 40,
  maxSize: 50,
  maxDeliveries: 6,
};

describe('configure', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  async function configure(body: Record<string, unknown>): Promise<Configured> {
    const answer = await broker.post('/api/v1/configure', body);
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"configured":true')]);
    return answer.body as Configured;
  }

  it('creates a queue with the defaults, and says everything about it', async () => {
    expect(await configure({ queue: 'fresh' })).toEqual({
      configured: true,
      queueId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      partitionId: null,
      queue: 'fresh',
      namespace: '',
      task: '',
      storage: 'segments',
      options: DEFAULTS,
    });
    expect(await countRows(broker.database, 'log_partitions')).toBe(0);
  });

  it('echoes what is in force, with the types it was given in', async () => {
    const { options, namespace, task } = await configure({
      queue: 'echo',
      namespace: 'ns',
      task: 'task',
      options: CHOSEN,
    });
    expect(options).toEqual({ ...DEFAULTS, ...CHOSEN });
    expect([namespace, task]).toEqual(['ns', 'task']);
  });

  it('leaves alone what it is not told, and what is null', async () => {
    const first = await configure({ queue: 'merge', namespace: 'ns', task: 'task', options: CHOSEN });
    const second = await configure({
      queue: 'merge',
      namespace: null,
      options: { leaseTime: 9, retryLimit: null },
    });
    expect(second).toEqual({ ...first, options: { ...first.options, leaseTime: 9 } });
    expect(await configure({ queue: 'merge' })).toEqual(second);
  });

  it('in mode replace sets what it is not told to the default', async () => {
    const { queueId } = await configure({ queue: 'replace', namespace: 'ns', task: 'task', options: CHOSEN });
    const replaced = await configure({ queue: 'replace', options: { mode: 'replace', retryLimit: 5 } });
    expect(replaced).toMatchObject({
      queueId,
      namespace: '',
      task: '',
      options: { ...DEFAULTS, retryLimit: 5 },
    });
  });

  it('takes options beside the queue when there is no "options"', async () => {
    const { options, namespace } = await configure({
      queue: 'flat',
      leaseTime: 11,
      retryLimit: 2,
      namespace: 'ns',
    });
    expect(options).toMatchObject({ leaseTime: 11, retryLimit: 2 });
    expect(namespace).toBe('ns');
  });

  it('takes namespace and task from the top unless the options have them', async () => {
    const both = { queue: 'labels', namespace: 'top', task: 'top', options: { namespace: 'inner' } };
    expect(await configure(both)).toMatchObject({ namespace: 'inner', task: 'top' });
    expect(await configure({ queue: 'labels', namespace: '', options: {} })).toMatchObject({
      namespace: 'inner',
    });
    expect(await configure({ queue: 'labels', options: { namespace: '' } })).toMatchObject({ namespace: '' });
  });

  it('gives a queue that a push had made its options, and keeps its messages', async () => {
    await broker.push([{ queue: 'made.by-push', partition: 'p', payload: 1 }]);
    expect(await configure({ queue: 'made.by-push', options: { leaseTime: 5 } })).toMatchObject({
      namespace: 'made',
      task: 'by-push',
      options: { leaseTime: 5 },
    });
    expect(await broker.pop(partitionPath('made.by-push', 'p'))).toMatchObject({ status: 200 });
  });

  it('brings the two options with a written range into it, and shows that', async () => {
    const { options } = await configure({
      queue: 'range',
      options: { minPopWaitTime: 99_999, dedupWindowSeconds: -1 },
    });
    expect(options).toMatchObject({ minPopWaitTime: 60_000, dedupWindowSeconds: 0 });
    expect(
      (await configure({ queue: 'range', options: { minPopWaitTime: -1 } })).options.minPopWaitTime,
    ).toBe(0);
  });

  it('acts on the next pop', async () => {
    await broker.push(['a', 'b', 'c'].map((partition) => ({ queue: 'acts', partition, payload: 1 })));
    const leaseSeconds = async () => {
      const { body } = await broker.pop(queuePath('acts'), { consumerGroup: 'g' });
      return (await consumerRow(broker.database, 'acts', body.partition))!.leaseSecondsLeft!;
    };
    expect(await leaseSeconds()).toBeLessThanOrEqual(60);
    await configure({ queue: 'acts', options: { leaseTime: 1000 } });
    expect(await leaseSeconds()).toBeGreaterThan(950);
    await configure({ queue: 'acts', options: { leaseTime: 100 } });
    expect(await leaseSeconds()).toBeLessThanOrEqual(100);
  });

  describe('refuses', () => {
    async function refused(body: unknown) {
      const answer = await broker.post('/api/v1/configure', body);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      return answer;
    }

    it.each([
      ['without a queue', '{"options":{}}'],
      ['with a queue that is null', '{"queue":null}'],
      ['with a queue that is no text', '{"queue":7}'],
    ])('a body %s', async (_, body) => {
      expect(await refused(body)).toMatchObject({
        status: 400,
        body: { error: 'queue is required', code: 'queue_required' },
      });
    });

    it.each(['', 'x', '[]', 'null', '"queue"', '{"queue":"q"', '{"queue":"q"} x'])(
      'a body that is no JSON object: %s',
      async (body) => {
        expect(await refused(body)).toMatchObject({ status: 400, body: { code: 'bad_body' } });
      },
    );

    it.each([
      ['an empty queue name', { queue: '' }],
      ['a queue name with U+0000', { queue: 'a\0' }],
      ['a queue name with half a surrogate pair', { queue: '\ud800' }],
      ['a queue name of 256 bytes', { queue: 'x'.repeat(256) }],
      ['the queue ".."', { queue: '..' }],
      ['a namespace of 256 bytes', { queue: 'bad', namespace: 'x'.repeat(256) }],
      ['a task with U+0000', { queue: 'bad', options: { task: '\0' } }],
    ])('%s', async (_, body) => {
      expect(await refused(body)).toMatchObject({ status: 400, body: { code: 'bad_name' } });
    });

    it.each([
      ['leaseTime', 0],
      ['leaseTime', 1.5],
      ['leaseTime', '10'],
      ['leaseTime', true],
      ['leaseTime', 2_147_483_648],
      ['retryLimit', -1],
      ['delayedProcessing', -1],
      ['windowBuffer', -1],
      ['deadLetterQueue', 'true'],
      ['deadLetterQueue', 1],
      ['dedupWindowSeconds', 0.5],
      ['minPopWaitTime', '50'],
      ['namespace', 7],
      ['mode', 'overwrite'],
      ['leaseTime', { seconds: 1 }],
      ['leaseTime', [1]],
      ['leasetime', 10],
      ['constructor', 1],
      ['toString', 'x'],
      ['a"b', 1],
    ])('the option %s with %j, by name', async (name, value) => {
      const answer = await refused({ queue: 'bad', options: { [name]: value } });
      expect(answer).toMatchObject({ status: 400, body: { code: 'bad_option' } });
      expect((answer.body as { error: string }).error.replaceAll('\\', '')).toContain(name);
    });

    it('an option called __proto__, without falling for it', async () => {
      const answer = await refused('{"queue":"bad","options":{"__proto__":{"leaseTime":1}}}');
      expect(answer).toMatchObject({
        status: 400,
        body: { code: 'bad_option', error: expect.stringContaining('__proto__') },
      });
    });

    it('options that are no object', async () => {
      for (const options of [7, 'x', [1]]) {
        expect(await refused({ queue: 'bad', options })).toMatchObject({
          status: 400,
          body: { code: 'bad_option' },
        });
      }
    });

    it('and then changes nothing, not even the good part', async () => {
      await refused({ queue: 'bad', options: { leaseTime: 5, retryLimit: 'x' } });
      expect(await countRows(broker.database, 'queues', "name = 'bad'")).toBe(0);
    });
  });
});
