import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeLetter, moveCall } from '../support/letters.js';
import {
  countRows,
  dlqHeadCall,
  makeLease,
  partitionId,
  partitionRow,
  pushMessages,
  segmentRows,
  TENANT,
  type Call,
} from '../support/make.js';
import { openSessions, type TestSession } from '../support/sessions.js';

jest.setTimeout(30_000);

let db: TestDatabase;
let s1: TestSession;
let s2: TestSession;

beforeAll(async () => {
  db = await createTestDatabase();
  ({ s1, s2 } = await openSessions(db, ['s1', 's2']));
});

afterAll(() => db.drop());

const deleteQueue = (queue: string): Call => ['select queen.delete_queue_v1($1) as result', [queue]];
const purge = (queue: string): Call => [
  'select r_deleted from queen.log_dlq_purge_v1($1, null, null, null, null, 100, $2)',
  [queue, TENANT],
];

const letters = (pid: string) => countRows(db, 'log_dlq', 'partition_id = $1', [pid]);
const hashRows = (pid: string) => countRows(db, 'log_txns', 'partition_id = $1', [pid]);

describe('a dead letter being replayed', () => {
  it('by two callers becomes one message', async () => {
    const id = await makeLetter(db, 'two', 'p');
    await s1.begin();
    expect(await s1.run(...moveCall(id, 'two', 'p'))).toMatchObject([{ result: { result: 'moved' } }]);
    const second = s2.start(...moveCall(id, 'two', 'p'));
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await second.result()).toEqual([{ result: { result: 'gone' } }]);
    expect((await partitionRow(db, 'two', 'p'))?.lastOffset).toBe(1);
    expect(await segmentRows(db, 'two', 'p')).toHaveLength(2);
  });

  it('to two places becomes one message', async () => {
    const id = await makeLetter(db, 'places', 'p');
    await s1.begin();
    await s1.run(...moveCall(id, 'places', 'q'));
    const second = s2.start(...moveCall(id, 'places', 'r'));
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await second.result()).toEqual([{ result: { result: 'gone' } }]);
    expect(await segmentRows(db, 'places', 'q')).toHaveLength(1);
    expect(await segmentRows(db, 'places', 'r')).toEqual([]);
  });

  it('is still there when the replay rolls back, and nothing was pushed', async () => {
    const id = await makeLetter(db, 'back', 'p');
    await s1.begin();
    await s1.run(...moveCall(id, 'back', 'p'));
    const second = s2.start(...moveCall(id, 'back', 'p'));
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.rollback();
    expect(await second.result()).toMatchObject([{ result: { result: 'moved', baseOffset: 1 } }]);
  });

  it('does not meet a push of the same partition in a deadlock, and takes the next offset', async () => {
    const id = await makeLetter(db, 'push', 'p');
    await s1.begin();
    await pushMessages(s1, 'push', 'p', ['a', 'b']);
    const moved = s2.start(...moveCall(id, 'push', 'p'));
    expect(await moved.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await moved.result()).toMatchObject([{ result: { result: 'moved', baseOffset: 3 } }]);
  });

  it('is gone when a purge took it first', async () => {
    const id = await makeLetter(db, 'purged', 'p');
    await s1.begin();
    expect(await s1.run(...purge('purged'))).toEqual([{ r_deleted: 1 }]);
    const moved = s2.start(...moveCall(id, 'purged', 'p'));
    expect(await moved.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await moved.result()).toEqual([{ result: { result: 'gone' } }]);
    expect((await partitionRow(db, 'purged', 'p'))?.lastOffset).toBe(0);
  });

  it('is not counted by a purge that came second', async () => {
    const id = await makeLetter(db, 'second', 'p');
    await s1.begin();
    await s1.run(...moveCall(id, 'second', 'p'));
    const purged = s2.start(...purge('second'));
    expect(await purged.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await purged.result()).toEqual([{ r_deleted: 0 }]);
  });
});

describe('a queue being deleted', () => {
  it('waits for a replay into it and takes what it pushed', async () => {
    const id = await makeLetter(db, 'delete 1', 'p');
    const pid = await partitionId(db, 'delete 1', 'p');
    await s1.begin();
    await s1.run(...moveCall(id, 'delete 1', 'p'));
    const deleted = s2.start(...deleteQueue('delete 1'));
    expect(await deleted.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await deleted.result()).toMatchObject([{ result: { deleted: true } }]);
    expect([await letters(pid), await hashRows(pid)]).toEqual([0, 0]);
  });

  it('lets a replay that waited for it begin anew, which then finds the letter gone', async () => {
    const id = await makeLetter(db, 'delete 2', 'p');
    await s1.begin();
    await s1.run(...deleteQueue('delete 2'));
    const moved = s2.start(...moveCall(id, 'delete 2', 'p'));
    expect(await moved.isBlocked(s1)).toBe(true);
    await s1.commit();
    await expect(moved.result()).rejects.toMatchObject({ code: 'QGONE' });
    expect(await s2.run(...moveCall(id, 'delete 2', 'p'))).toEqual([{ result: { result: 'gone' } }]);
    expect(await partitionRow(db, 'delete 2', 'p')).toBeNull();
  });

  it('does not leave behind a dead letter that was being filed', async () => {
    await pushMessages(db, 'delete 3', 'p', ['a', 'b']);
    const { partitionId: pid } = await makeLease(db, 'delete 3', 'p');
    await s1.begin();
    expect(await s1.run(...dlqHeadCall(pid, 0))).toMatchObject([{ result: { ok: true } }]);
    const deleted = s2.start(...deleteQueue('delete 3'));
    expect(await deleted.isBlocked(s1)).toBe(true);
    await s1.commit();
    await deleted.result();
    expect(await letters(pid)).toBe(0);
  });
});
