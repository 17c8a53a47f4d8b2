import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  ackMultiCall,
  claim,
  consumerRow,
  expireLease,
  makeLease,
  numbered,
  OTHER_TENANT,
  partitionId,
  pushMessages,
  scalar,
  TENANT,
  type AckMultiRow,
  type AckOptions,
  type ConsumerRow,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface Acked {
  ok: boolean;
  acked?: number;
  error?: string;
}

const ackAt = (pid: string, upto: number | null, options: Parameters<typeof ackAtCall>[2] = {}) =>
  scalar<Acked>(db, ackAtCall(pid, upto, options));

const ackMulti = (acks: AckMultiRow[]) => scalar<{ ok: boolean; results: Acked[] }>(db, ackMultiCall(acks));

/** A queue of six messages with the first `budget` of them leased to w. */
async function leased(queue: string, budget = 3): Promise<string> {
  await pushMessages(db, queue, 'p', numbered('m', 6));
  return (await makeLease(db, queue, 'p', { budget })).partitionId;
}

const free = { workerId: null, leaseExpiresAt: null, batchEnd: null };

/** What an ack that is refused must leave as it was; the remaining time runs on. */
const unchanged = (row: ConsumerRow | null) => ({
  ...row,
  leaseSecondsLeft: row!.leaseSecondsLeft === null ? null : expect.any(Number),
});

describe('an ack up to a position', () => {
  it('at the end of the batch moves the cursor, counts, releases, and forgets failures and attempts', async () => {
    const pid = await leased('whole');
    await db.query('update queen.log_consumers set batch_retry_count = 2 where partition_id = $1', [pid]);
    expect(await ackAt(pid, 2, { count: 3 })).toEqual({ ok: true, acked: 3 });
    expect(await consumerRow(db, 'whole', 'p')).toMatchObject({
      ...free,
      ...{ committed: 2, totalConsumed: 3, retryCount: 0 },
      ...{ attemptOffset: null, attemptEnd: null, attemptCount: 0 },
    });
  });

  it('inside the batch releases it too, and keeps failures and attempts', async () => {
    const pid = await leased('part');
    await db.query('update queen.log_consumers set batch_retry_count = 2 where partition_id = $1', [pid]);
    expect(await ackAt(pid, 1, { count: 2 })).toEqual({ ok: true, acked: 2 });
    expect(await consumerRow(db, 'part', 'p')).toMatchObject({
      ...free,
      ...{ committed: 1, retryCount: 2, attemptOffset: 0, attemptEnd: 2, attemptCount: 1 },
    });
  });

  it('leaves the time of the lease, for who looks after it', async () => {
    const pid = await leased('kept time');
    const { leaseAcquiredAt } = (await consumerRow(db, 'kept time', 'p'))!;
    await ackAt(pid, 2);
    expect((await consumerRow(db, 'kept time', 'p'))?.leaseAcquiredAt).toEqual(leaseAcquiredAt);
  });

  it('below the cursor never moves it back', async () => {
    const pid = await leased('backwards');
    await db.query('update queen.log_consumers set committed = 1 where partition_id = $1', [pid]);
    expect(await ackAt(pid, 0, { count: 1 })).toEqual({ ok: true, acked: 1 });
    expect(await consumerRow(db, 'backwards', 'p')).toMatchObject({ ...free, committed: 1 });
  });

  it.each([
    [null, 0],
    [-5, 0],
    [7, 7],
  ])('counts %s messages as %d', async (count, counted) => {
    const pid = await leased(`counts ${count}`);
    expect(await ackAt(pid, 2, { count })).toEqual({ ok: true, acked: counted });
    expect((await consumerRow(db, `counts ${count}`, 'p'))?.totalConsumed).toBe(counted);
  });

  it.each<[string, number, AckOptions, string]>([
    ['by another worker', 2, { worker: 'w2' }, 'invalid or expired lease'],
    ['beyond the batch', 3, {}, 'position beyond leased batch'],
    ['beyond the batch, without a lease id', 3, { worker: '' }, 'position beyond leased batch'],
    ['of a group that has no cursor', 2, { group: 'h' }, 'consumer not found'],
  ])('%s is refused and changes nothing', async (what, upto, options, error) => {
    const queue = `refused ${what}`;
    const pid = await leased(queue);
    const before = await consumerRow(db, queue, 'p');
    expect(await ackAt(pid, upto, { count: 3, ...options })).toEqual({ ok: false, error });
    expect(await consumerRow(db, queue, 'p')).toEqual(unchanged(before));
  });

  it('with an expired lease is refused and changes nothing', async () => {
    const pid = await leased('expired');
    await expireLease(db, 'expired', 'p');
    const before = await consumerRow(db, 'expired', 'p');
    expect(await ackAt(pid, 2)).toEqual({ ok: false, error: 'invalid or expired lease' });
    expect(await consumerRow(db, 'expired', 'p')).toEqual(unchanged(before));
  });

  it.each(['', null])('without a lease id (%p) is not checked, even after expiry', async (worker) => {
    const queue = `unchecked ${worker}`;
    const pid = await leased(queue);
    await expireLease(db, queue, 'p');
    expect(await ackAt(pid, 2, { worker, count: 3 })).toEqual({ ok: true, acked: 3 });
    expect(await consumerRow(db, queue, 'p')).toMatchObject({ ...free, committed: 2 });
  });

  it('of a released batch is refused', async () => {
    const pid = await leased('released');
    await ackAt(pid, 2);
    expect(await ackAt(pid, 2)).toEqual({ ok: false, error: 'invalid or expired lease' });
    expect(await ackAt(pid, 2, { worker: '' })).toEqual({ ok: false, error: 'no leased batch' });
  });

  it('of a partition that does not exist is refused', async () => {
    expect(await ackAt('00000000-0000-0000-0000-0000000000ff', 0)).toEqual({
      ok: false,
      error: 'consumer not found',
    });
  });

  it.each<[string, number | null, boolean | null]>([
    ['not ok', 2, false],
    ['neither ok nor not', 2, null],
    ['without a position', null, true],
  ])('%s is a nack: the batch is free again, and nothing is charged', async (what, upto, ok) => {
    const queue = `nack ${what}`;
    const pid = await leased(queue);
    expect(await ackAt(pid, upto, { ok, count: 3 })).toEqual({ ok: true, acked: 0 });
    expect(await consumerRow(db, queue, 'p')).toMatchObject({
      ...free,
      ...{ committed: -1, totalConsumed: 0, retryCount: 0, attemptCount: 1 },
    });
    expect((await makeLease(db, queue, 'p', { worker: 'w2' })).attempt).toBe(2);
  });
});

describe('an ack by names', () => {
  const ackNamed = (queue: string, partition: string, tenant = TENANT) => {
    const call = `select queen.log_ack_v1($1, $2, 'g', 'w', 2, true, 3, $3)`;
    return scalar<Acked>(db, [call, [queue, partition, tenant]]);
  };

  it('is the same, or says that there is no such partition', async () => {
    await leased('named');
    const missing = { ok: false, error: 'partition not found' };
    expect(await ackNamed('named', 'nowhere')).toEqual(missing);
    expect(await ackNamed('nowhere', 'p')).toEqual(missing);
    expect(await ackNamed('named', 'p', OTHER_TENANT)).toEqual(missing);
    expect(await ackNamed('named', 'p')).toEqual({ ok: true, acked: 3 });
    expect((await consumerRow(db, 'named', 'p'))?.committed).toBe(2);
  });
});

describe('many acks at once', () => {
  it('are judged one by one and answered in input order', async () => {
    const good = await leased('multi good');
    const expired = await leased('multi expired');
    await expireLease(db, 'multi expired', 'p');
    const part = await leased('multi part');
    const { ok, results } = await ackMulti([
      { partitionId: expired, upto: 2, count: 3 },
      { partitionId: good, upto: 2, count: 3 },
      { partitionId: good, upto: 2, group: 'h', count: 3 },
      { partitionId: part, upto: 1, count: 2 },
      { partitionId: part, upto: 9, worker: '', count: 2 },
    ]);
    expect(ok).toBe(true);
    expect(results).toEqual([
      { ok: false, acked: 0, error: 'invalid or expired lease' },
      { ok: true, acked: 3, error: null },
      { ok: false, acked: 0, error: 'consumer not found' },
      { ok: true, acked: 2, error: null },
      { ok: false, acked: 0, error: 'no leased batch' },
    ]);
    expect((await consumerRow(db, 'multi good', 'p'))?.committed).toBe(2);
    expect((await consumerRow(db, 'multi expired', 'p'))?.committed).toBe(-1);
    expect((await consumerRow(db, 'multi part', 'p'))?.committed).toBe(1);
  });

  it('of two workers for one batch let only the one pass that has it', async () => {
    const pid = await leased('two workers');
    const acks = ['w1', 'w', 'w2'].map((worker) => ({ partitionId: pid, upto: 2, worker, count: 3 }));
    const { results } = await ackMulti(acks);
    expect(results.map(({ ok }) => ok)).toEqual([false, true, false]);
    expect(await consumerRow(db, 'two workers', 'p')).toMatchObject({ committed: 2, totalConsumed: 3 });
  });

  it('twice for one batch count once', async () => {
    const pid = await leased('twice');
    const ack = { partitionId: pid, upto: 2, count: 3 };
    expect((await ackMulti([ack, ack])).results.map(({ ok }) => ok)).toEqual([true, false]);
    expect((await consumerRow(db, 'twice', 'p'))?.totalConsumed).toBe(3);
  });

  it('have no nack: a missing position is refused', async () => {
    const pid = await leased('no position');
    const { results } = await ackMulti([{ partitionId: pid, upto: null }]);
    expect(results).toEqual([{ ok: false, acked: 0, error: 'position missing' }]);
    expect((await consumerRow(db, 'no position', 'p'))?.workerId).toBe('w');
  });

  it('of none are none', async () => {
    expect(await ackMulti([])).toEqual({ ok: true, results: [] });
  });

  it.each([0, 1, 2, 3, 4])('with a wrong number of values in array %d are refused', async (position) => {
    const pid = await partitionId(db, 'twice', 'p');
    const [text, values] = ackMultiCall([{ partitionId: pid, upto: 5 }]);
    for (const wrong of [[], [...(values[position] as unknown[]), (values[position] as unknown[])[0]]]) {
      const changed = values.map((value, i) => (i === position ? wrong : value));
      await expect(db.query(text, changed)).rejects.toMatchObject({
        code: 'QACKM',
        message: expect.stringContaining('QACKM: '),
      });
    }
  });

  it('change nothing when one of them cannot be read', async () => {
    const pid = await leased('unreadable');
    const acks = [
      { partitionId: pid, upto: 2, count: 3 },
      { partitionId: 'no uuid', upto: 2, count: 3 },
    ];
    await expect(ackMulti(acks)).rejects.toMatchObject({ code: '22P02' });
    expect((await consumerRow(db, 'unreadable', 'p'))?.committed).toBe(-1);
  });

  it('leave the next batch to the next worker', async () => {
    const pid = await leased('goes on');
    await ackMulti([{ partitionId: pid, upto: 2, count: 3 }]);
    expect((await claim(db, 'goes on', 'p', { worker: 'w2' })).flatMap(({ texts }) => texts)).toEqual(
      numbered('m', 3, 3),
    );
  });
});
