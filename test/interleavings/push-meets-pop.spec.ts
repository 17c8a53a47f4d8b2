import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  claimTexts,
  consumerRow,
  makeLease,
  numbered,
  popListCall,
  popped,
  popSpecific,
  popSpecificCall,
  popWildcard,
  popWildcardCall,
  pushMessages,
  pushMultiCall,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { deadlocks, storm } from '../support/storm.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

describe('a push that holds a partition', () => {
  it.each<[string, () => [string, unknown[]]]>([
    ['a pop of that partition', () => popSpecificCall('held', 'p2')],
    ['a pop of a list', () => popListCall('held', ['p1', 'p2'], { maxPartitions: 2 })],
    ['a pop of the queue', () => popWildcardCall('held', { maxPartitions: 2 })],
  ])('does not hold up %s, on first contact of a group (Z25)', async (what, callOf) => {
    await pushMessages(db, 'held', 'p1', [`a ${what}`]);
    await pushMessages(db, 'held', 'p2', [`a ${what}`]);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await pushMessages(s1, 'held', 'p2', [`b ${what}`]);

    const [text, values] = callOf();
    const pop = s2.start(
      text,
      values.map((value) => (value === 'g' ? what : value)),
    );
    expect(await pop.isBlocked()).toBe(false);
    expect(popped(await pop.result()).texts).toContain(`a ${what}`);
    expect((await consumerRow(db, 'held', 'p2', what))?.workerId).toBe('w');
    await s1.commit();
  });

  it('and then waits for a cursor closes no cycle with the pop that has it (Z25)', async () => {
    await pushMessages(db, 'cycle', 'p4', ['a']);
    await pushMessages(db, 'cycle', 'p5', ['a']);
    const { partitionId } = await makeLease(db, 'cycle', 'p5', { worker: 'w1' });
    await db.query(
      `update queen.log_consumers set lease_expires_at = clock_timestamp() - interval '1 second'`,
    );
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await pushMessages(s1, 'cycle', 'p4', ['b']);
    await s2.begin();
    expect((await popSpecific(s2, 'cycle', 'p5', { worker: 'w2' })).texts).toEqual(['a']);
    const ack = s1.start(...ackAtCall(partitionId, 0, { worker: 'w1' }));
    expect(await ack.isBlocked(s2)).toBe(true);

    const pop = s2.start(...popSpecificCall('cycle', 'p4', { worker: 'w2' }));
    expect(await pop.isBlocked(s1)).toBe(false);
    expect(popped(await pop.result()).texts).toEqual(['a']);
    await s2.commit();
    expect(await ack.result()).toEqual([{ result: { ok: false, error: 'invalid or expired lease' } }]);
    await s1.commit();
  });
});

describe('a pop that holds a cursor', () => {
  it('does not hold up a push, which is delivered by the next pop', async () => {
    await pushMessages(db, 'popped', 'p', ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await popSpecific(s1, 'popped', 'p', { autoAck: true });
    const push = s2.start(...pushMultiCall([{ queue: 'popped', partition: 'p', texts: ['b'] }]));
    expect(await push.isBlocked()).toBe(false);
    await push.result();
    await s1.commit();
    expect(await claimTexts(db, 'popped', 'p', { autoAck: true })).toEqual(['b']);
  });
});

describe('pushes, pops of every kind and acks all at once', () => {
  it('fail nowhere, deadlock nowhere, and lose and double nothing', async () => {
    const names = numbered('p', 12);
    const before = await deadlocks(db);
    const pushed: string[] = [];
    const delivered: string[] = [];
    const { failures } = await storm(db, { sessions: 8, forMs: 2000 }, async (client, session, round) => {
      const worker = `w${session}`;
      if (session < 3) {
        const order = session === 0 ? names : [...names].reverse();
        const texts = [`${session}-${round}`];
        await client.query(...pushMultiCall(order.map((partition) => ({ queue: 'all', partition, texts }))));
        pushed.push(...names.map((partition) => `${partition} ${texts[0]}`));
        return;
      }
      const options = { worker, budget: 30, maxPartitions: 4, leaseSeconds: 600 };
      const call = session < 6 ? popWildcardCall('all', options) : popListCall('all', names, options);
      const { batches } = popped((await client.query(...call)).rows);
      for (const { partition, partitionId, texts, end } of batches) {
        const ack = ackAtCall(partitionId, end, { worker, count: texts.length });
        const { rows } = await client.query<{ result: { ok: boolean } }>(...ack);
        if (rows[0].result.ok) delivered.push(...texts.map((text) => `${partition} ${text}`));
      }
    });
    expect(failures).toEqual([]);
    expect(await deadlocks(db)).toBe(before);
    for (let texts: string[]; ;) {
      const { batches } = await popWildcard(db, 'all', { budget: 10_000, maxPartitions: 12, autoAck: true });
      texts = batches.flatMap((batch) => batch.texts.map((text) => `${batch.partition} ${text}`));
      delivered.push(...texts);
      if (texts.length === 0) break;
    }
    expect(pushed.length).toBeGreaterThan(100);
    expect([...delivered].sort()).toEqual([...pushed].sort());
  });
});
