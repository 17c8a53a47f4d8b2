import { isUtf8 } from 'node:buffer';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fuzz, FUZZ_TIMEOUT_MS } from '../../test/support/fuzz.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { parsePushBody, parsePushBodyInSlices } from './push.request.js';

/** JSON as text, in spellings that JSON.stringify never chooses, and now and then one that is none. */
const mostly = (sound: readonly string[], other: readonly string[]) =>
  fc.oneof(
    { weight: 25, arbitrary: fc.constantFrom(...sound) },
    { weight: 1, arbitrary: fc.constantFrom(...other) },
  );
const number = mostly(
  [
    ...['0', '-0', '1.0', '0.1', '1E+02', '-1e-7', '1e400', '9007199254740991', '9007199254740993'],
    ...['-9007199254740993', '12345678901234567890', '0.30000000000000004'],
  ],
  ['01', '+1', '1.', '.5', '1e', '-', '0x10', 'NaN', '-Infinity', '1_0'],
);
const string = mostly(
  [
    ...['""', '"a"', '"\\u0061"', '"\\/"', '"é😀"', '"\\ud83d"', '"\\ud83d\\ude00"', '"\\u0000"', '"\u2028"'],
    '"\x7f"',
  ],
  ['"\\x41"', '"\\u12"', '"\t"', '"\0"', "'a'", '"a', '"\\"', '"\\u{61}"'],
);
const word = mostly(['null', 'true', 'false'], ['nul', 'True', 'undefined', 'truefalse']);
const space = mostly(['', ' ', '\n', '\t\r\n'], ['\u00a0', '\ufeff', '\v']);

const { value } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    ...[number, string, word, tie('array'), tie('object')],
  ),
  array: fc
    .tuple(fc.array(fc.tuple(space, tie('value'), space), { maxLength: 3 }), mostly([']'], [',]', '']))
    .map(([items, end]) => `[${items.map((parts) => parts.join('')).join(',')}${end}`),
  object: fc
    .tuple(
      fc.array(
        fc.tuple(space, fc.oneof(string, mostly(['"a"', '"__proto__"'], ['a'])), space, tie('value')),
        {
          maxLength: 3,
        },
      ),
      mostly(['}'], [',}', '']),
    )
    .map(
      ([members, end]) =>
        `{${members.map(([a, key, b, content]) => `${a}${key}${b}:${content}`).join(',')}${end}`,
    ),
}));

/** A byte that is put somewhere in place of another. */
const fault = fc.oneof(
  { weight: 8, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.tuple(fc.nat(), fc.nat(255)) },
);

const takesIt = (bytes: Buffer) => {
  try {
    JSON.parse(bytes.toString());
    return isUtf8(bytes);
  } catch {
    return false;
  }
};

const bodyOf = (payloads: readonly Buffer[]) =>
  Buffer.concat([
    Buffer.from('{"items":['),
    ...payloads.flatMap((payload, i) => [
      Buffer.from(`${i === 0 ? '' : ','}{"queue":"q","payload":`),
      payload,
      Buffer.from(',"partition":"p"}'),
    ]),
    Buffer.from(']}'),
  ]);

/** The payloads as they would be stored; null when the body is refused. Any other error fails the test. */
async function payloadsOf(body: Buffer, sliceBytes: number | null): Promise<string[] | null> {
  try {
    const { items } =
      sliceBytes === null ? parsePushBody(body) : await parsePushBodyInSlices(body, sliceBytes);
    return items.map(({ payload }) => payload.toString('latin1'));
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    expect(error.code).toBe('bad_body');
    return null;
  }
}

describe('the payloads of a push', () => {
  it(
    'are taken when JSON.parse takes them, and then byte for byte',
    async () => {
      const seen = { accepted: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(value, fault), {
            minLength: 1,
            maxLength: 3,
          }),
          fc.constantFrom(null, 1, 7, 40),
          async (spelled, sliceBytes) => {
            const payloads = spelled.map(([text, change]) => {
              const bytes = Buffer.from(text);
              if (change && bytes.length > 0) bytes[change[0] % bytes.length] = change[1];
              return bytes;
            });
            const body = bodyOf(payloads);
            const isJson = takesIt(body);
            const stored = await payloadsOf(body, sliceBytes);
            if (isJson && payloads.every(takesIt)) {
              seen.accepted++;
              expect(stored).toEqual(payloads.map((payload) => payload.toString('latin1').trim()));
              // In between: a fault that ends the payload early and makes other members of what follows.
            } else if (!isJson) {
              seen.refused++;
              expect(stored).toBeNull();
            }
          },
        ),
        fuzz(2500),
      );
      expect(seen.accepted).toBeGreaterThan(200);
      expect(seen.refused).toBeGreaterThan(200);
    },
    FUZZ_TIMEOUT_MS,
  );
});
