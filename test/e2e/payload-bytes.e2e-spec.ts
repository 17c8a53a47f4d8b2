import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { countRows } from '../support/make.js';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

async function pushRaw(
  queue: string,
  payload: string,
  around = '',
): Promise<{ status: number; text: string }> {
  const body = `{"items":[{"queue":${JSON.stringify(queue)},"payload":${around}${payload}${around}}]}`;
  const response = await fetch(`${broker.base}/api/v1/push`, { method: 'POST', body });
  return { status: response.status, text: await response.text() };
}

/** The text of `data` in the reply to a pop of one message: what stands between its key and the next one. */
function dataOf(text: string): string {
  const start = text.indexOf('"data":') + '"data":'.length;
  return text.slice(start, text.lastIndexOf(',"producerSub"'));
}

describe('a payload comes back byte for byte (A02)', () => {
  it.each([
    ['an integer beyond 2^53', '9007199254740993'],
    ['an integer beyond 2^64', '123456789012345678901234567890'],
    ['minus zero', '-0'],
    ['a number beyond a double', '1e400'],
    ['a fraction with a zero', '1.0'],
    ['a fraction', '0.1'],
    ['an exponent in its own spelling', '1E+02'],
    ['a key twice', '{"a":1,"a":2}'],
    ['keys that look like numbers, in their order', '{"b":1,"10":2,"9":3,"a":4}'],
    ['keys of Object.prototype', '{"__proto__":{"polluted":true},"constructor":1}'],
    ['white space inside', '{ "a" :\t[ 1 ,\n2 ]\r\n}'],
    ['escapes where none are needed', '"\\u0041\\/\\u00e9"'],
    ['an escaped U+0000', '"a\\u0000b"'],
    ['half a surrogate pair', '"\\ud83d"'],
    ['a pair as escapes', '"\\ud83d\\ude00"'],
    ['the same as bytes', '"😀é\u2028"'],
    ['nothing at all', '""'],
    ['null', 'null'],
    ['an empty list', '[]'],
    ['a megabyte', `"${'x'.repeat(1024 * 1024)}"`],
    ['what looks like a message', '{"data":1,"producerSub":null,"messages":[]}'],
  ])('%s', async (what, payload) => {
    const queue = `bytes ${what}`;
    expect(await pushRaw(queue, payload, ' \n')).toMatchObject({ status: 201 });
    for (const path of [queuePath(queue), partitionPath(queue, 'Default')]) {
      const { text } = await broker.pop(path, { consumerGroup: path });
      expect(dataOf(text) === payload ? 'the same' : dataOf(text).slice(0, 200)).toBe('the same');
    }
  });

  it('among many in one batch, compressed together', async () => {
    const payloads = Array.from(
      { length: 500 },
      (_, i) => `{"n":${i}.${'0'.repeat(i % 7)}1,"same":"${'y'.repeat(i % 50)}"}`,
    );
    const body = `{"items":[${payloads.map((payload) => `{"queue":"many","partition":"p","payload":${payload}}`).join(',')}]}`;
    await fetch(`${broker.base}/api/v1/push`, { method: 'POST', body });
    const { text } = await broker.pop(queuePath('many'), { batch: 1000 });
    const found = [...text.matchAll(/"data":(\{.*?\}),"producerSub"/g)].map(([, data]) => data);
    expect(found).toEqual(payloads);
  });
});

describe('nesting (A03)', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

  it('up to the limit comes back', async () => {
    for (const payload of [nested(512), '{"a":'.repeat(512) + '1' + '}'.repeat(512)]) {
      const queue = `depth ${payload[0]}`;
      expect(await pushRaw(queue, payload)).toMatchObject({ status: 201 });
      expect(dataOf((await broker.pop(queuePath(queue))).text)).toBe(payload);
    }
  });

  it.each([513, 5000, 100_000])(
    'of %i levels is refused, nothing of its batch is stored, and the broker goes on',
    async (depth) => {
      const { status, text } = await pushRaw('too deep', nested(depth));
      expect([status, JSON.parse(text)]).toMatchObject([
        400,
        { code: 'json_too_deep', error: expect.stringContaining('512') },
      ]);
      const mixed = `{"items":[{"queue":"too deep","payload":1},{"queue":"too deep","payload":${nested(depth)}}]}`;
      expect(await broker.post('/api/v1/push', mixed)).toMatchObject({ status: 400 });
      // The list itself is not counted; what one more level makes of its first item is an item's own error.
      expect(await broker.post('/api/v1/ack/batch', `{"acknowledgments":${nested(depth)}}`)).toMatchObject({
        status: depth === 513 ? 200 : 400,
      });
      expect(
        await broker.post('/api/v1/configure', `{"queue":"too deep","x":${nested(depth)}}`),
      ).toMatchObject({ status: 400 });
      expect(await countRows(broker.database, 'queues', "name = 'too deep'")).toBe(0);
      expect(await broker.get('/health')).toMatchObject({ status: 200 });
    },
  );

  it('that is never closed is refused, however deep', async () => {
    for (const payload of ['['.repeat(100_000), '{"a":'.repeat(100_000), '[{"":'.repeat(50_000)]) {
      expect(await pushRaw('too deep', payload)).toMatchObject({ status: 400 });
    }
  });
});
