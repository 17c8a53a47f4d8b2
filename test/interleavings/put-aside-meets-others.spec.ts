import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { openSessions, type TestSession } from '../support/sessions.js';
import {
  ackByHashCall,
  claimTexts,
  countRows,
  expireLease,
  makeLease,
  makeQueue,
  numbered,
  partitionId,
  popSpecific,
  popSpecificCall,
  pushMessages,
  run,
  scalar,
} from '../support/make.js';

let db: TestDatabase;
let s1: TestSession;
let s2: TestSession;
let queue: string;
let pid: string;
let tests = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  ({ s1, s2 } = await openSessions(db, ['s1', 's2']));
});

afterAll(() => db.drop());

/** m0 has used up its deliveries: its only one was lost by `old`. */
beforeEach(async () => {
  queue = `q${tests++}`;
  await makeQueue(db, queue, { maxDeliveries: 1 });
  await pushMessages(db, queue, 'p', numbered('m', 3));
  await makeLease(db, queue, 'p', { budget: 1, worker: 'old' });
  await expireLease(db, queue, 'p');
  pid = await partitionId(db, queue, 'p');
});

const putAside = (worker: string): [string, unknown[]] => [
  `select queen.log_put_aside_v1($1, 'g', $2, 0, null, 'm0', '1', null, null, null, false) as result`,
  [pid, worker],
];

describe('a message that is put aside', () => {
  it('is claimed by one pop only; another one that comes meanwhile goes on without waiting', async () => {
    await s1.begin();
    expect(await run(s1, popSpecificCall(queue, 'p', { worker: 'a' }))).toMatchObject([
      { r_attempt: 0, r_take: 1 },
    ]);
    const second = s2.start(...popSpecificCall(queue, 'p', { worker: 'b' }));
    expect(await second.finishedWithin(2000)).toBe(true);
    expect(await second.result()).toEqual([]);
    await s1.commit();
    expect((await popSpecific(db, queue, 'p', { worker: 'b' })).batches).toEqual([]);
  });

  it('is there once, and a late ack of the worker that lost it changes nothing', async () => {
    await popSpecific(db, queue, 'p', { worker: 'a' });
    await s1.begin();
    expect(await scalar(s1, putAside('a'))).toMatchObject({ ok: true });
    const late = s2.start(...ackByHashCall(pid, ['m0', 'm1'], null, { worker: 'old' }));
    const twice = s1.run(...putAside('a'));
    expect(await late.isBlocked(s1)).toBe(true);
    expect(await twice).toEqual([{ result: { ok: false, error: 'invalid or expired lease' } }]);
    await s1.commit();
    expect(await late.result()).toEqual([{ result: { ok: false, error: 'invalid or expired lease' } }]);
    expect(await countRows(db, 'log_dlq', 'partition_id = $1', [pid])).toBe(1);
    expect(await claimTexts(db, queue, 'p')).toEqual(['m1', 'm2']);
  });

  it('is left alone when an ack without a lease completed it first', async () => {
    await popSpecific(db, queue, 'p', { worker: 'a' });
    await s1.begin();
    expect(await scalar(s1, ackByHashCall(pid, ['m0'], null, { worker: '' }))).toMatchObject({ ok: true });
    const filing = s2.start(...putAside('a'));
    expect(await filing.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await filing.result()).toMatchObject([{ result: { ok: false } }]);
    expect(await countRows(db, 'log_dlq', 'partition_id = $1', [pid])).toBe(0);
  });
});
