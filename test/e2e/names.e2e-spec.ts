import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { countRows } from '../support/make.js';
import { RawConnection, rawRequest } from '../support/raw-http.js';

const URL_NAMES = [
  'a/b',
  'a%2Fb',
  'a b',
  'a+b',
  'a?b',
  'a#b',
  'a&b=c',
  'a;b',
  '/',
  '//',
  '%',
  '%zz',
  '%2e%2e',
  '...',
  '~',
  '*',
  ':x',
  '@',
  '😀',
  '\u00e9',
  'e\u0301',
  'ｆｕｌｌ',
  '\u200b',
  '\ufeff',
  ' a ',
  '\t',
  'a\nb',
  '\u007f',
];
const SQL_NAMES = [
  "x'; drop table queen.queues;--",
  '"',
  '""',
  "'",
  '$$',
  '$1',
  '%s',
  '\\',
  "\\'",
  '{0}',
  ':p',
  '@p',
  '%',
  '_',
  '--',
  '/*',
  "E'\\'",
  'null',
  '1; select pg_sleep(5)',
];
const JS_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'undefined',
  'NaN',
  '0',
  '-1',
  'true',
  '[object Object]',
];

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

async function json(answer: Promise<{ status: number; body: unknown }>): Promise<Record<string, unknown>> {
  const { status, body } = await answer;
  expect(status).toBe(200);
  return body as Record<string, unknown>;
}

describe.each([...URL_NAMES, ...SQL_NAMES, ...JS_NAMES].map((name) => [JSON.stringify(name), name]))(
  'the name %s',
  (_, name) => {
    it('is a queue, a partition, a group and an id on every route (A04, A05)', async () => {
      expect(
        await json(
          broker.post('/api/v1/configure', {
            queue: name,
            options: { leaseTime: 100, namespace: name, task: name },
          }),
        ),
      ).toMatchObject({ queue: name, namespace: name, task: name });
      const pushed = await broker.push(
        [1, 2, 3].map((payload) => ({
          queue: name,
          partition: name,
          transactionId: `${name}${payload}`,
          payload,
        })),
      );
      expect(pushed.body).toMatchObject(
        [1, 2, 3].map((n) => ({ queueName: name, transaction_id: `${name}${n}`, status: 'queued' })),
      );

      const query = { consumerGroup: name, batch: 1 };
      for (const [path, data] of [
        [queuePath(name), 1],
        [partitionPath(name, name), 2],
        ['', 3],
      ] as const) {
        const { status, body } = await broker.pop(path, { ...query, namespace: name, task: name });
        expect([path, status]).toEqual([path, 200]);
        expect(body).toMatchObject({
          partition: name,
          consumerGroup: name,
          messages: [{ data, transactionId: `${name}${data}`, queue: name }],
        });
        expect((await broker.ackBatch(acksFor(body.messages))).body).toMatchObject([
          { transactionId: `${name}${data}`, success: true, noop: false },
        ]);
      }
      expect(await broker.pop(queuePath(name), query)).toMatchObject({ status: 204 });
      expect(await json(broker.del(`/api/v1/resources/queues/${encodeURIComponent(name)}`))).toEqual({
        deleted: true,
        queue: name,
        existed: true,
      });
    });
  },
);

it('nothing was dropped, and nobody else was touched (A05)', async () => {
  expect(await countRows(broker.database, 'queues')).toBe(0);
});

describe('names that are easy to take for one another (A04, A06)', () => {
  it.each([
    ['a space and a plus', ['a b', 'a+b', 'a%20b', 'a%2Bb']],
    ['the two spellings of é', ['\u00e9', 'e\u0301']],
    ['letters of two alphabets', ['p', '\u0440']],
    ['upper and lower case', ['Q', 'q']],
    ['what stands at the ends', ['n', 'n ', ' n', 'n\n', 'n\u00a0']],
    ['the default partition and its name in other letters', ['Default', 'default', '']],
  ])('are different partitions and groups: %s', async (what, names) => {
    const queue = `alike ${what}`;
    await broker.push(names.map((partition) => ({ queue, partition, payload: `of ${partition}` })));
    for (const partition of names) {
      for (const consumerGroup of names.filter((group) => group !== '')) {
        const { body } = await broker.pop(partitionPath(queue, partition), { consumerGroup });
        expect(body).toMatchObject({ partition, consumerGroup, messages: [{ data: `of ${partition}` }] });
      }
    }
  });
});

describe('a group (A06)', () => {
  it.each([
    ['of 256 bytes', 'g'.repeat(256), /^consumerGroup must not be longer than 255 bytes/],
    ['of 128 letters that take 256 bytes', 'é'.repeat(128), /^consumerGroup must not be longer/],
    ['with U+0000', 'a\0b', /^consumerGroup must not contain U\+0000/],
    ['called ".."', '..', /^consumerGroup must not be/],
  ])('%s is refused by every route, which names the rule', async (_, group, rule) => {
    for (const path of [queuePath('q'), partitionPath('q', 'p'), '']) {
      const { status, body } = await broker.pop(path, { consumerGroup: group, namespace: 'n' });
      expect([path, status]).toEqual([path, 400]);
      expect(body).toMatchObject({ code: 'bad_name', error: expect.stringMatching(rule) });
    }
    const ack = await broker.ack({
      transactionId: 't',
      partitionId: broker.database.name,
      consumerGroup: group,
    });
    expect(ack).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/consumerGroup must not/) },
    });
  });

  it('of 255 bytes works', async () => {
    const consumerGroup = 'é'.repeat(127) + 'g';
    await broker.push([{ queue: 'long group', payload: 1 }]);
    const { body } = await broker.pop(queuePath('long group'), { consumerGroup });
    expect((await broker.ackBatch(acksFor(body.messages))).body).toMatchObject([{ success: true }]);
  });
});

describe('a path (A04)', () => {
  const status = async (path: string, method = 'GET') => {
    const connection = await RawConnection.open(broker.port);
    const response = await connection.send(rawRequest(method, path)).response();
    connection.destroy();
    return response;
  };

  it('with dots goes nowhere else: they are names, and bad ones', async () => {
    for (const path of [
      '/api/v1/pop/queue/..',
      '/api/v1/pop/queue/.',
      '/api/v1/pop/queue/%2e%2e',
      '/api/v1/pop/queue/q/partition/..',
    ]) {
      const { status: code, body } = await status(path);
      expect([path, code, JSON.parse(body.toString())]).toMatchObject([path, 400, { code: 'bad_name' }]);
    }
    for (const path of [
      '/api/v1/pop/queue/../../../health',
      '/api/v1/pop/queue/q/../../push',
      '/../health',
      '/api/v1/pop/queue/..%2fhealth/x',
    ]) {
      expect([path, (await status(path)).status]).toEqual([path, 404]);
    }
    await status('/api/v1/resources/queues/x%2F..%2Fy', 'DELETE');
    expect(await countRows(broker.database, 'queues', "name = 'y'")).toBe(0);
  });

  it('that an intermediary decoded reaches another name or none, never a wrong route', async () => {
    await broker.push([{ queue: 'a/b', partition: 'p', payload: 1 }]);
    expect((await status('/api/v1/pop/queue/a/b')).status).toBe(404);
    expect((await status('/api/v1/pop/queue/a%252Fb')).status).toBe(204);
    expect((await status('/api/v1/pop/queue/a%2fb')).status).toBe(200);
  });
});
