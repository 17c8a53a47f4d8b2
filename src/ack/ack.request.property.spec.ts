import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fuzz, FUZZ_TIMEOUT_MS } from '../../test/support/fuzz.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { UNRESOLVABLE, type AckItem } from './ack-item.js';
import { parseAckBatchBody, parseAckBody } from './ack.request.js';

const COMPLETED = ['completed', 'success', 'acked', 'ok'];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const isFlawed = (text: string) => text.includes('\0') || !text.isWellFormed();
const tidied = (text: string) => text.toWellFormed().replaceAll('\0', '\ufffd');

/** The JSON of a field that people read: its text, or the value once more when it is another type. */
const readable = (value: unknown) =>
  value === undefined || value === null ? null : typeof value === 'string' ? tidied(value) : { json: value };

/** The rules of http-api 3.4 over what JSON.parse makes of an acknowledgement. */
function modelOf(sent: unknown) {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) {
    return { problem: 'an acknowledgment must be an object', status: 'failed', rawStatus: null, error: null };
  }
  const field = (name: string): unknown =>
    Object.hasOwn(sent, name) ? (sent as Record<string, unknown>)[name] : null;
  const [id, partition, lease, status] = ['transactionId', 'partitionId', 'leaseId', 'status'].map(field);
  const missing = (name: string, value: unknown) =>
    value === null ? `${name} is required` : typeof value === 'string' ? null : `${name} must be a string`;
  const problem =
    missing('transactionId', id) ??
    missing('partitionId', partition) ??
    (UUID.test(partition as string) ? null : 'partitionId must be a uuid') ??
    (lease === null || typeof lease === 'string' ? null : 'leaseId must be a string or null') ??
    (isFlawed(id as string) ? UNRESOLVABLE : null);
  return {
    problem,
    status:
      status === null || COMPLETED.includes(status as string)
        ? 'completed'
        : status === 'retry' || status === 'dlq'
          ? status
          : 'failed',
    rawStatus: readable(status),
    error: readable(field('error')),
    ...(problem === null
      ? {
          transactionId: id,
          partitionId: (partition as string).toLowerCase(),
          leaseId: lease === null ? '' : tidied(lease as string),
        }
      : {}),
  };
}

/** The same of an item that was read; `like` says which texts stand for a value of another type. */
function shown(item: AckItem, like: ReturnType<typeof modelOf>) {
  const { transactionId, partitionId, leaseId, problem, status } = item;
  const parsed = (text: string | null, expected: unknown) =>
    typeof expected === 'object' && expected !== null && text !== null
      ? { json: JSON.parse(text) as unknown }
      : text;
  return {
    problem,
    status,
    rawStatus: parsed(item.rawStatus, like.rawStatus),
    error: parsed(item.error, like.error),
    ...(problem === null ? { transactionId, partitionId, leaseId } : {}),
  };
}

const units = fc
  .array(fc.constantFrom(0, 0x22, 0x5c, 0x41, 0xe9, 0xd83d, 0xde00, 0xffff), { maxLength: 4 })
  .map((codes) => String.fromCharCode(...codes));
const uuid = fc.oneof(
  fc.uuid(),
  fc.uuid().map((id) => id.toUpperCase()),
);
const value = fc.oneof(units, fc.constant(null), fc.jsonValue({ maxDepth: 2 }));
const member = fc.oneof(
  fc.tuple(fc.constant('transactionId'), fc.oneof({ weight: 4, arbitrary: units }, value)),
  fc.tuple(fc.constant('partitionId'), fc.oneof({ weight: 6, arbitrary: uuid }, value)),
  fc.tuple(fc.constant('leaseId'), fc.oneof({ weight: 3, arbitrary: units }, value)),
  fc.tuple(
    fc.constant('status'),
    fc.oneof(fc.constantFrom(...COMPLETED, 'retry', 'dlq', 'Completed', ''), value),
  ),
  fc.tuple(fc.constant('error'), value),
  fc.tuple(fc.constantFrom('__proto__', 'constructor', 'other', '', 'transactionid'), value),
);
/** As text, since no object has a key twice. */
const objectText = fc
  .tuple(fc.option(fc.tuple(units, uuid), { freq: 6 }), fc.array(member, { maxLength: 7 }))
  .map(([sound, members]) => {
    const all: [string, unknown][] = sound ? [...members] : members;
    if (sound) all.push(['transactionId', sound[0]], ['partitionId', sound[1]]);
    return `{${all.map(([name, content]) => `${JSON.stringify(name)}: ${JSON.stringify(content)}`).join(' ,')}}`;
  });
const ackText = fc.oneof(
  { weight: 8, arbitrary: objectText },
  fc.jsonValue({ maxDepth: 1 }).map((json) => JSON.stringify(json)),
);

describe('an acknowledgement', () => {
  it(
    'in a batch is read as the rules say over JSON.parse, whatever it is made of',
    () => {
      let sound = 0;
      fc.assert(
        fc.property(fc.array(ackText, { maxLength: 5 }), (texts) => {
          const { items } = parseAckBatchBody(Buffer.from(`{"acknowledgments":[${texts.join('\n,')}]}`));
          const expected = texts.map((text) => modelOf(JSON.parse(text)));
          expect(items.map((item, i) => shown(item, expected[i]))).toEqual(expected);
          sound += items.filter(({ problem }) => problem === null).length;
        }),
        fuzz(1500),
      );
      expect(sound).toBeGreaterThan(100); // else only refusals are compared
    },
    FUZZ_TIMEOUT_MS,
  );

  it(
    'on its own is read the same',
    () => {
      fc.assert(
        fc.property(objectText, (text) => {
          const expected = modelOf(JSON.parse(text));
          expect(shown(parseAckBody(Buffer.from(text)).items[0], expected)).toEqual(expected);
        }),
        fuzz(1500),
      );
    },
    FUZZ_TIMEOUT_MS,
  );

  it(
    'is refused by nothing but an error of ours, whatever bytes come',
    () => {
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 60 }).map((some) => Buffer.from(some)),
        fc.tuple(objectText, fc.nat(), fc.nat(255)).map(([text, at, byte]) => {
          const damaged = Buffer.from(`{"consumerGroup":"g","acknowledgments":[${text}]}`);
          damaged[at % damaged.length] = byte;
          return damaged;
        }),
      );
      fc.assert(
        fc.property(bytes, (body) => {
          for (const parse of [parseAckBody, parseAckBatchBody]) {
            try {
              expect(Array.isArray(parse(body).items)).toBe(true);
            } catch (error) {
              if (!(error instanceof BrokerError)) throw error;
              expect(error.code).toBe('bad_body');
            }
          }
        }),
        fuzz(3000),
      );
    },
    FUZZ_TIMEOUT_MS,
  );
});
