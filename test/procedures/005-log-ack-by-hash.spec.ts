import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackByHashCall,
  claim,
  consumerRow,
  dropBelow,
  expireLease,
  hexHash,
  inTurn,
  makeLease,
  makeQueue,
  numbered,
  pushMessages,
  scalar,
  type AckOptions,
} from '../support/make.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface Acked {
  ok: boolean;
  acked: number;
  off: number;
  noopHashes: string[];
  staleHashes: string[];
  unresolvedHashes: string[];
  dlq?: boolean;
  dropped?: boolean;
  capped?: boolean;
}

/** `{ m0: 'completed', m2: 'failed' }`, in that order. */
type Items = Record<string, string | null>;

const ack = (pid: string, items: Items, options: AckOptions = {}) =>
  scalar<Acked>(db, ackByHashCall(pid, Object.keys(items), Object.values(items), options));

const noLists = { noopHashes: [], staleHashes: [], unresolvedHashes: [] };
const free = { workerId: null, leaseExpiresAt: null, batchEnd: null };

/** m0 … m9 in segments of three, three, three and one; the first `budget` leased to w, `retries` failures charged. */
async function leased(
  queue: string,
  { budget = 6, retries = 0, options = {} }: { budget?: number; retries?: number; options?: object } = {},
): Promise<string> {
  await makeQueue(db, queue, { ...options });
  await inTurn([0, 3, 6], (first) => pushMessages(db, queue, 'p', numbered('m', 3, first)));
  await pushMessages(db, queue, 'p', ['m9']);
  const { partitionId } = await makeLease(db, queue, 'p', { budget });
  await db.query('update queen.log_consumers set batch_retry_count = $2 where partition_id = $1', [
    partitionId,
    retries,
  ]);
  return partitionId;
}

const noDeadLetters = { deadLetterQueue: false, dlqAfterMaxRetries: false };

interface Case {
  queue?: object;
  retries?: number;
  items: Items;
  /** Part of the answer. */
  answer: object;
  /** Of the cursor afterwards. */
  committed: number;
  released: boolean;
  retryCount?: number;
  consumed: number;
}

describe('an ack by transaction id of a batch of six (m0 to m5)', () => {
  it.each<[string, Case]>([
    [
      'of all completes it',
      {
        ...{ items: { m0: 'completed', m1: 'success', m2: 'acked', m3: 'ok', m4: '', m5: null }, retries: 2 },
        ...{ answer: { acked: 6, off: 5 }, committed: 5, released: true, retryCount: 0, consumed: 6 },
      },
    ],
    [
      'of the last completes all of it',
      {
        ...{ items: { m5: 'completed' }, retries: 2 },
        ...{ answer: { acked: 6, off: 5 }, committed: 5, released: true, retryCount: 0, consumed: 6 },
      },
    ],
    [
      'short of the end moves the cursor and keeps the lease',
      {
        ...{ items: { m1: 'completed', m3: 'completed' }, retries: 2 },
        ...{ answer: { acked: 4, off: 3 }, committed: 3, released: false, retryCount: 2, consumed: 4 },
      },
    ],
    [
      'of nothing at all changes nothing',
      {
        ...{ items: {}, retries: 2 },
        ...{ answer: { acked: 0, off: -1 }, committed: -1, released: false, retryCount: 2, consumed: 0 },
      },
    ],
    [
      'with a status that means nothing ignores it',
      {
        ...{ items: { m1: 'completed', m3: 'whatever' } },
        ...{ answer: { acked: 2, off: 1 }, committed: 1, released: false, retryCount: 0, consumed: 2 },
      },
    ],
    [
      'failed within the budget stops before the failure, releases and charges one',
      {
        ...{ items: { m0: 'completed', m1: 'failed', m2: 'completed', m3: 'failed' }, retries: 2 },
        ...{ answer: { acked: 1, off: 0 }, committed: 0, released: true, retryCount: 3, consumed: 1 },
      },
    ],
    [
      'failed at the head moves nothing',
      {
        ...{ items: { m0: 'failed', m5: 'completed' } },
        ...{ answer: { acked: 0, off: -1 }, committed: -1, released: true, retryCount: 1, consumed: 0 },
      },
    ],
    [
      'failed with the budget spent hands over the message and keeps the lease',
      {
        ...{ items: { m1: 'completed', m2: 'failed' }, retries: 3 },
        ...{
          answer: { acked: 2, off: 2, dlq: true },
          committed: 1,
          released: false,
          retryCount: 3,
          consumed: 2,
        },
      },
    ],
    [
      'failed with no budget at all hands over at once',
      {
        ...{ queue: { retryLimit: 0 }, items: { m0: 'failed' } },
        ...{
          answer: { acked: 0, off: 0, dlq: true },
          committed: -1,
          released: false,
          retryCount: 0,
          consumed: 0,
        },
      },
    ],
    [
      'failed with the budget spent and one dead-letter switch on hands over',
      {
        ...{ queue: { deadLetterQueue: false }, items: { m0: 'failed' }, retries: 3 },
        ...{
          answer: { acked: 0, off: 0, dlq: true },
          committed: -1,
          released: false,
          retryCount: 3,
          consumed: 0,
        },
      },
    ],
    [
      'failed with the budget spent and no dead letters drops the message',
      {
        ...{ queue: noDeadLetters, items: { m1: 'completed', m2: 'failed' }, retries: 3 },
        ...{
          answer: { acked: 2, off: 2, dropped: true },
          committed: 2,
          released: true,
          retryCount: 0,
          consumed: 3,
        },
      },
    ],
    [
      'dlq hands over whatever the budget',
      {
        ...{ items: { m0: 'completed', m1: 'dlq', m5: 'completed' }, retries: 1 },
        ...{
          answer: { acked: 1, off: 1, dlq: true },
          committed: 0,
          released: false,
          retryCount: 1,
          consumed: 1,
        },
      },
    ],
    [
      'dlq hands over although the queue keeps no dead letters of failures',
      {
        ...{ queue: noDeadLetters, items: { m1: 'dlq' }, retries: 1 },
        ...{
          answer: { acked: 0, off: 1, dlq: true },
          committed: -1,
          released: false,
          retryCount: 1,
          consumed: 0,
        },
      },
    ],
    [
      'retry releases and charges nothing',
      {
        ...{ items: { m0: 'completed', m1: 'completed', m2: 'retry', m5: 'completed' }, retries: 2 },
        ...{ answer: { acked: 2, off: 1 }, committed: 1, released: true, retryCount: 2, consumed: 2 },
      },
    ],
    [
      'with several signals lets the lowest act: retry before failed',
      {
        ...{ items: { m4: 'dlq', m3: 'failed', m2: 'retry', m1: 'completed' }, retries: 3 },
        ...{ answer: { acked: 2, off: 1 }, committed: 1, released: true, retryCount: 3, consumed: 2 },
      },
    ],
    [
      'with several signals lets the lowest act: failed before dlq',
      {
        ...{ items: { m4: 'dlq', m3: 'failed', m1: 'completed' } },
        ...{ answer: { acked: 2, off: 1 }, committed: 1, released: true, retryCount: 1, consumed: 2 },
      },
    ],
  ])('%s', async (what, { queue: options, retries, items, answer, ...after }) => {
    const queue = `case ${what}`;
    const pid = await leased(queue, { retries, options });
    const handedOver = 'dlq' in answer ? { partitionId: pid, group: 'g', worker: 'w' } : {};
    expect(await ack(pid, items)).toEqual({ ok: true, ...noLists, ...answer, ...handedOver });

    const row = (await consumerRow(db, queue, 'p'))!;
    expect([row.committed, row.totalConsumed, row.retryCount]).toEqual([
      after.committed,
      after.consumed,
      after.retryCount,
    ]);
    expect(row).toMatchObject(after.released ? free : { workerId: 'w', batchEnd: 5 });
    const completed = after.committed === 5;
    expect([row.attemptOffset, row.attemptEnd, row.attemptCount]).toEqual(
      completed ? [null, null, 0] : [0, 5, 1],
    );
  });

  it('with several statuses for one message lets dlq win over failed, and failed over retry and done', async () => {
    const same = async (queue: string, statuses: string[], retries = 0) => {
      const pid = await leased(queue, { retries });
      return scalar<Acked>(
        db,
        ackByHashCall(
          pid,
          statuses.map(() => 'm1'),
          statuses,
        ),
      );
    };
    expect(await same('tie dlq', ['retry', 'failed', 'completed', 'dlq'])).toMatchObject({
      dlq: true,
      off: 1,
    });
    expect(await same('tie failed', ['completed', 'retry', 'failed'])).toMatchObject({ acked: 0, off: -1 });
    expect((await consumerRow(db, 'tie failed', 'p'))?.retryCount).toBe(1);
    expect(await same('tie retry', ['completed', 'retry'])).toMatchObject({ acked: 0, off: -1 });
    expect(await consumerRow(db, 'tie retry', 'p')).toMatchObject({ ...free, retryCount: 0 });
  });

  it('without a list of statuses completes', async () => {
    const pid = await leased('no statuses');
    expect(await scalar(db, ackByHashCall(pid, ['m5'], null))).toMatchObject({ ok: true, acked: 6 });
    expect(await consumerRow(db, 'no statuses', 'p')).toMatchObject({ ...free, committed: 5 });
  });

  it.each([[[]], [['completed', 'completed']]])(
    'with %j statuses for one message is refused',
    async (statuses) => {
      const pid = await leased(`lengths ${statuses.length}`);
      await expect(db.query(...ackByHashCall(pid, ['m0'], statuses))).rejects.toMatchObject({
        code: 'QACK0',
      });
    },
  );

  it('resolves only inside the batch', async () => {
    const pid = await leased('beyond');
    expect(await ack(pid, { m6: 'completed', m9: 'failed', m1: 'completed' })).toEqual({
      ...{ ok: true, acked: 2, off: 1, noopHashes: [], staleHashes: [] },
      unresolvedHashes: ['m6', 'm9'].map(hexHash),
    });
    expect(await consumerRow(db, 'beyond', 'p')).toMatchObject({
      committed: 1,
      workerId: 'w',
      retryCount: 0,
    });
  });

  it('lists what lies behind the cursor and what is not there, in input order', async () => {
    const pid = await leased('lists');
    await ack(pid, { m3: 'completed' });
    const items = {
      ...{ ghost2: 'failed', m3: 'completed', m1: 'retry', m0: 'completed', m2: 'failed' },
      ...{ ghost1: 'completed', m3x: 'dlq', m4: 'completed' },
    };
    expect(await ack(pid, items)).toEqual({
      ...{ ok: true, acked: 1, off: 4 },
      noopHashes: ['m3', 'm0'].map(hexHash),
      staleHashes: ['m1', 'm2'].map(hexHash),
      unresolvedHashes: ['ghost2', 'ghost1', 'm3x'].map(hexHash),
    });
  });

  it.each<[string, AckOptions]>([
    ['another worker', { worker: 'w2' }],
    ['a made-up lease', { worker: '01890000-0000-7000-8000-000000000000' }],
  ])('by %s is refused and changes nothing', async (who, options) => {
    const queue = `refused ${who}`;
    const pid = await leased(queue);
    const before = (await consumerRow(db, queue, 'p'))!;
    expect(await ack(pid, { m5: 'completed' }, options)).toEqual({
      ok: false,
      error: 'invalid or expired lease',
    });
    expect(await ack(pid, { m0: 'failed' }, options)).toMatchObject({ ok: false });
    expect(await consumerRow(db, queue, 'p')).toEqual({ ...before, leaseSecondsLeft: expect.any(Number) });
  });

  it('of a group without a cursor is refused', async () => {
    const pid = await leased('no cursor');
    const refused = { ok: false, error: 'consumer not found' };
    expect(await ack(pid, { m0: 'completed' }, { group: 'h' })).toEqual(refused);
    expect(await ack('00000000-0000-0000-0000-0000000000ff', { m0: 'completed' })).toEqual(refused);
  });

  it('after expiry is refused with the lease id and accepted without', async () => {
    const pid = await leased('late');
    await expireLease(db, 'late', 'p');
    expect(await ack(pid, { m5: 'completed' })).toMatchObject({ ok: false });
    expect(await ack(pid, { m5: 'completed' }, { worker: '' })).toMatchObject({ ok: true, acked: 6 });
    expect(await consumerRow(db, 'late', 'p')).toMatchObject({ ...free, committed: 5 });
  });

  it('goes on from where a partial ack ended, and the rest counts as delivered before', async () => {
    const pid = await leased('partial');
    await ack(pid, { m2: 'completed' });
    await ack(pid, { m3: 'retry' });
    const again = await makeLease(db, 'partial', 'p', { worker: 'w2', budget: 3 });
    expect([again.texts, again.attempt]).toEqual([['m3', 'm4', 'm5'], 2]);
    await ack(pid, { m5: 'completed' }, { worker: 'w2' });
    expect((await makeLease(db, 'partial', 'p', { worker: 'w3' })).attempt).toBe(1);
  });

  it('picks of an id stored twice the first one in reach', async () => {
    await makeQueue(db, 'stored twice', { dedupWindowSeconds: 0 });
    await pushMessages(db, 'stored twice', 'p', ['x', 'a']);
    await pushMessages(db, 'stored twice', 'p', ['x', 'b', 'x']);
    const { partitionId } = await makeLease(db, 'stored twice', 'p');
    const ackX = () => ack(partitionId, { x: 'completed' });
    expect((await inTurn([1, 2, 3, 4], ackX)).map(({ off }) => off)).toEqual([0, 2, 4, undefined]);
  });
});

describe('an ack by transaction id without a batch', () => {
  it('of what was acked at once is a noop, or stale when it is a signal', async () => {
    await pushMessages(db, 'auto', 'p', ['a', 'b']);
    await claim(db, 'auto', 'p', { autoAck: true });
    const { partitionId } = (await consumerPartition('auto'))!;
    expect(await ack(partitionId, { a: 'completed', b: 'failed' }, { worker: '' })).toEqual({
      ...{ ok: true, acked: 0, off: 1, noopHashes: [hexHash('a')] },
      ...{ staleHashes: [hexHash('b')], unresolvedHashes: [] },
    });
    expect(await ack(partitionId, { a: 'completed' }, { worker: 'made up' })).toMatchObject({ ok: false });
  });

  it('moves the cursor, and signals have no effect', async () => {
    await pushMessages(db, 'lease-less', 'p', numbered('m', 5));
    await claim(db, 'lease-less', 'p', { budget: 1, autoAck: true });
    const { partitionId } = (await consumerPartition('lease-less'))!;
    const answer = await ack(partitionId, { m1: 'completed', m2: 'failed', m4: 'completed' }, { worker: '' });
    expect(answer).toEqual({ ok: true, acked: 1, off: 1, ...noLists });
    expect(await consumerRow(db, 'lease-less', 'p')).toMatchObject({
      committed: 1,
      retryCount: 0,
      totalConsumed: 2,
    });
    expect(await ack(partitionId, { m4: 'completed' }, { worker: '' })).toMatchObject({ acked: 3, off: 4 });
  });

  it('never moves the cursor past the end of the partition, and says that it was capped', async () => {
    await pushMessages(db, 'capped', 'p', ['a', 'b']);
    await claim(db, 'capped', 'p', { budget: 1, autoAck: true });
    const { partitionId } = (await consumerPartition('capped'))!;
    await db.query('update queen.log_partitions set last_offset = 0 where id = $1', [partitionId]);
    expect(await ack(partitionId, { b: 'completed' }, { worker: '' })).toMatchObject({
      acked: 0,
      off: 0,
      capped: true,
    });
    expect((await consumerRow(db, 'capped', 'p'))?.committed).toBe(0);
  });

  async function consumerPartition(queue: string): Promise<{ partitionId: string } | undefined> {
    const select = `select p.id as "partitionId" from queen.log_partitions p
      join queen.queues q on q.id = p.queue_id where q.name = $1`;
    return (await db.query<{ partitionId: string }>(select, [queue])).rows[0];
  }
});

describe('hash rows that are gone', () => {
  it('leave a message unresolved, the cursor and the lease where they are', async () => {
    const pid = await leased('purged');
    await db.query('delete from queen.log_txns where partition_id = $1 and end_offset < 3', [pid]);
    await db.query('update queen.log_partitions set txns_start = 3 where id = $1', [pid]);
    expect(await ack(pid, { m1: 'completed', m2: 'failed' })).toEqual({
      ...{ ok: true, acked: 0, off: -1, noopHashes: [], staleHashes: [] },
      unresolvedHashes: ['m1', 'm2'].map(hexHash),
    });
    expect(await consumerRow(db, 'purged', 'p')).toMatchObject({
      committed: -1,
      workerId: 'w',
      retryCount: 0,
    });
    expect(await ack(pid, { m3: 'completed' })).toMatchObject({ acked: 4, off: 3 });
  });

  it('of a partition that retention emptied leave everything unresolved', async () => {
    const pid = await leased('emptied');
    await dropBelow(db, 'emptied', 'p', 10);
    expect(await ack(pid, { m0: 'completed' })).toMatchObject({
      acked: 0,
      unresolvedHashes: [hexHash('m0')],
    });
    await expireLease(db, 'emptied', 'p');
    await claim(db, 'emptied', 'p');
    expect(await ack(pid, { m0: 'completed' }, { worker: '' })).toMatchObject({
      unresolvedHashes: [hexHash('m0')],
    });
  });
});

describe('finding the offsets of hashes', () => {
  const find = async (
    queue: string,
    texts: (string | null)[],
    low: number | null,
    high: number | null,
    newest: boolean,
  ) => {
    const hashes = texts.map((text) => (text === null ? null : Buffer.from(hexHash(text), 'hex')));
    const call = `select queen.log_find_hashes_v1(p.id, $2, $3, $4, $5) from queen.log_partitions p
      join queen.queues q on q.id = p.queue_id where q.name = $1`;
    const offsets = await scalar<(string | null)[]>(db, [call, [queue, hashes, low, high, newest]]);
    return offsets.map((offset) => (offset === null ? null : Number(offset)));
  };

  it('keeps input order and bounds, from either end', async () => {
    await makeQueue(db, 'find', { dedupWindowSeconds: 0 });
    await pushMessages(db, 'find', 'p', ['a', 'b', 'a']);
    await pushMessages(db, 'find', 'p', ['b', 'c']);
    expect(await find('find', ['c', 'a', 'ghost', null, 'b'], 0, 4, false)).toEqual([4, 0, null, null, 1]);
    expect(await find('find', ['c', 'a', 'ghost', null, 'b'], 0, 4, true)).toEqual([4, 2, null, null, 3]);
    expect(await find('find', ['a', 'b', 'c'], 1, 3, false)).toEqual([2, 1, null]);
    expect(await find('find', ['a', 'b', 'c'], 1, 2, true)).toEqual([2, 1, null]);
    expect(await find('find', ['a'], 3, 2, false)).toEqual([null]);
    expect(await find('find', ['a'], null, 4, false)).toEqual([null]);
    expect(await find('find', [], 0, 4, false)).toEqual([]);
  });

  it('reaches across more messages than it reads at once', async () => {
    for (let k = 0; k < 10; k++) await pushMessages(db, 'long', 'p', numbered('m', 1000, 1000 * k));
    const texts = ['m0', 'm4095', 'm4096', 'm5000', 'm9999', 'ghost'];
    const offsets = [0, 4095, 4096, 5000, 9999, null];
    expect(await find('long', texts, 0, 9999, false)).toEqual(offsets);
    expect(await find('long', texts, 0, 9999, true)).toEqual(offsets);
    expect(await find('long', texts, 4096, 9998, false)).toEqual([null, null, 4096, 5000, null, null]);
    expect(await find('long', texts, 1, 5000, true)).toEqual([null, 4095, 4096, 5000, null, null]);
  });
});
