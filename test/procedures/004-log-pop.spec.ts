import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageSegments,
  claim,
  claimTexts,
  consumerRow,
  countRows,
  dropBelow,
  expireLease,
  inTurn,
  makeQueue,
  numbered,
  OTHER_TENANT,
  popV1Call,
  pushMessages,
  QUEUE_MODE,
  run,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** Segments of three messages: m0 m1 m2 | m3 m4 m5 | … */
const pushThrees = (queue: string, segments: number, partition = 'p') =>
  inTurn(numbered('', segments), (k) => pushMessages(db, queue, partition, numbered('m', 3, 3 * Number(k))));

const bounds = async (queue: string, options: Parameters<typeof claim>[3] = {}) =>
  (await claim(db, queue, 'p', options)).map(({ base, startIdx, take, msgCount }) => [
    ...[base, startIdx, take, msgCount],
  ]);

describe('the claim of one partition', () => {
  it.each([
    ['an unknown queue', 'no such queue', 'p'],
    ['an unknown partition', 'known queue', 'no such partition'],
  ])('of %s gives nothing and creates nothing', async (_, queue, partition) => {
    await makeQueue(db, 'known queue');
    expect(await claim(db, queue, partition)).toEqual([]);
    expect(await countRows(db, 'queues', `name = 'no such queue'`)).toBe(0);
    expect(await countRows(db, 'log_partitions', `name = 'no such partition'`)).toBe(0);
  });

  it('of another tenant gives nothing', async () => {
    await pushMessages(db, 'mine', 'p', ['a']);
    expect(await claim(db, 'mine', 'p', { tenant: OTHER_TENANT })).toEqual([]);
  });

  it('without a worker id is refused, unless it acks at once', async () => {
    await pushMessages(db, 'anonymous', 'p', ['a']);
    await expect(run(db, popV1Call('anonymous', 'p', { worker: '' }))).rejects.toMatchObject({
      code: 'QPOP0',
    });
    expect(await claimTexts(db, 'anonymous', 'p', { worker: '', autoAck: true })).toEqual(['a']);
  });

  it.each<[number | null, number[][]]>([
    [null, [[0, 0, 1, 3]]],
    [-1, [[0, 0, 1, 3]]],
    [0, [[0, 0, 1, 3]]],
    [1, [[0, 0, 1, 3]]],
    [3, [[0, 0, 3, 3]]],
    [
      4,
      [
        [0, 0, 3, 3],
        [3, 0, 1, 3],
      ],
    ],
    [
      9,
      [
        [0, 0, 3, 3],
        [3, 0, 3, 3],
        [6, 0, 3, 3],
      ],
    ],
    [
      2_147_483_647,
      [
        [0, 0, 3, 3],
        [3, 0, 3, 3],
        [6, 0, 3, 3],
      ],
    ],
  ])('with a budget of %s takes exactly that much, and leases to its end', async (budget, expected) => {
    const queue = `budget ${budget}`;
    await pushThrees(queue, 3);
    expect(await bounds(queue, { budget })).toEqual(expected);
    const [base, start, take] = expected.at(-1)!;
    expect((await consumerRow(db, queue, 'p'))?.batchEnd).toBe(base + start + take - 1);
  });

  it('starts in the middle of a segment when the cursor stands there', async () => {
    await pushThrees('middle', 3);
    await claim(db, 'middle', 'p', { budget: 4, autoAck: true });
    expect(await bounds('middle', { budget: 4, autoAck: true })).toEqual([
      [3, 1, 2, 3],
      [6, 0, 2, 3],
    ]);
    expect(await bounds('middle', { budget: 4 })).toEqual([[6, 2, 1, 3]]);
  });

  it('cuts the first and the only segment on both sides', async () => {
    await pushMessages(db, 'inside', 'p', numbered('m', 9));
    await claim(db, 'inside', 'p', { budget: 2, autoAck: true });
    expect(await bounds('inside', { budget: 3 })).toEqual([[0, 2, 3, 9]]);
    expect(await consumerRow(db, 'inside', 'p')).toMatchObject({ committed: 1, batchEnd: 4 });
  });

  it('steps over a gap at the cursor and starts at the next segment there is', async () => {
    await pushThrees('gap', 3);
    await claim(db, 'gap', 'p', { budget: 1, autoAck: true });
    await dropBelow(db, 'gap', 'p', 6);
    expect(await claimTexts(db, 'gap', 'p', { budget: 2 })).toEqual(['m6', 'm7']);
    expect(await consumerRow(db, 'gap', 'p')).toMatchObject({ committed: 0, batchEnd: 7, attemptOffset: 6 });
  });

  it('says when each segment was pushed', async () => {
    const { createdAt } = await pushMessages(db, 'times', 'p', ['a']);
    const [slice] = await claim(db, 'times', 'p');
    expect(slice.createdAt.toISOString()).toBe(createdAt!.replace(/(\.\d{3})\d{3}Z$/, '$1Z'));
  });

  it('gives each group everything, and one group everything once', async () => {
    await pushThrees('groups', 1);
    expect(await claimTexts(db, 'groups', 'p', { group: 'a' })).toEqual(['m0', 'm1', 'm2']);
    expect(await claimTexts(db, 'groups', 'p', { group: 'b' })).toEqual(['m0', 'm1', 'm2']);
    expect(await claimTexts(db, 'groups', 'p', { group: 'a', worker: 'other' })).toEqual([]);
  });
});

describe('a lease', () => {
  it('names worker, end and expiry, and leaves the cursor', async () => {
    await pushThrees('leased', 2);
    await claim(db, 'leased', 'p', { budget: 5, worker: 'w7', leaseSeconds: 30 });
    const row = await consumerRow(db, 'leased', 'p');
    expect(row).toMatchObject({ committed: -1, batchEnd: 4, workerId: 'w7', totalConsumed: 0 });
    expect(row!.leaseSecondsLeft).toBeGreaterThan(25);
    expect(row!.leaseSecondsLeft).toBeLessThanOrEqual(30);
    expect(row!.leaseExpiresAt!.getTime() - row!.leaseAcquiredAt!.getTime()).toBe(30_000);
  });

  it.each<[string, number | null, number | null, number]>([
    ['the length asked for', 7, 100, 7],
    ['the lease time of the queue when none is asked for', null, 100, 100],
    ['the lease time of the queue when 0 is asked for', 0, 100, 100],
    ['the lease time of the queue when a negative one is asked for', -5, 100, 100],
    ['a minute when the queue has none either', null, null, 60],
    ['a minute when that of the queue is 0', 0, 0, 60],
  ])('lasts %s', async (what, asked, ofQueue, seconds) => {
    const queue = `lasts ${what}`;
    await pushMessages(db, queue, 'p', ['a']);
    await db.query('update queen.queues set lease_time = $2 where name = $1', [queue, ofQueue]);
    await claim(db, queue, 'p', { leaseSeconds: asked });
    const row = await consumerRow(db, queue, 'p');
    expect(row!.leaseExpiresAt!.getTime() - row!.leaseAcquiredAt!.getTime()).toBe(1000 * seconds);
  });

  it('keeps everybody out, its own worker included, until it has run out', async () => {
    await pushThrees('exclusive', 1);
    await claim(db, 'exclusive', 'p', { budget: 1, worker: 'w1' });
    const before = await consumerRow(db, 'exclusive', 'p');
    expect(await claim(db, 'exclusive', 'p', { worker: 'w2' })).toEqual([]);
    expect(await claim(db, 'exclusive', 'p', { worker: 'w1' })).toEqual([]);
    expect(await consumerRow(db, 'exclusive', 'p')).toEqual({
      ...before,
      leaseSecondsLeft: expect.any(Number),
    });

    await expireLease(db, 'exclusive', 'p');
    expect(await claimTexts(db, 'exclusive', 'p', { worker: 'w2' })).toEqual(['m0', 'm1', 'm2']);
    expect(await consumerRow(db, 'exclusive', 'p')).toMatchObject({ workerId: 'w2', batchEnd: 2 });
  });

  it.each(['worker_id = null', 'lease_expires_at = null'])('with %s is none', async (broken) => {
    const queue = `broken ${broken}`;
    await pushMessages(db, queue, 'p', ['a']);
    await claim(db, queue, 'p');
    await db.query(
      `update queen.log_consumers set ${broken} where partition_id =
         (select p.id from queen.log_partitions p join queen.queues q on q.id = p.queue_id where q.name = $1)`,
      [queue],
    );
    expect(await claimTexts(db, queue, 'p', { worker: 'w2' })).toEqual(['a']);
  });
});

describe('attempts', () => {
  const attempts = async (queue: string) => {
    const row = await consumerRow(db, queue, 'p');
    return [row?.attemptOffset, row?.attemptEnd, row?.attemptCount];
  };

  it('count up while the batch starts at the same offset, whatever its length', async () => {
    await pushThrees('redelivered', 2);
    await claim(db, 'redelivered', 'p', { budget: 2 });
    expect(await attempts('redelivered')).toEqual([0, 1, 1]);
    await expireLease(db, 'redelivered', 'p');
    await claim(db, 'redelivered', 'p', { budget: 5 });
    expect(await attempts('redelivered')).toEqual([0, 4, 2]);
    await expireLease(db, 'redelivered', 'p');
    await claim(db, 'redelivered', 'p', { budget: 1 });
    expect(await attempts('redelivered')).toEqual([0, 4, 3]);
  });

  it('count the rest of a batch as delivered before, and what lies behind it as new', async () => {
    await pushThrees('tail', 3);
    await claim(db, 'tail', 'p', { budget: 4 });
    await db.query(`update queen.log_consumers set committed = 1 where batch_end = 3 and worker_id = 'w'`);
    await expireLease(db, 'tail', 'p');
    await claim(db, 'tail', 'p', { budget: 3 });
    expect(await attempts('tail')).toEqual([2, 4, 2]);
    await db.query(`update queen.log_consumers set committed = 4 where batch_end = 4 and worker_id = 'w'`);
    await expireLease(db, 'tail', 'p');
    await claim(db, 'tail', 'p', { budget: 3 });
    expect(await attempts('tail')).toEqual([5, 7, 1]);
  });

  it('are not touched by auto-ack', async () => {
    await pushThrees('auto', 2);
    await claim(db, 'auto', 'p', { budget: 2 });
    await expireLease(db, 'auto', 'p');
    await claim(db, 'auto', 'p', { budget: 2, autoAck: true });
    expect(await attempts('auto')).toEqual([0, 1, 1]);
  });

  it('cost nothing of the retry budget', async () => {
    await pushThrees('crashing', 1);
    for (let i = 0; i < 5; i++) {
      await claim(db, 'crashing', 'p');
      await expireLease(db, 'crashing', 'p');
    }
    expect(await consumerRow(db, 'crashing', 'p')).toMatchObject({ retryCount: 0, attemptCount: 5 });
  });
});

describe('auto-ack', () => {
  it('moves the cursor, counts, and leaves no lease', async () => {
    await pushThrees('at once', 2);
    expect(await claimTexts(db, 'at once', 'p', { budget: 4, autoAck: true })).toHaveLength(4);
    expect(await consumerRow(db, 'at once', 'p')).toMatchObject({
      ...{ committed: 3, totalConsumed: 4 },
      ...{ workerId: null, batchEnd: null, leaseExpiresAt: null, leaseAcquiredAt: null },
    });
    expect(await claimTexts(db, 'at once', 'p', { autoAck: true })).toEqual(['m4', 'm5']);
    expect(await claimTexts(db, 'at once', 'p', { autoAck: true })).toEqual([]);
    expect(await consumerRow(db, 'at once', 'p')).toMatchObject({ committed: 5, totalConsumed: 6 });
  });

  it('clears what an expired lease left', async () => {
    await pushThrees('after expiry', 1);
    await claim(db, 'after expiry', 'p', { budget: 1 });
    await expireLease(db, 'after expiry', 'p');
    expect(await claimTexts(db, 'after expiry', 'p', { autoAck: true })).toEqual(['m0', 'm1', 'm2']);
    expect(await consumerRow(db, 'after expiry', 'p')).toMatchObject({
      ...{ committed: 2, workerId: null, batchEnd: null, leaseExpiresAt: null, leaseAcquiredAt: null },
    });
  });
});

describe('a quiet window', () => {
  it('holds everything back while the newest segment is younger, and touches no cursor', async () => {
    await makeQueue(db, 'window', { windowBuffer: 100 });
    await pushThrees('window', 2);
    await ageSegments(db, 'window', 'p', 500, { to: 0 });
    await ageSegments(db, 'window', 'p', 95, { from: 3 });
    expect(await claim(db, 'window', 'p')).toEqual([]);
    expect(await consumerRow(db, 'window', 'p')).toBeNull();

    await ageSegments(db, 'window', 'p', 10, { from: 3 });
    expect(await claimTexts(db, 'window', 'p')).toHaveLength(6);
  });

  it('is bypassed by whoever keeps it elsewhere', async () => {
    await makeQueue(db, 'bypassed', { windowBuffer: 100 });
    await pushThrees('bypassed', 1);
    expect(await claimTexts(db, 'bypassed', 'p', { skipWindow: true })).toHaveLength(3);
  });

  it('of a partition without segments holds nothing back', async () => {
    await makeQueue(db, 'window, emptied', { windowBuffer: 100 });
    await pushThrees('window, emptied', 1);
    await dropBelow(db, 'window, emptied', 'p', 3);
    expect(await claim(db, 'window, emptied', 'p')).toEqual([]);
    expect((await consumerRow(db, 'window, emptied', 'p'))?.committed).toBe(2);
  });
});

describe('delayed processing', () => {
  it('hands out only what is old enough, and the rest later', async () => {
    await makeQueue(db, 'delayed', { delayedProcessing: 100 });
    await pushThrees('delayed', 3);
    await ageSegments(db, 'delayed', 'p', 105, { to: 3 });
    await ageSegments(db, 'delayed', 'p', 95, { from: 6 });
    expect(await claimTexts(db, 'delayed', 'p', { autoAck: true })).toEqual(numbered('m', 6));
    expect(await claimTexts(db, 'delayed', 'p', { autoAck: true })).toEqual([]);
    expect((await consumerRow(db, 'delayed', 'p'))?.committed).toBe(5);
    await ageSegments(db, 'delayed', 'p', 10, { from: 6 });
    expect(await claimTexts(db, 'delayed', 'p', { autoAck: true })).toEqual(numbered('m', 3, 6));
  });

  it.each([0, 2])('holds back the segment the cursor is in (%d taken before)', async (taken) => {
    const queue = `delayed head ${taken}`;
    await pushThrees(queue, 1);
    if (taken > 0) await claim(db, queue, 'p', { budget: taken, autoAck: true });
    await makeQueue(db, queue, { delayedProcessing: 100 });
    expect(await claim(db, queue, 'p')).toEqual([]);
    expect(await consumerRow(db, queue, 'p')).toMatchObject({ committed: taken - 1, workerId: null });
  });

  it('is not bypassed together with the window', async () => {
    await makeQueue(db, 'delayed, window', { delayedProcessing: 100, windowBuffer: 100 });
    await pushThrees('delayed, window', 1);
    expect(await claim(db, 'delayed, window', 'p', { skipWindow: true })).toEqual([]);
  });

  it('never seals a cursor over what it holds back', async () => {
    await makeQueue(db, 'delayed, gap', { delayedProcessing: 100 });
    await pushThrees('delayed, gap', 2);
    await dropBelow(db, 'delayed, gap', 'p', 3);
    expect(await claim(db, 'delayed, gap', 'p')).toEqual([]);
    expect((await consumerRow(db, 'delayed, gap', 'p'))?.committed).toBe(-1);
  });
});

describe('the cursor of a partition that retention emptied', () => {
  it('is set to its end, with nothing else changed, and what comes later is delivered', async () => {
    await pushThrees('emptied', 2);
    await claim(db, 'emptied', 'p', { budget: 2, autoAck: true });
    await dropBelow(db, 'emptied', 'p', 6);
    const before = await consumerRow(db, 'emptied', 'p');
    expect(await claim(db, 'emptied', 'p')).toEqual([]);
    expect(await consumerRow(db, 'emptied', 'p')).toEqual({ ...before, committed: 5 });
    await pushMessages(db, 'emptied', 'p', ['next']);
    expect(await claimTexts(db, 'emptied', 'p')).toEqual(['next']);
  });

  it('stays where it is when it stands at the end already', async () => {
    await pushThrees('caught up', 1);
    await claim(db, 'caught up', 'p', { autoAck: true });
    await dropBelow(db, 'caught up', 'p', 3);
    const before = await consumerRow(db, 'caught up', 'p');
    expect(await claim(db, 'caught up', 'p')).toEqual([]);
    expect(await consumerRow(db, 'caught up', 'p')).toEqual(before);
  });
});

describe('first contact', () => {
  it.each<[string, string, { mode?: string; from?: string }, string[]]>([
    ['everything without a wish', 'g', {}, ['m0', 'm1', 'm2']],
    ['nothing of the backlog in mode new', 'g', { mode: 'new' }, []],
    ['nothing of the backlog from now on', 'g', { from: 'now' }, []],
    ['everything from a time before it', 'g', { from: '2000-01-01T00:00:00Z' }, ['m0', 'm1', 'm2']],
    ['nothing from a time after it', 'g', { from: '2999-01-01T00:00:00Z' }, []],
    ['everything for a time nobody can read', 'g', { from: 'later' }, ['m0', 'm1', 'm2']],
    [
      'everything in queue mode, whatever the wish',
      QUEUE_MODE,
      { mode: 'new', from: 'now' },
      ['m0', 'm1', 'm2'],
    ],
  ])('delivers %s, and what is pushed later', async (what, group, wish, expected) => {
    const queue = `contact: ${what}`;
    await pushThrees(queue, 1);
    expect(await claimTexts(db, queue, 'p', { group, autoAck: true, ...wish })).toEqual(expected);
    await pushMessages(db, queue, 'p', ['later']);
    expect(await claimTexts(db, queue, 'p', { group, autoAck: true, ...wish })).toEqual(['later']);
  });

  it('is the only time that a wish counts', async () => {
    await pushThrees('no second wish', 2);
    await claim(db, 'no second wish', 'p', { budget: 1, autoAck: true });
    expect(await claimTexts(db, 'no second wish', 'p', { mode: 'new', autoAck: true })).toHaveLength(5);
  });

  it('starts at the oldest message retained in queue mode', async () => {
    await pushThrees('retained', 2);
    await dropBelow(db, 'retained', 'p', 3);
    expect(await claimTexts(db, 'retained', 'p', { group: QUEUE_MODE })).toEqual(numbered('m', 3, 3));
  });
});
