import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  ackByHashCall,
  ackMultiCall,
  claimTexts,
  consumerRow,
  countRows,
  dlqHeadCall,
  expireLease,
  makeLease,
  makeQueue,
  numbered,
  popSpecificCall,
  pushMessages,
  renewCall,
  run,
  scalar,
  type Call,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const refused = { ok: false, error: 'invalid or expired lease' };

/** m0 … m2, leased to w1. */
async function leased(queue: string, leaseSeconds = 60): Promise<string> {
  await pushMessages(db, queue, 'p', numbered('m', 3));
  return (await makeLease(db, queue, 'p', { worker: 'w1', leaseSeconds })).partitionId;
}

/** Every way in which the worker that had the lease first may come back. */
const lateCalls: [string, (pid: string) => Call][] = [
  ['ack up to a position', (pid) => ackAtCall(pid, 2, { worker: 'w1', count: 3 })],
  ['nack', (pid) => ackAtCall(pid, null, { worker: 'w1' })],
  ['ack by id', (pid) => ackByHashCall(pid, numbered('m', 3), null, { worker: 'w1' })],
  ['failure by id', (pid) => ackByHashCall(pid, ['m0'], ['failed'], { worker: 'w1' })],
  ['dead letter', (pid) => dlqHeadCall(pid, 0, { worker: 'w1' })],
];

describe('a worker whose lease ran out and was taken over (Z28)', () => {
  it.each(lateCalls)('is refused its %s, which changes nothing', async (what, callOf) => {
    const queue = `taken over: ${what}`;
    const pid = await leased(queue);
    await expireLease(db, queue, 'p');
    await makeLease(db, queue, 'p', { worker: 'w2' });
    const before = await consumerRow(db, queue, 'p');
    expect(await scalar(db, callOf(pid))).toEqual(refused);
    expect(await consumerRow(db, queue, 'p')).toEqual({ ...before, leaseSecondsLeft: expect.any(Number) });
    expect(await countRows(db, 'log_dlq')).toBe(0);
    expect(await scalar(db, ackAtCall(pid, 2, { worker: 'w2', count: 3 }))).toEqual({ ok: true, acked: 3 });
  });

  it.each(lateCalls)('is refused its %s also when it comes during the takeover', async (what, callOf) => {
    const queue = `being taken over: ${what}`;
    const pid = await leased(queue);
    await expireLease(db, queue, 'p');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s2.begin();
    await makeLease(s2, queue, 'p', { worker: 'w2' });
    const late = s1.start(...callOf(pid));
    expect(await late.isBlocked(s2)).toBe(true);
    await s2.commit();
    expect(await late.result()).toEqual([{ result: refused }]);
    expect(await consumerRow(db, queue, 'p')).toMatchObject({ workerId: 'w2', committed: -1, batchEnd: 2 });
  });

  it('of both in one flush only the one that has the lease passes', async () => {
    const pid = await leased('one flush');
    await expireLease(db, 'one flush', 'p');
    await makeLease(db, 'one flush', 'p', { worker: 'w2' });
    const acks = ['w1', 'w2'].map((worker) => ({ partitionId: pid, upto: 2, worker, count: 3 }));
    const { results } = await scalar<{ results: { ok: boolean }[] }>(db, ackMultiCall(acks));
    expect(results.map(({ ok }) => ok)).toEqual([false, true]);
    expect(await consumerRow(db, 'one flush', 'p')).toMatchObject({ committed: 2, totalConsumed: 3 });
  });

  it('may still ack while nobody has taken over, with no lease id', async () => {
    const pid = await leased('nobody yet');
    await expireLease(db, 'nobody yet', 'p');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, ackByHashCall(pid, numbered('m', 3), null, { worker: '' }));
    const pop = s2.start(...popSpecificCall('nobody yet', 'p', { worker: 'w2' }));
    expect(await pop.isBlocked()).toBe(false);
    expect(await pop.result()).toEqual([]);
    await s1.commit();
    expect(await claimTexts(s2, 'nobody yet', 'p', { worker: 'w2' })).toEqual([]);
    expect((await consumerRow(db, 'nobody yet', 'p'))?.committed).toBe(2);
  });
});

describe('a lease that runs out while its worker waits for the row', () => {
  it.each([...lateCalls, ['renewal', () => renewCall('w1', 60)] as [string, (pid: string) => Call]])(
    'has run out for its %s',
    async (what, callOf) => {
      const queue = `runs out: ${what}`;
      const pid = await leased(queue);
      const { s1, s2 } = await openSessions(db, ['s1', 's2']);
      // An ack waits for the row whatever its lease; a renewal only looks at leases that are live.
      const left = what === 'renewal' ? 1 : 0.3;
      await s2.run(
        `update queen.log_consumers set lease_expires_at = clock_timestamp() + make_interval(secs => $2)
         where partition_id = $1`,
        [pid, left],
      );
      await s2.begin();
      await s2.run(`select from queen.log_consumers where partition_id = '${pid}' for update`);
      const waiting = s1.start(...callOf(pid));
      expect(await waiting.isBlocked(s2)).toBe(true);
      const ranOut = async () => (await consumerRow(db, queue, 'p'))!.leaseSecondsLeft! < 0;
      await waitFor(ranOut, { within: 5000, what: 'the lease to run out' });
      await s2.commit();
      const [{ result }] = await waiting.result();
      expect(result).toEqual(what === 'renewal' ? { renewed: 0, expiresAt: null } : refused);
      expect(await consumerRow(db, queue, 'p')).toMatchObject({ committed: -1, retryCount: 0 });
    },
  );
});

describe('failures and crashes', () => {
  it('are charged apart: ten expired leases leave the whole retry budget (Z30)', async () => {
    await makeQueue(db, 'crashes', { retryLimit: 3 });
    await pushMessages(db, 'crashes', 'p', ['poison', 'next']);
    for (let i = 0; i < 10; i++) {
      await makeLease(db, 'crashes', 'p');
      await expireLease(db, 'crashes', 'p');
    }
    const fail = async () => {
      const { partitionId } = await makeLease(db, 'crashes', 'p');
      return scalar<{ dlq?: boolean }>(db, ackByHashCall(partitionId, ['poison'], ['failed']));
    };
    for (let i = 0; i < 3; i++) expect((await fail()).dlq).toBeUndefined();
    expect((await fail()).dlq).toBe(true);
    expect(await consumerRow(db, 'crashes', 'p')).toMatchObject({ retryCount: 3, attemptCount: 14 });
  });

  it('never lose a failure to a later success of the same batch (Z29)', async () => {
    const pid = await leased('lost nack');
    const items = ['m0', 'm1', 'm2'];
    const statuses = ['completed', 'failed', 'completed'];
    expect(await scalar(db, ackByHashCall(pid, items, statuses, { worker: 'w1' }))).toMatchObject({
      acked: 1,
    });
    expect(await consumerRow(db, 'lost nack', 'p')).toMatchObject({
      ...{ committed: 0, retryCount: 1, workerId: null },
    });
    expect(await claimTexts(db, 'lost nack', 'p')).toEqual(['m1', 'm2']);
  });

  it('hand a nacked batch to whoever asks next, at once (Z32)', async () => {
    const pid = await leased('nacked', 600);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, ackByHashCall(pid, ['m0'], ['retry'], { worker: 'w1' }));
    expect(await claimTexts(s2, 'nacked', 'p', { worker: 'w2' })).toEqual([]);
    await s1.commit();
    expect(await claimTexts(s2, 'nacked', 'p', { worker: 'w2' })).toEqual(numbered('m', 3));
  });

  it('put a payload that jsonb refuses aside all the same (Z24)', async () => {
    const pid = await leased('nul');
    const ack = ackByHashCall(pid, ['m0'], ['dlq'], { worker: 'w1' });
    const { off } = await scalar<{ off: number }>(db, ack);
    const payload = '{"a":"\\u0000"}';
    await run(db, dlqHeadCall(pid, off, { worker: 'w1', text: 'm0', payload }));
    const letters = await run(db, ['select payload from queen.log_dlq where partition_id = $1', [pid]]);
    expect(letters).toEqual([{ payload }]);
    expect((await consumerRow(db, 'nul', 'p'))?.committed).toBe(0);
  });
});

describe('two hand-overs of one message at once', () => {
  it('make one dead letter (I36)', async () => {
    const pid = await leased('handed over');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    const before = await countRows(db, 'log_dlq');
    await s1.begin();
    await run(s1, dlqHeadCall(pid, 0, { worker: 'w1' }));
    const second = s2.start(...dlqHeadCall(pid, 0, { worker: '' }));
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await second.result()).toEqual([{ result: { ok: false, error: 'already committed' } }]);
    expect(await countRows(db, 'log_dlq')).toBe(before + 1);
  });
});
