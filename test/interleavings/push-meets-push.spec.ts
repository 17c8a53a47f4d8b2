import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  countRows,
  makeQueue,
  partitionRow,
  pushMessages,
  pushMultiCall,
  segmentRows,
} from '../support/make.js';
import { expectSoundLog } from '../support/sound-log.js';
import { openSessions } from '../support/sessions.js';
import { storm } from '../support/storm.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const pushCall = (queue: string, partition: string, texts: string[]) =>
  pushMultiCall([{ queue, partition, texts }]);

describe('pushes to one partition', () => {
  it('wait for one another, and are stamped in the order in which they commit (Z14)', async () => {
    await pushMessages(db, 'stamps', 'p', ['first']);
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s1.begin();
    await pushMessages(s1, 'stamps', 'p', ['a']);
    const second = s2.start(...pushCall('stamps', 'p', ['b']));
    expect(await second.isBlocked(s1)).toBe(true);
    const third = s3.start(...pushCall('stamps', 'p', ['c']));
    expect(await third.isBlocked()).toBe(true);
    const [{ held }] = await s1.run('select clock_timestamp()::text as held');
    await s1.commit();
    await Promise.all([second.result(), third.result()]);

    const segments = await segmentRows(db, 'stamps', 'p');
    expectSoundLog(segments);
    expect(segments.at(2)!.createdAt > (held as string)).toBe(true);
  });

  it.each([3600, 0])(
    'by twenty at once leave a sound log (dedup window %d)',
    async (dedupWindowSeconds) => {
      const queue = `twenty ${dedupWindowSeconds}`;
      await makeQueue(db, queue, { dedupWindowSeconds });
      const { rounds, failures } = await storm(db, { sessions: 20, forMs: 1000 }, (client, session, round) =>
        pushMessages(client, queue, 'p', [`${session}-${round}`, `${session}-${round}b`]),
      );
      expect(failures).toEqual([]);
      const segments = await segmentRows(db, queue, 'p');
      expect(segments).toHaveLength(rounds);
      expectSoundLog(segments);
      const hashes = await segmentRows(db, queue, 'p', 'log_txns');
      expect(hashes.map(({ base, createdAt }) => [base, createdAt])).toEqual(
        segments.map(({ base, createdAt }) => [base, createdAt]),
      );
    },
    20_000,
  );

  it('give the offsets of one that is rolled back to the next (I7)', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await pushMessages(db, 'aborted', 'p', ['a']);
    await s1.begin();
    await pushMessages(s1, 'aborted', 'p', ['b', 'c']);
    const waiting = s2.start(...pushCall('aborted', 'p', ['d']));
    expect(await waiting.isBlocked(s1)).toBe(true);
    await s1.rollback();
    expect(await waiting.result()).toMatchObject([{ result: [{ status: 'queued', baseOffset: 1 }] }]);
  });

  it('see the duplicate that the one before them has just committed (Z16)', async () => {
    await pushMessages(db, 'same id', 'p', ['a']);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await pushMessages(s1, 'same id', 'p', ['x']);
    const waiting = s2.start(...pushCall('same id', 'p', ['x']));
    expect(await waiting.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await waiting.result()).toEqual([{ result: [{ status: 'duplicate', dups: [{ i: 0, off: 1 }] }] }]);
  });

  it('of the same id by two at once store it once, two hundred times over (Z16)', async () => {
    const verdicts: Record<number, string[]> = {};
    const { failures } = await storm(db, { sessions: 2, rounds: 200 }, async (client, _, round) => {
      const { status } = await pushMessages(client, 'rounds', 'p', [`id ${round}`]);
      (verdicts[round] ??= []).push(status);
    });
    expect(failures).toEqual([]);
    for (const pair of Object.values(verdicts)) expect(pair.sort()).toEqual(['duplicate', 'queued']);
    expect((await partitionRow(db, 'rounds', 'p'))?.lastOffset).toBe(199);
  });

  it('of which one creates queue and partition let the others wait and then use them', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await pushMessages(s1, 'created', 'p', ['a']);
    const waiting = s2.start(...pushCall('created', 'p', ['b']));
    expect(await waiting.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await waiting.result()).toMatchObject([{ result: [{ status: 'queued', baseOffset: 1 }] }]);
    expect(await countRows(db, 'queues', `name = 'created'`)).toBe(1);
  });
});
