import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fuzz, FUZZ_TIMEOUT_MS } from '../../test/support/fuzz.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { PopRequestParser, type PopTarget } from './pop.request.js';

const TIMEOUT_DEFAULT_MS = 12_345;
const RANGES: Record<string, [min: number, max: number]> = {
  batch: [-2147483648, 2147483647],
  partitions: [-2147483648, 2147483647],
  timeout: [0, 2147483647],
  leaseSeconds: [-2147483648, 2147483647],
};
const BOOLEANS = ['autoAck', 'wait'];
const NAMES = ['consumerGroup', 'namespace', 'task'];
const TEXTS = ['subscriptionMode', 'subscriptionFrom'];
const KNOWN = [...Object.keys(RANGES), ...BOOLEANS, ...NAMES, ...TEXTS];

const isLegalName = (name: string) =>
  name !== '.' &&
  name !== '..' &&
  !name.includes('\0') &&
  Buffer.from(name).toString() === name &&
  Buffer.byteLength(name) <= 255;

/** The rules of http-api 3.2 once more, in the plainest way: the code of the refusal, or what is asked for. */
function modelOf(target: PopTarget, query: string): string | Record<string, unknown> {
  const pairs = [...new URLSearchParams(query)].filter(([name]) => KNOWN.includes(name));
  const given = new Map(pairs);
  if (given.size < pairs.length) return 'bad_parameter';
  for (const [name, value] of given) {
    if (BOOLEANS.includes(name) && value !== 'true' && value !== 'false') return 'bad_parameter';
    const range = RANGES[name];
    if (range === undefined) continue;
    if (!/^-?[0-9]+$/.test(value) || value.replace('-', '').length > 15) return 'bad_parameter';
    if (Number(value) < range[0] || Number(value) > range[1]) return 'bad_parameter';
  }
  const text = (name: string) => given.get(name) ?? '';
  if (target.scope === 'discovery' && text('namespace') === '' && text('task') === '') return 'no_filter';
  if (!NAMES.every((name) => isLegalName(text(name)))) return 'bad_name';
  const number = (name: string, whenAbsent: number) => Number(given.get(name) ?? whenAbsent);
  const leaseSeconds = number('leaseSeconds', 0);
  const partitions = number('partitions', 1);
  return {
    group: text('consumerGroup') || '__QUEUE_MODE__',
    namespace: text('namespace'),
    task: text('task'),
    batch: Math.min(10_000, Math.max(1, number('batch', 200))),
    partitions: partitions <= 0 ? 1000 : Math.min(1000, partitions),
    autoAck: text('autoAck') === 'true',
    wait: text('wait') === 'true',
    timeoutMs: Math.min(3_600_000, number('timeout', TIMEOUT_DEFAULT_MS)),
    leaseSeconds: leaseSeconds <= 0 ? null : Math.min(604_800, leaseSeconds),
    subscriptionMode: ['new', 'new-only', 'new_only', 'newonly'].includes(
      text('subscriptionMode').toLowerCase(),
    )
      ? 'new'
      : 'all',
    subscriptionFrom: text('subscriptionFrom').replaceAll('\0', '\ufffd'),
  };
}

/** The request without what no query decides, or the code of the refusal. Any other error fails the test. */
function actualOf(parser: PopRequestParser, target: PopTarget, query: string) {
  try {
    const request = parser.of(`/${target.scope}?${query}`, target, 'tenant');
    expect(request.workerId).toMatch(/^[0-9a-f-]{36}$/);
    const { tenant, scope, key, wakeKey, queue, partition, workerId, clamped, ...asked } = request;
    void [tenant, scope, key, wakeKey, queue, partition, workerId, clamped];
    return asked;
  } catch (error) {
    if (!(error instanceof BrokerError)) throw error;
    expect(error.message).not.toBe('');
    return error.code;
  }
}

const integer = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom('0', '-0', '-1', '1', '007', '10000', '10001', '604801', '2147483647', '2147483648'),
  fc.constantFrom(
    '-2147483648',
    '-2147483649',
    '9007199254740993',
    '1e9',
    '0x10',
    '1.5',
    ' 1',
    '1 ',
    '+1',
    '',
  ),
  fc.constantFrom('NaN', 'Infinity', '10abc', '١', '１', '1_000', '999999999999999', '1000000000000000'),
);
const text = fc.oneof(
  fc.constantFrom(
    '',
    '.',
    '..',
    'g',
    'new',
    'NEW-ONLY',
    'now',
    '__QUEUE_MODE__',
    '__proto__',
    '%',
    '%zz',
    '%00',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.integer({ min: 250, max: 260 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 125, max: 130 }).map((length) => 'é'.repeat(length)),
);
const boolean = fc.constantFrom('true', 'false', 'TRUE', '1', '', 'yes', 'true ');
const valueFor = (name: string) => (name in RANGES ? integer : BOOLEANS.includes(name) ? boolean : text);
const pair = fc
  .constantFrom(...KNOWN, 'batch[]', 'Batch', 'wait ', '', '__proto__', 'constructor')
  .chain((name) =>
    fc.tuple(fc.constant(name), fc.oneof({ weight: 8, arbitrary: valueFor(name) }, integer, text)),
  );

/** As clients spell it, and as none does. */
const query = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.array(pair, { maxLength: 6 }).map((pairs) => new URLSearchParams(pairs).toString()),
  },
  {
    weight: 2,
    arbitrary: fc
      .array(pair, { maxLength: 4 })
      .map((pairs) => Buffer.from(pairs.map((one) => one.join('=')).join('&')).toString('latin1')),
  },
  fc
    .array(
      fc.constantFrom('batch', 'wait', '=', '&', '&&', '?', '#', '%', '%2', '%3D', '+', '1', 'true', ';'),
    )
    .map((tokens) => tokens.join('')),
);
const target = fc.constantFrom<PopTarget>(
  { scope: 'queue', queue: 'q' },
  { scope: 'partition', queue: 'q', partition: '' },
  { scope: 'discovery' },
);

describe('the query of a pop', () => {
  it(
    'asks for what its rules say, or is refused with the code they say',
    () => {
      const parser = new PopRequestParser(TIMEOUT_DEFAULT_MS);
      const seen = new Set<string>();
      fc.assert(
        fc.property(target, query, (where, asked) => {
          const expected = modelOf(where, asked);
          seen.add(typeof expected === 'string' ? expected : 'accepted');
          expect(actualOf(parser, where, asked)).toEqual(expected);
        }),
        fuzz(4000),
      );
      expect([...seen].sort()).toEqual(['accepted', 'bad_name', 'bad_parameter', 'no_filter']);
    },
    FUZZ_TIMEOUT_MS,
  );
});
