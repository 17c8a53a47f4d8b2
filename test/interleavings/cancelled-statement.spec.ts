import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  claimTexts,
  consumerRow,
  countRows,
  makeLease,
  numbered,
  popWildcardCall,
  pushMessages,
  pushMultiCall,
  renewCall,
  segmentRows,
  type Call,
} from '../support/make.js';
import { openSessions, type TestSession } from '../support/sessions.js';

jest.setTimeout(30_000);

/** Hazard Z31, the database's part: a statement that is cancelled has done nothing and holds nothing. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

async function cancelled(session: TestSession, call: Call, blocker: TestSession): Promise<void> {
  const step = session.start(...call);
  expect(await step.isBlocked(blocker)).toBe(true);
  await blocker.run('select pg_cancel_backend($1)', [session.pid]);
  await expect(step.result()).rejects.toMatchObject({ code: '57014' });
}

describe('a cancelled', () => {
  it('push leaves neither rows nor a gap, and its session goes on', async () => {
    await pushMessages(db, 'push', 'p', ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await pushMessages(s1, 'push', 'p', ['b']);
    await cancelled(s2, pushMultiCall([{ queue: 'push', partition: 'p', texts: ['c', 'd'] }]), s1);
    await s1.commit();
    expect(await pushMessages(s2, 'push', 'p', ['e'])).toMatchObject({ baseOffset: 2 });
    expect(await segmentRows(db, 'push', 'p')).toHaveLength(3);
    expect(await segmentRows(db, 'push', 'p', 'log_txns')).toHaveLength(3);
  });

  it('pop across partitions leaves no lease, however far it had come (I7)', async () => {
    const names = numbered('p', 5);
    for (const partition of names) await pushMessages(db, 'pop', partition, ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run('lock table queen.log_segments in access exclusive mode');
    await cancelled(s2, popWildcardCall('pop', { maxPartitions: 5 }), s1);
    await s1.commit();
    expect(await countRows(db, 'log_consumers')).toBe(0);
    for (const partition of names) expect(await claimTexts(s2, 'pop', partition)).toEqual(['a']);
  });

  it('renewal changes no lease', async () => {
    await pushMessages(db, 'renewal', 'p', ['a']);
    await makeLease(db, 'renewal', 'p', { worker: 'renewed' });
    const before = (await consumerRow(db, 'renewal', 'p'))!.leaseExpiresAt;
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run(`select from queen.log_consumers where worker_id = 'renewed' for update`);
    await cancelled(s2, renewCall('renewed', 600), s1);
    await s1.commit();
    expect((await consumerRow(db, 'renewal', 'p'))!.leaseExpiresAt).toEqual(before);
  });
});
