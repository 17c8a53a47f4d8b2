import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { SpoolMessage } from '../base/spool/push-spool.js';
import { mintUuid } from '../segment/uuid-v7.js';
import { decodeRecord, encodeRecord } from './spool-record.js';

function message(values: Partial<SpoolMessage> = {}): SpoolMessage {
  return {
    target: { tenant: 't', queue: 'q', partition: 'p' },
    messageId: mintUuid(1_700_000_000_000),
    transactionId: Buffer.from('id'),
    ...{ traceId: null, producerSub: null, headers: null, encrypted: false },
    payload: Buffer.from('1'),
    ...values,
  };
}

/** Without its length, which must be right. */
function record(of: SpoolMessage): Buffer {
  const bytes = Buffer.concat(encodeRecord(of));
  expect(bytes.readUInt32LE(0)).toBe(bytes.length - 4);
  return bytes.subarray(4);
}

describe('a record', () => {
  it('is one JSON object, with the payload as it came', () => {
    const text = record(message({ payload: Buffer.from('{"b":1.50, "a":1e400,"a":"\\u0000"}') })).toString();
    expect(text).toContain('"payload":{"b":1.50, "a":1e400,"a":"\\u0000"}}');
    expect(JSON.parse(text)).toMatchObject({
      ...{ tenant: 't', queue: 'q', partition: 'p', transactionId: 'id', encrypted: false },
    });
  });

  it('gives back all that a message is', () => {
    fc.assert(
      fc.property(
        fc.record({
          target: fc.record({ tenant: fc.string(), queue: fc.string(), partition: fc.string() }),
          transactionId: fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
          traceId: fc.option(fc.constant(mintUuid(5))),
          producerSub: fc.option(fc.string({ unit: 'binary' }).map((text) => Buffer.from(text))),
          headers: fc.option(
            fc.dictionary(fc.string(), fc.string()).map((o) => Buffer.from(JSON.stringify(o))),
          ),
          encrypted: fc.boolean(),
          payload: fc.json().map((json) => Buffer.from(json)),
        }),
        (values) => {
          const original = message(values);
          const { payload, ...rest } = decodeRecord(record(original));
          expect(payload.toString()).toBe(original.payload.toString().trim());
          expect({ ...rest, payload: original.payload }).toEqual(original);
        },
      ),
    );
  });

  it('writes an empty payload, which stands for null, as null', () => {
    expect(decodeRecord(record(message({ payload: Buffer.alloc(0) }))).payload.toString()).toBe('null');
  });

  it('ignores what a later version may add', () => {
    const text = record(message()).toString().replace('{', '{"new":{"a":[1]},"newer":"x",');
    expect(decodeRecord(Buffer.from(text)).target.queue).toBe('q');
  });

  it.each([
    ['no JSON', 'x'],
    ['no object', '[]'],
    ['half an object', '{"tenant":"t"'],
    ['something behind it', `${record(message()).toString()} 1`],
    ['no payload', record(message()).toString().replace('"payload"', '"load"')],
    ['no queue', record(message()).toString().replace('"queue"', '"line"')],
    [
      'no uuid for an id',
      record(message())
        .toString()
        .replace(/"messageId":"[^"]*"/, '"messageId":"7"'),
    ],
  ])('refuses %s', (_, text) => {
    expect(() => decodeRecord(Buffer.from(text))).toThrow();
  });
});
