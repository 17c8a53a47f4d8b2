import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackByHashCall,
  claimTexts,
  consumerRow,
  countRows,
  dlqHeadCall,
  expireLease,
  makeLease,
  numbered,
  OTHER_TENANT,
  pushMessages,
  renewCall,
  run,
  scalar,
  TENANT,
  type DeadLetterInput,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface PutAside {
  ok: boolean;
  id?: string;
  error?: string;
}

const putAside = (pid: string, offset: number, options: DeadLetterInput = {}) =>
  scalar<PutAside>(db, dlqHeadCall(pid, offset, options));

/** m0 … m3, all leased to w. */
async function leased(queue: string): Promise<string> {
  await pushMessages(db, queue, 'p', numbered('m', 4));
  return (await makeLease(db, queue, 'p')).partitionId;
}

const free = { workerId: null, leaseExpiresAt: null, batchEnd: null };

describe('putting a message aside', () => {
  it('stores a copy, steps over it, releases the lease and forgets failures and attempts', async () => {
    const pid = await leased('aside');
    await db.query('update queen.log_consumers set batch_retry_count = 3 where partition_id = $1', [pid]);
    await run(db, ackByHashCall(pid, ['m0', 'm1'], ['completed', 'failed']));
    const messageId = '01890000-0000-7000-8000-000000000001';
    const payload = '{"b": 1.0, "a": 1, "a": 2}';
    const { ok, id } = await putAside(pid, 1, { text: 'm1', payload, messageId, error: 'no good' });
    expect(ok).toBe(true);

    const [letter] = await run(db, ['select * from queen.log_dlq where id = $1', [id]]);
    expect(letter).toMatchObject({
      ...{ partition_id: pid, consumer_group: 'g', offset: '1', message_id: messageId },
      ...{ transaction_id: 'm1', payload, error: 'no good', retry_count: 3, failed_at: expect.any(Date) },
    });
    expect(await consumerRow(db, 'aside', 'p')).toMatchObject({
      ...free,
      ...{ committed: 1, retryCount: 0, totalConsumed: 2 },
      ...{ attemptOffset: null, attemptEnd: null, attemptCount: 0 },
    });
    expect(await claimTexts(db, 'aside', 'p', { worker: 'w2' })).toEqual(['m2', 'm3']);
  });

  it.each(['{"a":"\\u0000"}', '"\\ud800"', '12345678901234567890', '{"deep":[[[]]]}'])(
    'keeps %s byte for byte',
    async (payload) => {
      const pid = await leased(`payload ${payload}`);
      const { id } = await putAside(pid, 0, { payload });
      expect(await run(db, ['select payload from queen.log_dlq where id = $1', [id]])).toEqual([{ payload }]);
    },
  );

  it('a second time is refused and makes no second letter', async () => {
    const pid = await leased('second');
    await putAside(pid, 0);
    expect(await putAside(pid, 0)).toEqual({ ok: false, error: 'invalid or expired lease' });
    expect(await putAside(pid, 0, { worker: '' })).toEqual({ ok: false, error: 'already committed' });
    expect(await countRows(db, 'log_dlq', 'partition_id = $1', [pid])).toBe(1);
  });

  it('of one message in two groups makes two letters', async () => {
    const pid = await leased('two groups');
    await makeLease(db, 'two groups', 'p', { group: 'h', worker: 'v' });
    await putAside(pid, 0);
    await putAside(pid, 0, { group: 'h', worker: 'v' });
    expect(await countRows(db, 'log_dlq', 'partition_id = $1', [pid])).toBe(2);
  });

  it.each<[string, number, DeadLetterInput, string]>([
    ['by another worker', 0, { worker: 'w2' }, 'invalid or expired lease'],
    ['for a group without a cursor', 0, { group: 'h' }, 'consumer not found'],
    ['behind the cursor', -1, {}, 'already committed'],
    ['beyond the batch', 4, {}, 'position beyond leased batch'],
  ])('%s is refused and changes nothing', async (what, offset, options, error) => {
    const queue = `refused ${what}`;
    const pid = await leased(queue);
    const before = (await consumerRow(db, queue, 'p'))!;
    expect(await putAside(pid, offset, options)).toEqual({ ok: false, error });
    expect(await countRows(db, 'log_dlq', 'partition_id = $1', [pid])).toBe(0);
    expect(await consumerRow(db, queue, 'p')).toEqual({ ...before, leaseSecondsLeft: expect.any(Number) });
  });

  it('with an expired lease is refused; the batch comes again from that message on', async () => {
    const pid = await leased('too late');
    await run(db, ackByHashCall(pid, ['m0', 'm1'], ['completed', 'dlq']));
    await expireLease(db, 'too late', 'p');
    expect(await putAside(pid, 1)).toEqual({ ok: false, error: 'invalid or expired lease' });
    expect(await claimTexts(db, 'too late', 'p', { worker: 'w2' })).toEqual(['m1', 'm2', 'm3']);
  });

  it('never moves the cursor back', async () => {
    const pid = await leased('forward only');
    await run(db, ackByHashCall(pid, ['m2'], null));
    expect(await putAside(pid, 1)).toEqual({ ok: false, error: 'already committed' });
    expect((await consumerRow(db, 'forward only', 'p'))?.committed).toBe(2);
  });
});

describe('renewing leases', () => {
  interface Renewed {
    renewed: number;
    expiresAt: string | null;
  }

  const renew = (...args: Parameters<typeof renewCall>) => scalar<Renewed>(db, renewCall(...args));

  /** One lease of `worker` with so many seconds left. */
  const lease = async (queue: string, worker: string, leaseSeconds: number) => {
    await pushMessages(db, queue, 'p', ['a']);
    return (await makeLease(db, queue, 'p', { worker, leaseSeconds })).partitionId;
  };

  const secondsLeft = async (queue: string) => (await consumerRow(db, queue, 'p'))!.leaseSecondsLeft!;

  it('extends all live leases of the worker, and gives the earliest end', async () => {
    await lease('renewed 1', 'worker 1', 10);
    await lease('renewed 2', 'worker 1', 300);
    await lease('renewed 3', 'worker 2', 10);
    const { renewed, expiresAt } = await renew('worker 1', 100);
    expect(renewed).toBe(2);
    expect(await secondsLeft('renewed 1')).toBeGreaterThan(95);
    expect(await secondsLeft('renewed 1')).toBeLessThanOrEqual(100);
    expect(await secondsLeft('renewed 3')).toBeLessThanOrEqual(10);
    const [{ text }] = await run(db, [
      `select queen.log_utc_iso(min(lease_expires_at)) as text from queen.log_consumers where worker_id = 'worker 1'`,
      [],
    ]);
    expect(expiresAt).toBe(text);
  });

  it('never shortens a lease', async () => {
    await lease('long', 'worker long', 300);
    expect((await renew('worker long', 5)).renewed).toBe(1);
    expect(await secondsLeft('long')).toBeGreaterThan(290);
  });

  it('never revives one that has run out', async () => {
    await lease('dead', 'worker dead', 10);
    await expireLease(db, 'dead', 'p');
    expect(await renew('worker dead', 100)).toEqual({ renewed: 0, expiresAt: null });
    expect(await secondsLeft('dead')).toBeLessThan(0);
  });

  it('of an unknown worker renews nothing', async () => {
    expect(await renew('nobody', 100)).toEqual({ renewed: 0, expiresAt: null });
  });

  it.each([
    [null, 60],
    [0, 1],
    [-7, 1],
  ])('for %s seconds acts as for %d', async (seconds, acted) => {
    const queue = `acts ${seconds}`;
    await lease(queue, queue, 300);
    await db.query(
      `update queen.log_consumers set lease_expires_at = clock_timestamp() + interval '300 ms' where worker_id = $1`,
      [queue],
    );
    const { expiresAt } = await renew(queue, seconds);
    const left = await scalar<number>(db, [
      'select extract(epoch from $1::timestamptz - clock_timestamp())::float8',
      [expiresAt],
    ]);
    expect(left).toBeGreaterThan(acted - 1);
    expect(left).toBeLessThanOrEqual(acted);
  });

  it('can be narrowed to partitions, and to a tenant', async () => {
    const first = await lease('narrow 1', 'worker narrow', 10);
    const second = await lease('narrow 2', 'worker narrow', 10);
    expect((await renew('worker narrow', 100, [first])).renewed).toBe(1);
    expect(await secondsLeft('narrow 2')).toBeLessThanOrEqual(10);
    expect((await renew('worker narrow', 100, [])).renewed).toBe(0);
    expect((await renew('worker narrow', 100, [first, second], OTHER_TENANT)).renewed).toBe(0);
    expect((await renew('worker narrow', 100, null, OTHER_TENANT)).renewed).toBe(0);
    expect(await secondsLeft('narrow 2')).toBeLessThanOrEqual(10);
    expect((await renew('worker narrow', 100, null, TENANT)).renewed).toBe(2);
    expect(await secondsLeft('narrow 2')).toBeGreaterThan(90);
  });
});
