import { beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { AckRegistry } from '../ack-registry/ack-registry.js';
import { IdHashes } from '../ack-registry/id-hashes.js';
import { PartitionMemo } from '../ack-registry/partition-memo.js';
import { ManualClock } from '../base/clock/manual-clock.js';
import { BrokerError } from '../base/errors/broker-error.js';
import type { HotlistService } from '../hotlist/hotlist.service.js';
import type { LimiterService } from '../limiter/limiter.service.js';
import type { Procedure } from '../raw-sql/procedure.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { encodeSegment } from '../segment/segment.js';
import { hashTransactionId } from '../segment/transaction-hash.js';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import { type AckItem, UNRESOLVABLE } from './ack-item.js';
import { AckLane } from './ack-lane.js';
import { FLUSH_FAILED_ERROR, STALE_ERROR } from './ack-result.js';
import type { AckByHashArgs, DeadLetterArgs } from './ack.procedures.js';
import { AckService } from './ack.service.js';
import { AckByHash } from './by-hash.js';
import { DeadLetter } from './dead-letter.js';
import { AckFlusher } from './flush/ack-flusher.js';
import { HashAckFlusher } from './flush/hash-ack-flusher.js';
import type { CursorMove } from './flush/cursor-move.js';
import { FullBatchAck } from './full-batch.js';
import { PartitionLocator } from './partition-locator.js';
import { RecentAcks } from './recent-acks.js';
import { ReleaseNotice } from './release-notice.js';

const P1 = '00000000-0000-7000-8000-000000000001';
const P2 = '00000000-0000-7000-8000-000000000002';
const KEY = 'tenant\u001forders';
const DONE = { success: true, error: null, noop: false, dlq: false };
const DONE_BEFORE = { ...DONE, noop: true };
const refusal = (error: string) => ({ success: false, error, noop: false, dlq: false });

/** What a procedure answers: its rows, or its failure. */
type Answer = (args: never) => unknown[] | Promise<unknown[]>;

const acked = (over: object = {}) => ({
  ...{ ok: true, acked: 1, off: 0, noopHashes: [], staleHashes: [], unresolvedHashes: [] },
  ...over,
});

/** The ack module without Nest, on a scripted database. */
class Bench {
  readonly calls: { name: string; args: unknown }[] = [];
  readonly answers = new Map<string, Answer>([
    ['log_ack_multi_v1', (moves: never) => [(moves as CursorMove[]).map(() => ({ ok: true }))]],
    ['log_ack_by_hash_v1', () => [acked()]],
  ]);
  readonly promotes: unknown[][] = [];
  readonly samples: number[] = [];
  timeouts = 0;
  permits = 0;
  permitsMax = 0;
  refusal: Error | null = null;
  readonly memo = new PartitionMemo();
  readonly registry = new AckRegistry({ enabled: true, bytesMax: 1e6 }, new ManualClock(), this.memo);
  readonly recent = new RecentAcks();
  readonly byHash: AckByHash;
  readonly service: AckService;

  constructor() {
    const connection = {
      call: async (procedure: Procedure<unknown, unknown>, args: unknown): Promise<unknown[]> => {
        this.calls.push({ name: procedure.name, args });
        return this.answers.get(procedure.name)!(args as never);
      },
      callOne: async (procedure: Procedure<unknown, unknown>, args: unknown): Promise<unknown> =>
        (await connection.call(procedure, args))[0],
    };
    const rawSql = {
      call: connection.call,
      withConnection: (_: null, run: (with_: typeof connection) => Promise<unknown>) => run(connection),
    } as unknown as RawSqlService;
    const permit = {
      sample: (ms: number) => this.samples.push(ms),
      timedOut: () => (this.timeouts += 1),
    };
    const limiter = {
      withPermit: async (lane: string, gone: null, run: (with_: typeof permit) => Promise<unknown>) => {
        expect([lane, gone]).toEqual(['ack', null]);
        await turn();
        if (this.refusal) throw this.refusal;
        this.permitsMax = Math.max(this.permitsMax, ++this.permits);
        try {
          return await run(permit);
        } finally {
          this.permits -= 1;
        }
      },
    } as unknown as LimiterService;
    const hotlist = {
      promote: (...args: unknown[]) => void this.promotes.push(args),
    } as unknown as HotlistService;

    const lane = new AckLane(limiter, rawSql);
    const options = { fusion: true };
    this.byHash = new AckByHash(lane, new HashAckFlusher(lane, options), this.registry, new DeadLetter());
    const locator = new PartitionLocator(this.memo, rawSql);
    this.service = new AckService(
      this.recent,
      new FullBatchAck(this.registry, new AckFlusher(lane, options)),
      this.byHash,
      new ReleaseNotice(locator, hotlist),
      locator,
    );
  }

  hand(ids: readonly string[], { partitionId = P1, worker = 'w1', batchEnd = ids.length - 1 } = {}): void {
    const hashes = new IdHashes(ids.length);
    for (const id of ids) hashes.addText(id);
    const messages = ids.length;
    const place = { partitionId, partition: `name of ${partitionId}`, key: KEY, group: 'g' };
    this.registry.register({ ...place, worker, batchEnd, messages, hashes, leaseMs: 30_000 });
  }

  ack(...items: AckItem[]) {
    return this.ackAs(null, ...items);
  }

  ackAs(owner: string | null, ...items: AckItem[]) {
    return this.service.acknowledge({ group: 'g', items }, owner);
  }

  named(name: string): unknown[] {
    return this.calls.filter((call) => call.name === name).map(({ args }) => args);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function item(transactionId: string, over: Partial<AckItem> = {}): AckItem {
  return {
    transactionId,
    partitionId: P1,
    status: 'completed',
    leaseId: 'w1',
    error: null,
    rawStatus: null,
    problem: null,
    ...over,
  };
}

const hex = (id: string) => hashTransactionId(id).toString('hex');

Logger.overrideLogger(false);

let bench: Bench;
beforeEach(() => {
  bench = new Bench();
});

describe('a full batch', () => {
  it('is one cursor move, and promoted once as covered', async () => {
    bench.hand(['a', 'b', 'c']);
    expect(await bench.ack(item('c'), item('a'), item('b'))).toEqual([DONE, DONE, DONE]);
    expect(bench.calls.map(({ name }) => name)).toEqual(['log_ack_multi_v1']);
    expect(bench.named('log_ack_multi_v1')[0]).toEqual([
      { partitionId: P1, group: 'g', worker: 'w1', batchEnd: 2, count: 3 },
    ]);
    expect(bench.promotes).toEqual([[KEY, 'g', { name: `name of ${P1}` }, true]]);
    expect(bench.registry.partitionsOf('w1')).toEqual([]);
  });

  it('shares its commit with the others of the request', async () => {
    bench.hand(['a']);
    bench.hand(['b'], { partitionId: P2 });
    expect(await bench.ack(item('a'), item('b', { partitionId: P2 }))).toEqual([DONE, DONE]);
    expect(bench.named('log_ack_multi_v1')).toHaveLength(1);
    expect(bench.promotes).toHaveLength(2);
  });

  it('beside one that is not: each goes its way', async () => {
    bench.hand(['a']);
    bench.hand(['b', 'c'], { partitionId: P2 });
    await bench.ack(item('b', { partitionId: P2 }), item('a'));
    expect(bench.named('log_ack_multi_v1')).toHaveLength(1);
    expect(bench.named('log_ack_by_hash_v1')).toMatchObject([{ partitionId: P2, statuses: null }]);
  });

  it('whose lease is over falls back by itself, and the way by hash says why', async () => {
    bench.hand(['a']);
    bench.hand(['b'], { partitionId: P2 });
    bench.answers.set('log_ack_multi_v1', () => [[{ ok: false }, { ok: true }]]);
    bench.answers.set('log_ack_by_hash_v1', () => [{ ok: false, error: 'invalid or expired lease' }]);
    expect(await bench.ack(item('a'), item('b', { partitionId: P2 }))).toEqual([
      refusal('invalid or expired lease'),
      DONE,
    ]);
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(1);
    expect(bench.promotes).toHaveLength(1);
  });

  it.each([
    ['a timeout', new BrokerError('statement_timeout'), FLUSH_FAILED_ERROR],
    ['a refused statement', new SqlStatementError('XX000', 'broken', null), FLUSH_FAILED_ERROR],
    ['a bug', new Error('a bug'), FLUSH_FAILED_ERROR],
    ['an empty pool', new BrokerError('pool', 'pool'), 'pool'],
  ])(
    'whose flush fails for %s is an error of each item, and nothing is guessed',
    async (_, failure, text) => {
      bench.hand(['a', 'b']);
      bench.answers.set('log_ack_multi_v1', () => Promise.reject(failure));
      expect(await bench.ack(item('a'), item('b'))).toEqual([refusal(text), refusal(text)]);
      expect(bench.named('log_ack_by_hash_v1')).toEqual([]);
      expect(bench.promotes).toEqual([]);
      // The lease may well be alive, so a renewal still has to know its partition.
      expect(bench.registry.partitionsOf('w1')).toEqual([P1]);
    },
  );

  it('with a nack in it goes by hash', async () => {
    bench.hand(['a', 'b']);
    await bench.ack(item('a'), item('b', { status: 'failed' }));
    expect(bench.named('log_ack_multi_v1')).toEqual([]);
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(1);
  });

  it('acked without a lease goes by hash', async () => {
    bench.hand(['a']);
    await bench.ack(item('a', { leaseId: '' }));
    expect(bench.named('log_ack_by_hash_v1')).toMatchObject([{ worker: '' }]);
  });

  it('is none for a broker that has just started', async () => {
    await bench.ack(item('a'));
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(1);
  });
});

describe('said again', () => {
  it('at the same moment, it waits for the first and is a no-op', async () => {
    bench.hand(['a', 'b']);
    const [first, second] = await Promise.all([
      bench.ack(item('a'), item('b')),
      bench.ack(item('b'), item('a')),
    ]);
    expect(first).toEqual([DONE, DONE]);
    expect(second).toEqual([DONE_BEFORE, DONE_BEFORE]);
    expect(bench.calls).toHaveLength(1);
    expect(bench.promotes).toHaveLength(1);
  });

  it('later, it is a no-op as well, also after an ack by hash', async () => {
    bench.hand(['a', 'b']);
    expect(await bench.ack(item('a'))).toEqual([DONE]);
    expect(await bench.ack(item('a'))).toEqual([DONE_BEFORE]);
    expect(bench.calls).toHaveLength(1);
  });

  it('after a failure, it gets a verdict of its own', async () => {
    bench.hand(['a']);
    bench.answers.set('log_ack_multi_v1', () => Promise.reject(new BrokerError('statement_timeout')));
    await bench.ack(item('a'));
    expect(await bench.ack(item('a'))).toEqual([DONE]);
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(1);
  });

  it('is not the same when it names more, another worker, or no lease', async () => {
    await bench.ack(item('a'));
    await bench.ack(item('a'), item('b'));
    await bench.ack(item('a', { leaseId: 'w2' }));
    await bench.ack(item('a', { leaseId: '' }));
    await bench.ack(item('a', { leaseId: '' }));
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(5);
  });

  it('a nack is never taken for a repetition', async () => {
    await bench.ack(item('a'));
    await bench.ack(item('a', { status: 'failed' }));
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(2);
  });

  it('of two opposite verdicts at once one is carried out and the other hears of it', async () => {
    bench.hand(['a', 'b']);
    let isOver = false;
    const once = () => (isOver ? { ok: false, error: 'invalid or expired lease' } : ((isOver = true), null));
    bench.answers.set('log_ack_multi_v1', () => [[once() ?? { ok: true }]]);
    bench.answers.set('log_ack_by_hash_v1', () => [once() ?? acked({ acked: 0, off: -1 })]);
    const [done, nacked] = await Promise.all([
      bench.ack(item('a'), item('b')),
      bench.ack(item('a', { status: 'failed' })),
    ]);
    const successes = [...done, ...nacked].filter(({ success }) => success);
    expect(successes.length === 2 ? done : nacked).toEqual(successes);
    expect(bench.promotes).toHaveLength(1);
  });
});

describe('by hash', () => {
  it('sends hashes and statuses in the order of the items', async () => {
    await bench.ack(
      item('a'),
      item('b', { status: 'retry' }),
      item('c', { status: 'dlq' }),
      item('d', { status: 'failed' }),
    );
    const [args] = bench.named('log_ack_by_hash_v1') as AckByHashArgs[];
    expect(args).toMatchObject({ partitionId: P1, group: 'g', worker: 'w1' });
    expect(args.statuses).toEqual(['completed', 'retry', 'dlq', 'failed']);
    expect(args.hashes).toEqual(Buffer.concat(['a', 'b', 'c', 'd'].map((id) => hashTransactionId(id))));
  });

  it('tells no-ops, late nacks and unknown ids apart, each on its own item', async () => {
    bench.answers.set('log_ack_by_hash_v1', () => [
      acked({
        noopHashes: [hex('before'), hex('both')],
        staleHashes: [hex('late'), hex('both')],
        unresolvedHashes: [hex('unknown'), hex('unknown too')],
      }),
    ]);
    expect(
      await bench.ack(
        item('fine'),
        item('before'),
        item('late', { status: 'failed' }),
        item('unknown'),
        item('unknown too', { status: 'retry' }),
        item('both'),
        item('both', { status: 'failed' }),
        item('retried', { status: 'retry' }),
      ),
    ).toEqual([
      DONE,
      DONE_BEFORE,
      refusal(STALE_ERROR),
      refusal(UNRESOLVABLE),
      refusal(UNRESOLVABLE),
      DONE_BEFORE,
      refusal(STALE_ERROR),
      DONE,
    ]);
    expect(bench.byHash.stats()).toMatchObject({ noops: 2, stale: 2, unresolved: 2 });
  });

  it.each([
    ['consumer not found', 'consumer not found'],
    ['invalid or expired lease', 'invalid or expired lease'],
    [undefined, 'ack rejected'],
  ])('refused with %s, every item says so and nothing is promoted', async (error, text) => {
    bench.answers.set('log_ack_by_hash_v1', () => [{ ok: false, error }]);
    expect(await bench.ack(item('a'), item('b'))).toEqual([refusal(text), refusal(text)]);
    expect(bench.promotes).toEqual([]);
  });

  it('leaves items that cannot mean a message out, and answers them', async () => {
    expect(
      await bench.ack(
        item('', { problem: 'transactionId is required' }),
        item('a'),
        item('b', { partitionId: '', problem: 'partitionId must be a uuid' }),
      ),
    ).toEqual([refusal('transactionId is required'), DONE, refusal('partitionId must be a uuid')]);
    expect(bench.named('log_ack_by_hash_v1')).toMatchObject([{ statuses: null }]);
  });

  it('counts acks without a lease that were capped', async () => {
    bench.answers.set('log_ack_by_hash_v1', () => [acked({ capped: true })]);
    await bench.ack(item('a', { leaseId: '' }));
    expect(bench.byHash.stats().capped).toBe(1);
  });

  it('looks up completions together', async () => {
    bench.answers.set('log_ack_by_hash_multi_v1', (acks: never) => [(acks as unknown[]).map(() => acked())]);
    const items = Array.from({ length: 40 }, (_, i) => item('a', { leaseId: `w${i}` }));
    expect(await bench.ack(...items)).toEqual(items.map(() => DONE));
    expect(bench.named('log_ack_by_hash_v1')).toEqual([]);
    expect(bench.named('log_ack_by_hash_multi_v1')).toHaveLength(1);
  });

  it('looks up two hundred groups of a request at a time, so that other requests get a turn', async () => {
    const sizes: number[] = [];
    bench.answers.set('log_ack_by_hash_multi_v1', (acks: never) => {
      sizes.push((acks as unknown[]).length);
      return turn().then(() => [(acks as unknown[]).map(() => acked())]);
    });
    const items = Array.from({ length: 450 }, (_, i) => item('a', { leaseId: `w${i}` }));
    expect(await bench.ack(...items)).toEqual(items.map(() => DONE));
    expect(Math.max(...sizes)).toBe(200);
  });

  it('sends eight groups of a request with refusals at a time, so that other requests get a turn', async () => {
    bench.answers.set('log_ack_by_hash_v1', () => turn().then(() => [acked()]));
    const items = Array.from({ length: 40 }, (_, i) => item('a', { leaseId: `w${i}`, status: 'retry' }));
    expect(await bench.ack(...items)).toHaveLength(40);
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(40);
    expect(bench.permitsMax).toBe(8);
  });
});

describe('what a release is', () => {
  const promoted = async (outcome: object, ...items: AckItem[]) => {
    bench.answers.set('log_ack_by_hash_v1', () => [acked(outcome)]);
    await bench.ack(...items);
    return bench.promotes;
  };
  const covered = false;
  const once = [[KEY, 'g', { name: `name of ${P1}` }, covered]];

  beforeEach(() => bench.hand(['a', 'b', 'c', 'd'], { batchEnd: 3 }));

  it.each(['failed', 'retry'] as const)('a nack (%s), although the cursor stood still', async (status) => {
    expect(await promoted({ acked: 0, off: -1 }, item('a', { status }))).toEqual(once);
  });

  it('a message stepped over', async () => {
    expect(await promoted({ dropped: true }, item('a', { status: 'failed' }))).toEqual(once);
    expect(bench.byHash.stats().dropped).toBe(1);
  });

  it('the last message of the batch', async () => {
    expect(await promoted({ acked: 4, off: 3 }, item('d'))).toEqual(once);
    expect(bench.registry.partitionsOf('w1')).toEqual([]);
  });

  it('not a part of the batch: the lease goes on, and a renewal knows it', async () => {
    expect(await promoted({ acked: 2, off: 1 }, item('b'))).toEqual([]);
    expect(bench.registry.partitionsOf('w1')).toEqual([P1]);
    // The rest is one more part, whose end is the batch's.
    expect(await promoted({ acked: 2, off: 3 }, item('c'), item('d'))).toEqual(once);
  });

  it('not a nack that came too late or named nothing', async () => {
    const outcome = { acked: 0, off: 1, staleHashes: [hex('a')], unresolvedHashes: [hex('x')] };
    const items = [item('a', { status: 'failed' }), item('x', { status: 'retry' })];
    expect(await promoted(outcome, ...items)).toEqual([]);
    expect(bench.registry.partitionsOf('w1')).toEqual([P1]);
  });

  it('whatever moved a cursor, when another broker handed the batch out', async () => {
    bench.memo.remember(P2, KEY, `name of ${P1}`);
    const at = { partitionId: P2, leaseId: 'elsewhere' };
    expect(await promoted({ acked: 0, off: 1, noopHashes: [hex('a')] }, item('a', at))).toEqual([]);
    expect(await promoted({ acked: 1, off: 1 }, item('b', at))).toEqual(once);
  });
});

describe('a dead letter', () => {
  const ids = ['a', 'poison', 'c'];
  const messageIds = ids.map((_, i) => mintUuid(i));
  const traceId = mintUuid(9);
  const poisonExtras = { traceId, headers: Buffer.from('{"a": "b"}'), producerSub: Buffer.from('sub') };
  const segment = (payloads = ['{"n":1}', '{"n":1.0,"n":1}', '']) => ({
    base: 10,
    end: 12,
    blob: encodeSegment(
      ids.map((id, i) => ({
        messageId: messageIds[i],
        transactionId: Buffer.from(id),
        payload: Buffer.from(payloads[i]),
        encrypted: i === 1,
        ...(i === 1 ? poisonExtras : {}),
      })),
    ),
  });
  const filed = () => (bench.named('log_dlq_head_v2') as DeadLetterArgs[])[0];

  beforeEach(() => {
    bench.hand(ids, { batchEnd: 12 });
    bench.answers.set('log_ack_by_hash_v1', () => [acked({ acked: 1, off: 11, dlq: true })]);
    bench.answers.set('log_segment_at_v1', () => [segment()]);
    bench.answers.set('log_dlq_head_v2', () => [{ ok: true, id: 'x' }]);
  });

  it('is the message itself, byte for byte, with the reason given for it', async () => {
    const results = await bench.ack(
      item('a'),
      item('c', { status: 'failed', error: 'of another' }),
      item('poison', { status: 'failed', error: 'of this one' }),
    );
    expect(bench.named('log_segment_at_v1')).toEqual([{ partitionId: P1, offset: 11 }]);
    expect(filed()).toEqual({
      partitionId: P1,
      group: 'g',
      worker: 'w1',
      offset: 11,
      messageId: uuidText(messageIds[1]),
      transactionId: 'poison',
      payload: '{"n":1.0,"n":1}',
      reason: 'of this one',
      headers: '{"a": "b"}',
      traceId: uuidText(traceId),
      producerSub: 'sub',
      encrypted: true,
    });
    expect(results).toEqual(results.map(() => ({ ...DONE, dlq: true })));
    expect(bench.promotes).toHaveLength(1);
    expect(bench.byHash.stats().deadLetters).toBe(1);
    expect(bench.registry.partitionsOf('w1')).toEqual([]);
  });

  it('takes the first reason of the group when there is none for it, else says that retries ran out', async () => {
    await bench.ack(item('poison', { status: 'failed' }), item('c', { status: 'failed', error: 'first' }));
    expect(filed().reason).toBe('first');
    bench.calls.length = 0;
    await bench.ack(item('poison', { status: 'dlq', error: '' }));
    expect(filed().reason).toBe('Retries exhausted');
  });

  it('stores an empty payload as null', async () => {
    bench.answers.set('log_ack_by_hash_v1', () => [acked({ acked: 1, off: 12, dlq: true })]);
    await bench.ack(item('c', { status: 'dlq' }));
    const none = { headers: null, traceId: null, producerSub: null, encrypted: false };
    expect(filed()).toMatchObject({ transactionId: 'c', payload: 'null', ...none });
  });

  it.each([
    ['is gone', () => []],
    ['is damaged', () => [{ ...segment(), blob: segment().blob.subarray(0, 20) }]],
  ])('is filed without payload when the segment %s, or the group would wait for ever', async (_, rows) => {
    bench.answers.set('log_segment_at_v1', rows);
    expect(await bench.ack(item('poison', { status: 'dlq', error: 'why' }))).toEqual([
      { ...DONE, dlq: true },
    ]);
    expect(filed()).toMatchObject({ messageId: null, transactionId: 'poison', payload: null, reason: 'why' });
  });

  it.each<[string, Answer, string]>([
    ['the lease was lost meanwhile', () => [{ ok: false }], 'dlq rejected'],
    [
      'the statement fails',
      () => Promise.reject(new BrokerError('statement_timeout')),
      new BrokerError('statement_timeout').message,
    ],
  ])('is an error of the nack when %s; what was completed stays so', async (_, answer, text) => {
    bench.answers.set('log_dlq_head_v2', answer);
    expect(await bench.ack(item('a'), item('poison', { status: 'failed' }))).toEqual([DONE, refusal(text)]);
    expect(bench.promotes).toEqual([]);
    expect(bench.registry.partitionsOf('w1')).toEqual([P1]);
  });
});

describe('where a partition belongs', () => {
  it('is looked up once for a batch that another broker handed out', async () => {
    bench.answers.set('partition_queue_v1', () => [{ tenant: 'tenant', queue: 'orders', partition: 'eu' }]);
    await Promise.all([bench.ack(item('a', { status: 'retry' })), bench.ack(item('b', { status: 'retry' }))]);
    await bench.ack(item('c', { status: 'retry' }));
    expect(bench.named('partition_queue_v1').length).toBeLessThanOrEqual(2);
    expect(bench.promotes).toEqual([1, 2, 3].map(() => [KEY, 'g', { name: 'eu' }, false]));
  });

  it.each<[string, Answer]>([
    ['there is no such partition', () => []],
    ['the lookup fails', () => Promise.reject(new BrokerError('pool', 'pool'))],
  ])('does not matter to the ack when %s', async (_, answer) => {
    bench.answers.set('partition_queue_v1', answer);
    expect(await bench.ack(item('a', { status: 'retry' }))).toEqual([DONE]);
    expect(bench.promotes).toEqual([]);
  });
});

describe('with tenancy', () => {
  it('only partitions of the tenant are acked, and one look tells', async () => {
    const rows: Record<string, object[]> = { [P1]: [{ tenant: 't1', queue: 'q', partition: 'p' }], [P2]: [] };
    bench.answers.set('partition_queue_v1', (partitionId: string) => rows[partitionId]);
    const items = [item('a'), item('b', { partitionId: P2 })];
    expect(await bench.ackAs('t1', ...items)).toEqual([DONE, refusal('partition not owned by tenant')]);
    expect(await bench.ackAs('t2', ...items)).toEqual(
      items.map(() => refusal('partition not owned by tenant')),
    );
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(1);
    expect(bench.named('partition_queue_v1').filter((id) => id === P1)).toHaveLength(1);
  });

  it('a foreign ack leaves the memory of the batch alone', async () => {
    bench.hand(['a', 'b']);
    expect(await bench.ackAs('other', item('a', { status: 'failed' }))).toMatchObject([{ success: false }]);
    expect(await bench.ackAs('tenant', item('a'), item('b'))).toEqual([DONE, DONE]);
    expect(bench.service.stats().fullBatches).toBe(1);
  });

  it('not knowing whose it is means no', async () => {
    bench.answers.set('partition_queue_v1', () => Promise.reject(new BrokerError('pool')));
    expect(await bench.ackAs('t1', item('a'))).toEqual([refusal('pool')]);
    expect(bench.named('log_ack_by_hash_v1')).toEqual([]);
  });
});

describe('failures', () => {
  it('without a connection every item says "pool"', async () => {
    bench.hand(['a']);
    bench.refusal = new BrokerError('pool', 'pool');
    expect(await bench.ack(item('a'), item('x', { partitionId: P2 }))).toEqual([
      refusal('pool'),
      refusal('pool'),
    ]);
  });

  it('overload is an answer for the whole request when nothing of it was tried', async () => {
    bench.hand(['a']);
    bench.refusal = new BrokerError('overloaded');
    await expect(bench.ack(item('a'), item('x', { partitionId: P2 }))).rejects.toMatchObject({
      code: 'overloaded',
    });
  });

  it('overload is the error of an item when others were tried', async () => {
    bench.hand(['a']);
    bench.answers.set('log_ack_by_hash_v1', () => Promise.reject(new BrokerError('overloaded')));
    const results = await bench.ack(item('a'), item('x', { partitionId: P2 }));
    expect(results).toEqual([DONE, refusal(new BrokerError('overloaded').message)]);
  });

  it('a bug in one group is the error of that group, and its text stays inside', async () => {
    bench.hand(['a']);
    bench.answers.set('log_ack_by_hash_v1', () => Promise.reject(new TypeError('secret detail')));
    const [done, failed] = await bench.ack(item('a'), item('x', { partitionId: P2 }));
    expect(done).toEqual(DONE);
    expect(failed).toMatchObject({ success: false, error: expect.not.stringContaining('secret') });
  });

  it('a deadlock is tried again quietly, a timeout is reported to the lane and is not', async () => {
    const failures = [new SqlStatementError('40P01', 'deadlock', null)];
    bench.answers.set('log_ack_by_hash_v1', () =>
      failures.length > 0 ? Promise.reject(failures.pop()) : [acked()],
    );
    expect(await bench.ack(item('a'))).toEqual([DONE]);
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(2);
    expect(bench.samples).toHaveLength(1);

    bench.answers.set('log_ack_by_hash_v1', () => Promise.reject(new BrokerError('statement_timeout')));
    expect(await bench.ack(item('b'))).toMatchObject([{ success: false }]);
    expect(bench.named('log_ack_by_hash_v1')).toHaveLength(3);
    expect(bench.timeouts).toBe(1);
  });

  it('counts what it did', async () => {
    bench.hand(['a']);
    await bench.ack(item('a'));
    await bench.ack(item('a'));
    await bench.ack(item('b'));
    expect(bench.service.stats()).toEqual({
      requests: 3,
      items: 3,
      fullBatches: 1,
      repeats: 1,
      byHash: 1,
      failures: 0,
    });
  });
});
