import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  consumerRow,
  countRows,
  inTurn,
  makeLease,
  numbered,
  partitionId,
  popMultiCall,
  popSpecific,
  pushMessages,
  pushMultiCall,
  renewCall,
  run,
  scalar,
  type PopJob,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { popMulti, sharedAnswers, statesOf } from '../support/shared-pops.js';
import { deadlocks, storm } from '../support/storm.js';

jest.setTimeout(60_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** Partitions p0 … with a cursor of group g each, and so many messages that are not delivered yet. */
async function pushTo(queue: string, partitions: number, perPartition: number): Promise<string[]> {
  const names = numbered('p', partitions);
  const segment = (texts: string[]) => names.map((partition) => ({ queue, partition, texts }));
  await run(db, pushMultiCall(segment(['seen'])));
  await popMulti(db, [{ queue, names, budget: partitions, maxPartitions: partitions, autoAck: true }]);
  await run(db, pushMultiCall(segment(numbered('m', perPartition))));
  return names;
}

const jobsOf = (queue: string, names: readonly string[], options: Partial<PopJob> = {}): PopJob[] =>
  names.map((name, i) => ({ queue, names: [name], worker: `w${i}`, ...options }));

describe('pops that share a claim', () => {
  it('are not delayed by a partition that another pop holds, and say of it that it is taken', async () => {
    await pushTo('held', 3, 2);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await popSpecific(s1, 'held', 'p1', { worker: 'other' });

    const jobs = jobsOf('held', ['p0', 'p1', 'p2']);
    const claim = s2.start(...popMultiCall(jobs));
    expect(await claim.isBlocked()).toBe(false);
    const answers = sharedAnswers(jobs, await claim.result());
    expect(answers.map(statesOf)).toEqual([['p0 took'], ['p1 leased'], ['p2 took']]);
    expect(answers[1].verdicts).toMatchObject([{ wait: 'short' }]);
    await s1.commit();
    expect((await consumerRow(db, 'held', 'p1'))?.workerId).toBe('other');
  });

  it('never call a partition empty whose tail another pop is taking (Z8)', async () => {
    await pushTo('tail', 2, 5);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await popSpecific(s1, 'tail', 'p0', { budget: 3, autoAck: true });
    const lost = await popMulti(s2, jobsOf('tail', ['p0', 'p1'], { autoAck: true }));
    expect(lost.map(statesOf)).toEqual([['p0 leased'], ['p1 took']]);
    await s1.commit();
    const [rest] = await popMulti(s2, jobsOf('tail', ['p0'], { autoAck: true }));
    expect(rest.batches).toMatchObject([{ texts: ['m3', 'm4'] }]);
  });

  it('pass by a lease that is being renewed, and an ack that is under way', async () => {
    const names = await pushTo('leases', 3, 2);
    for (const name of names.slice(0, 2)) {
      await makeLease(db, 'leases', name, { worker: name, leaseSeconds: 1, budget: 1 });
    }
    const acked = await partitionId(db, 'leases', 'p1');
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s1.begin();
    await run(s1, renewCall('p0', 60));
    await s2.begin();
    await scalar(s2, ackAtCall(acked, 1, { worker: 'p1' }));
    const claim = s3.start(...popMultiCall(jobsOf('leases', names)));
    expect(await claim.isBlocked()).toBe(false);
    expect(sharedAnswers(jobsOf('leases', names), await claim.result()).map(statesOf)).toEqual([
      ['p0 leased'],
      ['p1 leased'],
      ['p2 took'],
    ]);
    await s1.commit();
    await s2.commit();
    expect((await consumerRow(db, 'leases', 'p0'))?.workerId).toBe('p0');
  });

  it('claim what a pop left that was rolled back', async () => {
    await pushTo('rolled back', 2, 1);
    const { s1 } = await openSessions(db, ['s1']);
    await s1.begin();
    await popMulti(s1, jobsOf('rolled back', ['p0', 'p1']));
    await s1.rollback();
    const answers = await popMulti(db, jobsOf('rolled back', ['p0', 'p1']));
    expect(answers.map(statesOf)).toEqual([['p0 took'], ['p1 took']]);
  });

  it('have claimed nothing when they are cancelled in the middle, and the session goes on', async () => {
    const names = await pushTo('cancelled', 4, 1);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    const claim = s2.start(...popMultiCall(jobsOf('cancelled', names)));
    expect(await claim.isBlocked(s1)).toBe(true); // the cursors are locked by now
    await s1.run('select pg_cancel_backend($1)', [s2.pid]);
    await expect(claim.result()).rejects.toMatchObject({ code: '57014' });
    await s1.commit();
    const leased = `worker_id is not null and partition_id in (
      select p.id from queen.log_partitions p join queen.queues q on q.id = p.queue_id where q.name = 'cancelled')`;
    expect(await countRows(db, 'log_consumers', leased)).toBe(0);
    expect((await popMulti(s2, jobsOf('cancelled', names))).map(statesOf)).toEqual(
      names.map((name) => [`${name} took`]),
    );
  });

  it('of two brokers meet in any order without a deadlock, and deliver every message once, in order', async () => {
    const names = await pushTo('two brokers', 12, 25);
    const taken: { partition: string; text: string }[][] = Array.from({ length: 6 }, () => []);
    let left = names.length * 25;
    const result = await storm(
      db,
      { sessions: 6, goesOn: () => left > 0 },
      async (client, session, round) => {
        const order = session % 2 === 0 ? names : [...names].reverse();
        const from = (round * 5) % names.length;
        const jobs = jobsOf('two brokers', [...order.slice(from), ...order.slice(0, from)].slice(0, 8), {
          ...{ autoAck: true, budget: 1 + (round % 3) },
        });
        for (const { batches } of await popMulti(client, jobs)) {
          for (const { partition, texts } of batches) {
            left -= texts.length;
            taken[session].push(...texts.map((text) => ({ partition, text })));
          }
        }
      },
    );
    expect(result.failures).toEqual([]);
    expect(result.lockWaits).toEqual([]);
    expect(await deadlocks(db)).toBe(0);
    for (const name of names) {
      const mine = taken.map((one) =>
        one.filter(({ partition }) => partition === name).map(({ text }) => text),
      );
      const numbers = mine.map((texts) => texts.map((text) => Number(text.slice(1))));
      for (const one of numbers) expect(one).toEqual([...one].sort((a, b) => a - b));
      expect(numbers.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, i) => i));
    }
  });

  it('meet pushes into their partitions without waiting for them', async () => {
    const names = await pushTo('pushed', 3, 1);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await inTurn(names, (name) => pushMessages(s1, 'pushed', name, ['later']));
    const claim = s2.start(...popMultiCall(jobsOf('pushed', names, { autoAck: true })));
    expect(await claim.isBlocked()).toBe(false);
    const answers = sharedAnswers(jobsOf('pushed', names), await claim.result());
    expect(answers.flatMap(({ batches }) => batches.flatMap(({ texts }) => texts))).toEqual([
      'm0',
      'm0',
      'm0',
    ]);
    await s1.commit();
  });
});
