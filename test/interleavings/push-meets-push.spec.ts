import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  claimTexts,
  countRows,
  makeQueue,
  numbered,
  partitionRow,
  pushMessages,
  pushMultiCall,
  run,
  scalar,
  segmentRows,
  type Pushed,
  type SegmentRow,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { deadlocks, storm } from '../support/storm.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const pushCall = (queue: string, partition: string, texts: string[]) =>
  pushMultiCall([{ queue, partition, texts }]);

/** Contiguous, and never younger than the next one (I1, I2, I5). */
function expectSoundLog(segments: SegmentRow[]): void {
  segments.slice(1).forEach((segment, k) => {
    expect(segment.base).toBe(segments[k].end + 1);
    expect(segment.createdAt >= segments[k].createdAt).toBe(true);
  });
}

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
      const { rounds, failures } = await storm(db, { sessions: 20, forMs: 1200 }, (client, session, round) =>
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
  }, 20_000);

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

describe('bundles over the same partitions in opposite order (Z5)', () => {
  const names = numbered('p', 20);
  const bundle = (queue: string, partitions: string[], text: string) =>
    pushMultiCall(partitions.map((partition) => ({ queue, partition, texts: [text] })));

  it('never deadlock on partitions that exist', async () => {
    const before = await deadlocks(db);
    await run(db, bundle('opposite', names, 'first'));
    const { rounds, failures } = await storm(db, { sessions: 6, forMs: 2000 }, (client, session, round) => {
      const order = session % 2 === 0 ? names : [...names].reverse();
      return run(client, bundle('opposite', order, `${session}-${round}`));
    });
    expect(failures).toEqual([]);
    expect(rounds).toBeGreaterThan(10);
    expect(await deadlocks(db)).toBe(before);
    for (const name of names) expectSoundLog(await segmentRows(db, 'opposite', name));
  }, 20_000);

  it('never deadlock while creating queues and partitions', async () => {
    const before = await deadlocks(db);
    const { failures } = await storm(db, { sessions: 4, rounds: 25 }, async (client, session, round) => {
      const targets = names.map((partition, i) => ({
        ...{ queue: `fresh ${round}.${i % 3}`, partition, texts: [`of ${session}`] },
      }));
      const verdicts = await scalar<Pushed[]>(
        client,
        pushMultiCall(session % 2 === 0 ? targets : targets.reverse()),
      );
      expect(verdicts.map(({ status }) => status)).toEqual(names.map(() => 'queued'));
    });
    expect(failures).toEqual([]);
    expect(await deadlocks(db)).toBe(before);
    expect(await countRows(db, 'queues', `name like 'fresh %'`)).toBe(75);
    const where = `queue_id in (select id from queen.queues where name like 'fresh %') and last_offset = 3`;
    expect(await countRows(db, 'log_partitions', where)).toBe(500);
  }, 20_000);

  it('commit the segments beside a duplicate, with no gap where it was (Z15)', async () => {
    await pushMessages(db, 'beside', 'p1', ['known']);
    const call = pushMultiCall([
      { queue: 'beside', partition: 'p0', texts: ['a'] },
      { queue: 'beside', partition: 'p1', texts: ['b', 'known'] },
      { queue: 'beside', partition: 'p2', texts: ['c'] },
    ]);
    const verdicts = await scalar<Pushed[]>(db, call);
    expect(verdicts.map(({ status }) => status)).toEqual(['queued', 'duplicate', 'queued']);
    expect(await pushMessages(db, 'beside', 'p1', ['b'])).toMatchObject({ baseOffset: 1 });
    expect(await claimTexts(db, 'beside', 'p1')).toEqual(['known', 'b']);
  });
});
