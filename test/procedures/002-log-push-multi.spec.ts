import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  blobOf,
  claimTexts,
  countRows,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionRow,
  pushMessages,
  pushMultiCall,
  scalar,
  segmentRows,
  TENANT,
  type Pushed,
  type SegmentInput,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const pushMulti = (segments: SegmentInput[], withTenants = true) =>
  scalar<Pushed[]>(db, pushMultiCall(segments, withTenants));

describe('a push of many segments', () => {
  it('answers in input order, whatever the order of partition ids', async () => {
    const names = numbered('p', 12);
    await pushMulti(names.map((partition) => ({ queue: 'order', partition, texts: [`first ${partition}`] })));
    const shuffled = [...names].reverse();
    // Lengths differ, so that a result at the wrong place shows.
    for (const [i, partition] of shuffled.entries()) {
      await pushMessages(db, 'order', partition, numbered(`fill ${partition} `, i + 1));
    }
    const results = await pushMulti(
      shuffled.map((partition) => ({ queue: 'order', partition, texts: [`last ${partition}`] })),
    );
    expect(results.map(({ status, baseOffset }) => [status, baseOffset])).toEqual(
      shuffled.map((_, i) => ['queued', i + 2]),
    );
  }, 20_000);

  it('of nothing answers with nothing', async () => {
    expect(await pushMulti([])).toEqual([]);
  });

  it('creates missing queues and partitions once each, of every tenant', async () => {
    const segment = (queue: string, partition: string, tenant: string) => ({
      ...{ queue, partition, tenant, texts: ['a'] },
    });
    const results = await pushMulti([
      segment('b.x', 'p1', TENANT),
      segment('a', 'p1', TENANT),
      segment('b.x', 'p2', TENANT),
      segment('b.x', 'p1', OTHER_TENANT),
    ]);
    expect(results.map(({ baseOffset }) => baseOffset)).toEqual([0, 0, 0, 0]);
    expect(await countRows(db, 'queues', `name = 'b.x' and namespace = 'b' and task = 'x'`)).toBe(2);
    expect(await countRows(db, 'queues', `name = 'a'`)).toBe(1);
    expect(await partitionRow(db, 'b.x', 'p2')).toMatchObject({ lastOffset: 0 });
  });

  it('without tenants is one of the default tenant', async () => {
    await pushMulti([{ queue: 'default tenant', partition: 'p', texts: ['a'], tenant: OTHER_TENANT }], false);
    expect(await partitionRow(db, 'default tenant', 'p')).toMatchObject({ lastOffset: 0 });
  });

  it('concerns only the duplicated segment with a duplicate verdict, and leaves no gap there', async () => {
    const partitions = ['p1', 'p2', 'p3'];
    await pushMessages(db, 'bundle', 'p2', ['known']);
    const results = await pushMulti(
      partitions.map((partition) => ({
        ...{ queue: 'bundle', partition },
        texts: partition === 'p2' ? ['new', 'known'] : ['a', 'b'],
      })),
    );
    expect(results).toMatchObject([
      { status: 'queued', baseOffset: 0 },
      { status: 'duplicate', dups: [{ i: 1, off: 0 }] },
      { status: 'queued', baseOffset: 0 },
    ]);
    expect(await pushMessages(db, 'bundle', 'p2', ['new'])).toMatchObject({ baseOffset: 1 });
  });

  it('serves the same partition twice in input order, with contiguous ranges', async () => {
    const results = await pushMulti([
      { queue: 'same', partition: 'p', texts: ['a', 'b'] },
      { queue: 'same', partition: 'q', texts: ['x'] },
      { queue: 'same', partition: 'p', texts: ['c'] },
      { queue: 'same', partition: 'p', texts: ['b', 'd'] },
    ]);
    expect(results).toMatchObject([
      { status: 'queued', baseOffset: 0 },
      { status: 'queued', baseOffset: 0 },
      { status: 'queued', baseOffset: 2 },
      { status: 'duplicate', dups: [{ i: 0, off: 1 }] },
    ]);
    expect(await claimTexts(db, 'same', 'p')).toEqual(['a', 'b', 'c']);
  });

  it('honours what the caller verified, segment by segment', async () => {
    await pushMessages(db, 'marks', 'p', ['a']);
    await pushMessages(db, 'marks', 'q', ['a']);
    const results = await pushMulti([
      { queue: 'marks', partition: 'p', texts: ['a'], verified: 0 },
      { queue: 'marks', partition: 'q', texts: ['a'], verified: -1 },
    ]);
    expect(results.map(({ status }) => status)).toEqual(['queued', 'duplicate']);
  });

  it('takes the window of each queue', async () => {
    await makeQueue(db, 'no window', { dedupWindowSeconds: 0 });
    const both = [
      { queue: 'no window', partition: 'p', texts: ['a'] },
      { queue: 'window', partition: 'p', texts: ['a'] },
    ];
    await pushMulti(both);
    expect((await pushMulti(both)).map(({ status }) => status)).toEqual(['queued', 'duplicate']);
  });

  it.each<[string, string | null, string | null]>([
    ['an empty queue name', '', 'p'],
    ['no queue name', null, 'p'],
    ['no partition name', 'nameless', null],
  ])('with %s fails as a whole and stores nothing', async (_, queue, partition) => {
    const segments = [
      { queue: 'whole', partition: 'p', texts: ['a'] },
      { queue: queue as string, partition: partition as string, texts: ['a'] },
    ];
    await expect(pushMulti(segments)).rejects.toMatchObject({
      code: 'QMULT',
      message: expect.stringContaining('QMULTI: '),
    });
    expect(await countRows(db, 'queues', `name = 'whole'`)).toBe(0);
  });

  it('with one bad segment fails as a whole', async () => {
    const [text, values] = pushMultiCall([
      { queue: 'all or none', partition: 'p', texts: ['a'] },
      { queue: 'all or none', partition: 'q', texts: ['b'] },
    ]);
    const shortHash = [(values[3] as Buffer[])[0], Buffer.alloc(15)];
    const bad = [...values.slice(0, 3), shortHash, ...values.slice(4)];
    await expect(db.query(text, bad)).rejects.toMatchObject({ code: 'QPUSH' });
    expect(await partitionRow(db, 'all or none', 'p')).toBeNull();
  });

  it.each([
    ['queues', 0],
    ['partitions', 1],
    ['counts', 2],
    ['hashes', 3],
    ['verified marks', 4],
    ['blobs', 5],
    ['tenants', 6],
  ])('whose %s are of another number is refused', async (_, position) => {
    const [text, values] = pushMultiCall([{ queue: 'lengths', partition: 'p', texts: ['a'] }]);
    const longer = values.map((value, i) =>
      i === position ? [...(value as unknown[]), (value as unknown[])[0]] : value,
    );
    await expect(db.query(text, longer)).rejects.toMatchObject({ code: 'QMULT' });
    const shorter = values.map((value, i) => (i === position ? [] : value));
    await expect(db.query(text, shorter)).rejects.toMatchObject({ code: 'QMULT' });
  });

  it('allocates what single pushes would', async () => {
    const sizes = [3, 1, 4, 1, 5];
    const segments = sizes.map((size, i) => ({
      ...{ queue: 'together', partition: `p${i % 2}`, texts: numbered(`s${i}-`, size) },
    }));
    const together = await pushMulti(segments);
    const apart: Pushed[] = [];
    for (const segment of segments) {
      apart.push(await pushMessages(db, 'apart', segment.partition, segment.texts));
    }
    expect(together.map(({ baseOffset }) => baseOffset)).toEqual(apart.map(({ baseOffset }) => baseOffset));
    expect((await segmentRows(db, 'together', 'p0'))[0].bytes).toHaveLength(
      blobOf(segments[0].texts).length * 2,
    );
  });
});
