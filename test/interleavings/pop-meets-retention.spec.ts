import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  consumerRow,
  dropBelow,
  makeQueue,
  numbered,
  popListCall,
  popped,
  popSpecific,
  popSpecificCall,
  pushMessages,
  scalar,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';

jest.setTimeout(30_000);

/** Hazard Z7: a partition that retention emptied must stop looking pending, and no message may be lost over it. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const hasPending = (queue: string) =>
  scalar<boolean>(db, [`select queen.log_has_pending_v1($1, 'g')`, [queue]]);

async function emptied(queue: string): Promise<void> {
  await pushMessages(db, queue, 'p', numbered('m', 10));
  await popSpecific(db, queue, 'p', { budget: 1, autoAck: true });
  await dropBelow(db, queue, 'p', 10);
}

describe('the seal of a cursor on an emptied partition', () => {
  it('ends the phantom, until the next push (I40)', async () => {
    await emptied('phantom');
    expect(await hasPending('phantom')).toBe(true);
    expect((await popSpecific(db, 'phantom', 'p')).texts).toEqual([]);
    expect((await consumerRow(db, 'phantom', 'p'))?.committed).toBe(9);
    expect(await hasPending('phantom')).toBe(false);
    await pushMessages(db, 'phantom', 'p', ['next']);
    expect((await popSpecific(db, 'phantom', 'p')).texts).toEqual(['next']);
  });

  it('is not put on a partition whose messages are only held back', async () => {
    await makeQueue(db, 'held back', { delayedProcessing: 1000 });
    await pushMessages(db, 'held back', 'p', ['a']);
    expect((await popSpecific(db, 'held back', 'p')).texts).toEqual([]);
    expect((await consumerRow(db, 'held back', 'p'))?.committed).toBe(-1);
    expect(await hasPending('held back')).toBe(true);
  });

  it('does not cover a push that came after the pop had read the end of the partition', async () => {
    await emptied('raced');
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    // Stops the pop between its first read and its claim; pushes do not touch this table.
    await s3.begin();
    await s3.run('lock table queen.log_consumers in exclusive mode');
    const pop = s1.start(...popSpecificCall('raced', 'p', { autoAck: true }));
    expect(await pop.isBlocked(s3)).toBe(true);
    await pushMessages(s2, 'raced', 'p', ['new']);
    await s3.rollback();

    const delivered = popped(await pop.result()).texts;
    delivered.push(...(await popSpecific(db, 'raced', 'p', { autoAck: true })).texts);
    expect(delivered).toEqual(['new']);
  });

  it('does not cover a push that came between the last look and the seal', async () => {
    await emptied('last look');
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    // Stops the pop at its first write: locking rows is still allowed, changing them is not.
    await s3.begin();
    await s3.run('lock table queen.log_consumers in share mode');
    const pop = s1.start(...popSpecificCall('last look', 'p', { autoAck: true }));
    expect(await pop.isBlocked(s3)).toBe(true);
    await pushMessages(s2, 'last look', 'p', ['new']);
    await s3.rollback();
    expect(await pop.result()).toEqual([]);
    expect((await consumerRow(db, 'last look', 'p'))?.committed).toBe(9);
    expect((await popSpecific(db, 'last look', 'p', { autoAck: true })).texts).toEqual(['new']);
  });

  it('does not cover a push that is still under way', async () => {
    await emptied('uncommitted');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s2.begin();
    await pushMessages(s2, 'uncommitted', 'p', ['new']);
    const pop = s1.start(...popSpecificCall('uncommitted', 'p'));
    expect(await pop.isBlocked()).toBe(false);
    expect(await pop.result()).toEqual([]);
    await s2.commit();
    expect((await consumerRow(db, 'uncommitted', 'p'))?.committed).toBe(9);
    expect((await popSpecific(s1, 'uncommitted', 'p')).texts).toEqual(['new']);
  });
});

describe('a group that had caught up', () => {
  it('is not told "empty" of a partition that was written during the pop (Z8)', async () => {
    await pushMessages(db, 'caught up', 'p', ['old']);
    await popSpecific(db, 'caught up', 'p', { autoAck: true });
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s3.begin();
    await s3.run('lock table queen.log_consumers in exclusive mode');
    const pop = s1.start(...popListCall('caught up', ['p']));
    expect(await pop.isBlocked(s3)).toBe(true);
    await pushMessages(s2, 'caught up', 'p', ['new']);
    await s3.rollback();
    const [verdict] = popped(await pop.result()).verdicts;
    expect(['leased', 'took']).toContain(verdict.state);
  });
});
