import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageLastWrite,
  expireLease,
  makeQueue,
  numbered,
  popDiscoverCall,
  popWildcard,
  popWildcardCall,
  pushMessages,
  run,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const floorAtEpoch = async (queue: string) => {
  const select = `select w.last_empty_scan_at = 'epoch' as at_epoch from queen.consumer_watermarks w
    join queen.queues q on q.id = w.queue_id where q.name = $1 and w.consumer_group = 'g'`;
  return (await run(db, [select, [queue]]))[0].at_epoch;
};

describe('the floor of the candidate scan', () => {
  it('never hides a backlog that was only leased when the scan was empty (Z11)', async () => {
    await pushMessages(db, 'hidden', 'p', numbered('m', 3));
    expect((await popWildcard(db, 'hidden', { worker: 'w1' })).texts).toHaveLength(3);
    await ageLastWrite(db, 'hidden', 'p', 600);
    expect((await popWildcard(db, 'hidden', { worker: 'w2' })).texts).toEqual([]);
    expect(await floorAtEpoch('hidden')).toBe(true);
    await expireLease(db, 'hidden', 'p');
    expect((await popWildcard(db, 'hidden', { worker: 'w2' })).texts).toHaveLength(3);
  });

  it('does not move past a pop that is under way', async () => {
    await pushMessages(db, 'claimed', 'p', ['a']);
    await popWildcard(db, 'claimed', { autoAck: true });
    await pushMessages(db, 'claimed', 'p', ['b']);
    await ageLastWrite(db, 'claimed', 'p', 600);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect((await popWildcard(s1, 'claimed', { autoAck: true })).texts).toEqual(['b']);
    expect((await popWildcard(s2, 'claimed')).texts).toEqual([]);
    expect(await floorAtEpoch('claimed')).toBe(true);
    await s1.rollback();
    expect((await popWildcard(s2, 'claimed')).texts).toEqual(['b']);
  });

  it('is moved by one of two empty scans; the other does not wait for it', async () => {
    await makeQueue(db, 'both empty', { namespace: 'both' });
    await popWildcard(db, 'both empty');
    await db.query(`update queen.consumer_watermarks set updated_at = 'epoch'`);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await popWildcard(s1, 'both empty');
    const wildcard = s2.start(...popWildcardCall('both empty'));
    expect(await wildcard.isBlocked()).toBe(false);
    await wildcard.result();
    const discovery = s2.start(...popDiscoverCall({ namespace: 'both' }));
    expect(await discovery.isBlocked()).toBe(false);
    await discovery.result();
    await s1.commit();
    expect(await floorAtEpoch('both empty')).toBe(false);
  });

  it('that was deleted by somebody who moved cursors back is made anew, at the epoch', async () => {
    await pushMessages(db, 'moved back', 'p', ['a']);
    await popWildcard(db, 'moved back', { autoAck: true });
    await popWildcard(db, 'moved back');
    await ageLastWrite(db, 'moved back', 'p', 600);
    await db.query(`update queen.log_consumers set committed = -1 where total_consumed = 1`);
    expect((await popWildcard(db, 'moved back')).texts).toEqual([]);
    await db.query('delete from queen.consumer_watermarks');
    expect((await popWildcard(db, 'moved back')).texts).toEqual(['a']);
  });
});
