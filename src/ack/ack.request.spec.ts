import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BrokerError } from '../base/errors/broker-error.js';
import { UNRESOLVABLE, type AckItem } from './ack-item.js';
import { MAX_ACK_ITEMS, parseAckBatchBody, parseAckBody, type AckRequest } from './ack.request.js';

const PARTITION = '0190c1d2-aaaa-7bbb-8ccc-000000000001';
const LEASE = '0190c1d2-aaaa-7bbb-8ccc-000000000002';

const single = (value: unknown) => parseAckBody(Buffer.from(JSON.stringify(value)));
const batch = (value: unknown) => parseAckBatchBody(Buffer.from(JSON.stringify(value)));
/** The one item of a single ack whose members are `members`, raw JSON, beside a partition. */
const itemOf = (members: string) =>
  parseAckBody(Buffer.from(`{"partitionId":"${PARTITION}",${members}}`)).items[0];

function refusalOf(parse: (body: Buffer) => AckRequest, text: string): BrokerError {
  try {
    parse(Buffer.from(text));
  } catch (error) {
    if (error instanceof BrokerError) return error;
    throw error;
  }
  throw new Error('the body was taken');
}

describe('a single ack', () => {
  it('becomes a request of one item', () => {
    const body = {
      transactionId: 't',
      partitionId: PARTITION,
      status: 'failed',
      consumerGroup: 'g',
      leaseId: LEASE,
      error: 'no',
    };
    expect(single(body)).toEqual({
      group: 'g',
      items: [
        {
          transactionId: 't',
          partitionId: PARTITION,
          status: 'failed',
          leaseId: LEASE,
          error: 'no',
          rawStatus: 'failed',
          problem: null,
        },
      ],
    });
  });

  it('takes null as absent', () => {
    const item: AckItem = {
      transactionId: 't',
      partitionId: PARTITION,
      status: 'completed',
      leaseId: '',
      error: null,
      rawStatus: null,
      problem: null,
    };
    const absent = { transactionId: 't', partitionId: PARTITION };
    expect(single(absent)).toEqual({ group: '__QUEUE_MODE__', items: [item] });
    expect(single({ ...absent, status: null, consumerGroup: null, leaseId: null, error: null })).toEqual(
      single(absent),
    );
    expect(single({ ...absent, consumerGroup: '', leaseId: '' })).toEqual(single(absent));
  });

  it.each([
    ['"completed"', 'completed'],
    ['"success"', 'completed'],
    ['"acked"', 'completed'],
    ['"ok"', 'completed'],
    ['null', 'completed'],
    ['"retry"', 'retry'],
    ['"dlq"', 'dlq'],
    ['"failed"', 'failed'],
    ['"Completed"', 'failed'],
    ['"OK"', 'failed'],
    ['""', 'failed'],
    ['"completed "', 'failed'],
    ['"constructor"', 'failed'],
    ['5', 'failed'],
    ['true', 'failed'],
    ['{"a":1}', 'failed'],
  ])('of status %s means %s', (json, status) => {
    expect(itemOf(`"transactionId":"t","status":${json}`).status).toBe(status);
  });

  it('keeps what the client wrote as status', () => {
    expect(itemOf('"transactionId":"t","status":"weird"').rawStatus).toBe('weird');
    expect(itemOf('"transactionId":"t","status":{"a": 1}').rawStatus).toBe('{"a": 1}');
  });

  it('keeps the transactionId exactly, the empty one included', () => {
    for (const id of [
      '',
      ' ',
      'é😀',
      'a/b%',
      '"\\\n',
      'x'.repeat(100_000),
      '__proto__',
      "x'; drop table t;--",
    ]) {
      expect(single({ transactionId: id, partitionId: PARTITION }).items[0]).toMatchObject({
        transactionId: id,
        problem: null,
      });
    }
  });

  it('writes the partition in lower case', () => {
    expect(single({ transactionId: 't', partitionId: PARTITION.toUpperCase() }).items[0]).toMatchObject({
      partitionId: PARTITION,
      problem: null,
    });
  });

  it('lets the last of a repeated key win, with all that is wrong with it', () => {
    expect(itemOf('"transactionId":5,"transactionId":"\\ud83d","tr\\u0061nsactionId":"t"')).toMatchObject({
      transactionId: 't',
      problem: null,
    });
  });

  it('turns what PostgreSQL cannot hold in an error into U+FFFD', () => {
    expect(itemOf('"transactionId":"t","error":"a\\u0000b\\ud83d"').error).toBe('a\ufffdb\ufffd');
    expect(itemOf('"transactionId":"t","error":{"message":"no"}').error).toBe('{"message":"no"}');
  });

  it.each([
    ['{}', 'transactionId is required'],
    [`{"partitionId":"${PARTITION}"}`, 'transactionId is required'],
    [`{"partitionId":"${PARTITION}","transactionId":5}`, 'transactionId must be a string'],
    ['{"transactionId":"t"}', 'partitionId is required'],
    ['{"transactionId":"t","partitionId":null}', 'partitionId is required'],
    ['{"transactionId":"t","partitionId":[]}', 'partitionId must be a string'],
    ['{"transactionId":"t","partitionId":""}', 'partitionId must be a uuid'],
    ['{"transactionId":"t","partitionId":"Default"}', 'partitionId must be a uuid'],
    [`{"transactionId":"t","partitionId":"${PARTITION}\\n"}`, 'partitionId must be a uuid'],
    [`{"transactionId":"t","partitionId":"${PARTITION}","leaseId":5}`, 'leaseId must be a string or null'],
    [`{"transactionId":"a\\u0000","partitionId":"${PARTITION}"}`, UNRESOLVABLE],
    [`{"transactionId":"\\ud83d","partitionId":"${PARTITION}"}`, UNRESOLVABLE],
  ])('%s has a problem and is still answered', (text, problem) => {
    expect(parseAckBody(Buffer.from(text)).items).toEqual([expect.objectContaining({ problem })]);
  });

  it('never takes a lease it cannot read for none', () => {
    const { leaseId } = itemOf('"transactionId":"t","leaseId":"\\u0000"');
    expect(leaseId).toBe('\ufffd');
  });
});

describe('a batch of acks', () => {
  it('keeps its order and has its group at the top only', () => {
    const acks = ['a', 'b', 'c'].map((transactionId) => ({
      transactionId,
      partitionId: PARTITION,
      consumerGroup: 'other',
    }));
    const request = batch({ acknowledgments: acks, consumerGroup: 'g' });
    expect(request.group).toBe('g');
    expect(request.items.map(({ transactionId }) => transactionId)).toEqual(['a', 'b', 'c']);
    expect(batch({ acknowledgments: acks }).group).toBe('__QUEUE_MODE__');
  });

  it.each(['{}', '{"acknowledgments":null}', '{"acknowledgments":[]}', '{"acks":[{}]}'])(
    '%s holds none',
    (text) => {
      expect(parseAckBatchBody(Buffer.from(text))).toEqual({ group: '__QUEUE_MODE__', items: [] });
    },
  );

  it('answers elements that are no acks in their place', () => {
    const { items } = batch({
      acknowledgments: [5, null, [], { transactionId: 't', partitionId: PARTITION }],
    });
    const problem = 'an acknowledgment must be an object';
    expect(items.map((item) => item.problem)).toEqual([problem, problem, problem, null]);
  });

  it('mixes statuses and leases', () => {
    const { items } = batch({
      acknowledgments: [
        { transactionId: 'a', partitionId: PARTITION, leaseId: LEASE },
        { transactionId: 'b', partitionId: PARTITION, status: 'retry' },
        { transactionId: 'c', partitionId: LEASE, status: 'dlq', error: 'x', leaseId: LEASE },
      ],
    });
    expect(items.map(({ status, leaseId, partitionId }) => [status, leaseId, partitionId])).toEqual([
      ['completed', LEASE, PARTITION],
      ['retry', '', PARTITION],
      ['dlq', LEASE, LEASE],
    ]);
  });

  it('holds no more acks than one request may cost memory', () => {
    const body = (count: number) => `{"acknowledgments":[${Array(count).fill('{}').join()}]}`;
    expect(parseAckBatchBody(Buffer.from(body(MAX_ACK_ITEMS))).items).toHaveLength(MAX_ACK_ITEMS);
    expect(refusalOf(parseAckBatchBody, body(MAX_ACK_ITEMS + 1))).toMatchObject({
      code: 'body_too_large',
      status: 413,
    });
  });
});

describe('an ack body that is refused', () => {
  const deep = '['.repeat(5_000) + ']'.repeat(5_000);

  it.each([
    ['', 'bad_body', 'bad body: the body is empty'],
    ['[]', 'bad_body', 'bad body: expected an object'],
    ['nope', 'bad_body', 'bad body: expected an object'],
    ['{"transactionId":"t"', 'bad_body', "bad body: not JSON: expected ',' or '}' at byte 20"],
    ['{} x', 'bad_body', 'bad body: not JSON: expected the end of the text at byte 3'],
    ['{"consumerGroup":5}', 'bad_body', 'bad body: consumerGroup must be a string or null'],
    ['{"consumerGroup":"\\u0000"}', 'bad_body', 'bad body: consumerGroup must not contain U+0000'],
    ['{"consumerGroup":"\\ud83d"}', 'bad_body', 'bad body: consumerGroup must not contain a lone surrogate'],
    [`{"error":${deep}}`, 'json_too_deep', expect.stringMatching(/512/)],
  ])('%.30s says why on both routes', (text, code, message) => {
    expect(refusalOf(parseAckBody, text)).toMatchObject({ code, status: 400, message });
    expect(refusalOf(parseAckBatchBody, text)).toMatchObject({ code, status: 400, message });
  });

  it('is refused when acknowledgments is no list', () => {
    expect(refusalOf(parseAckBatchBody, '{"acknowledgments":{}}').message).toBe(
      'bad body: acknowledgments must be an array',
    );
  });
});

describe('any JSON whatsoever', () => {
  const field = fc.oneof(
    fc.constantFrom<unknown>(null, '', 't', PARTITION, 'ok', 'retry'),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const ack = fc.oneof(
    fc.record(
      { transactionId: field, partitionId: field, status: field, leaseId: field, error: field },
      { requiredKeys: [] },
    ),
    fc.jsonValue({ maxDepth: 1 }),
  );

  it('gets one item for each ack, and an id that is used is a text or has a problem', () => {
    fc.assert(
      fc.property(fc.array(ack), (acks) => {
        const { items } = batch({ acknowledgments: acks });
        expect(items).toHaveLength(acks.length);
        items.forEach((item, i) => {
          const sent = (acks[i] ?? {}) as Record<string, unknown>;
          if (item.problem !== null) return;
          expect(item.transactionId).toBe(sent.transactionId);
          expect(item.partitionId).toBe(String(sent.partitionId).toLowerCase());
          expect(item.leaseId).toBe(sent.leaseId ?? '');
        });
      }),
      { numRuns: 500 },
    );
  });
});
