import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { hashTransactionId, hashTransactionIds } from '../../src/segment/transaction-hash.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageLastWrite,
  ageSegments,
  blobOf,
  claimTexts,
  countRows,
  dropBelow,
  inTurn,
  makePartitions,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionId,
  partitionRow,
  pushMessages,
  pushOneCall,
  run,
  scalar,
  segmentRows,
  TENANT,
  type PushOneOptions,
  type Pushed,
} from '../support/make.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const pushOne = (queue: string, partition: string, texts: string[], options: PushOneOptions = {}) =>
  scalar<Pushed>(db, pushOneCall(queue, partition, texts, options));

const hex = (texts: string[]) => hashTransactionIds(texts).toString('hex');

describe('a push of one segment', () => {
  it('gets consecutive offsets, stored once as segment and once as hash row', async () => {
    const first = await pushOne('plain', 'p', ['a', 'b', 'c']);
    const second = await pushOne('plain', 'p', ['d', 'e']);
    expect([first.status, first.baseOffset, second.baseOffset]).toEqual(['queued', 0, 3]);

    const segments = await segmentRows(db, 'plain', 'p');
    const hashes = await segmentRows(db, 'plain', 'p', 'log_txns');
    expect(segments).toMatchObject([
      { base: 0, end: 2 },
      { base: 3, end: 4 },
    ]);
    const range = ({ base, end, createdAt }: { base: number; end: number; createdAt: string }) =>
      [base, end, createdAt].join();
    expect(hashes.map(range)).toEqual(segments.map(range));
    expect(hashes.map(({ bytes }) => bytes)).toEqual([hex(['a', 'b', 'c']), hex(['d', 'e'])]);
    expect(await claimTexts(db, 'plain', 'p')).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('stores the blob byte for byte', async () => {
    const blob = blobOf(['a']);
    await run(db, [
      'select queen.log_push_one_v1($1, $2, 1, $3, -1, $4)',
      ['bytes', 'p', hashTransactionId('a'), blob],
    ]);
    expect((await segmentRows(db, 'bytes', 'p'))[0].bytes).toBe(blob.toString('hex'));
  });

  it('says when it was stored, which is what the row says', async () => {
    const { createdAt } = await pushOne('stamped', 'p', ['a']);
    expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const [{ same }] = await run(db, [
      'select created_at = $1::timestamptz as same from queen.log_segments where partition_id = $2',
      [createdAt, await partitionId(db, 'stamped', 'p')],
    ]);
    expect(same).toBe(true);
  });

  it('creates queue and partition on first contact, with the defaults of a push', async () => {
    await pushOne('fresh.mail', 'p', ['a']);
    const [queue] = await run(db, [`select * from queen.queues where name = 'fresh.mail'`, []]);
    expect(queue).toMatchObject({
      namespace: 'fresh',
      task: 'mail',
      lease_time: 60,
      dead_letter_queue: true,
    });
    expect(await partitionRow(db, 'fresh.mail', 'p')).toMatchObject({ lastOffset: 0, logStart: 0 });
  });

  it('of one tenant does not touch the queue of that name in another', async () => {
    await pushOne('tenants', 'p', ['a']);
    expect(await pushOne('tenants', 'p', ['a'], { tenant: OTHER_TENANT })).toMatchObject({ baseOffset: 0 });
    expect(await partitionRow(db, 'tenants', 'p')).toMatchObject({ lastOffset: 0 });
  });

  it('uses partition and window that the caller resolved, whatever the names say', async () => {
    const queueId = await makeQueue(db, 'resolved');
    const [pid] = await makePartitions(db, queueId, ['p']);
    await pushOne('other name', 'other partition', ['a'], { pid, window: 3600 });
    expect(await pushOne('other name', 'other partition', ['a'], { pid, window: 0 })).toMatchObject({
      status: 'queued',
      baseOffset: 1,
    });
    expect(await countRows(db, 'queues', `name = 'other name'`)).toBe(0);
  });

  it.each<[string, number | null, Buffer | null, Buffer | null]>([
    ['no message', 0, Buffer.alloc(0), blobOf(['a'])],
    ['a negative number of messages', -1, Buffer.alloc(0), blobOf(['a'])],
    ['an unknown number of messages', null, Buffer.alloc(16), blobOf(['a'])],
    ['a hash too few', 2, Buffer.alloc(16), blobOf(['a', 'b'])],
    ['half a hash too many', 1, Buffer.alloc(24), blobOf(['a'])],
    ['no hashes', 1, null, blobOf(['a'])],
    ['no blob', 1, Buffer.alloc(16), null],
  ])('of %s is refused and creates nothing', async (_, count, hashes, blob) => {
    const call = 'select queen.log_push_one_v1($1, $2, $3, $4, -1, $5)';
    await expect(db.query(call, ['refused', 'p', count, hashes, blob])).rejects.toMatchObject({
      code: 'QPUSH',
      message: expect.stringContaining('QPUSH: '),
    });
    expect(await countRows(db, 'queues', `name = 'refused'`)).toBe(0);
  });

  it.each([
    ['the empty queue name', '', 'p'],
    ['no partition name', 'nameless', null],
  ])('to %s is refused', async (_, queue, partition) => {
    await expect(run(db, pushOneCall(queue, partition as string, ['a']))).rejects.toMatchObject({
      code: 'QPUSH',
      message: expect.stringContaining('cannot be created'),
    });
  });

  it.each([0, 3600])('to a partition that vanished fails loudly (window %d)', async (window) => {
    const pid = '00000000-0000-0000-0000-0000000000ff';
    const call = pushOneCall('gone', 'p', ['a'], { pid, window });
    await expect(run(db, call)).rejects.toMatchObject({ code: 'QGONE' });
    expect(await countRows(db, 'log_txns', 'partition_id = $1', [pid])).toBe(0);
  });

  it('that is rolled back leaves no gap', async () => {
    await pushOne('aborted', 'p', ['a']);
    const client = await db.connect();
    await client.query('begin');
    await client.query(...pushOneCall('aborted', 'p', ['b', 'c']));
    await client.query('rollback');
    expect(await pushOne('aborted', 'p', ['d'])).toMatchObject({ baseOffset: 1 });
  });

  it('moves last_write_at only when it is more than a second old', async () => {
    await pushOne('quantized', 'p', ['a']);
    await ageLastWrite(db, 'quantized', 'p', 0.5);
    const young = await partitionRow(db, 'quantized', 'p');
    await pushOne('quantized', 'p', ['b']);
    expect((await partitionRow(db, 'quantized', 'p'))?.lastWriteAt).toBe(young?.lastWriteAt);

    await ageLastWrite(db, 'quantized', 'p', 1.1);
    const { rows } = await db.query('select clock_timestamp()::text as now');
    await pushOne('quantized', 'p', ['c']);
    const moved = (await partitionRow(db, 'quantized', 'p'))!.lastWriteAt;
    expect(moved > (rows[0].now as string)).toBe(true);
  });
});

describe('a push of known messages', () => {
  it('is a duplicate that names each with its first offset, and writes nothing', async () => {
    await pushOne('known', 'p', ['a', 'b', 'c']);
    await pushOne('known', 'p', ['d']);
    const before = [await partitionRow(db, 'known', 'p'), await segmentRows(db, 'known', 'p', 'log_txns')];
    expect(await pushOne('known', 'p', ['x', 'd', 'y', 'b'])).toEqual({
      status: 'duplicate',
      dups: [
        { i: 1, off: 3 },
        { i: 3, off: 1 },
      ],
    });
    expect([await partitionRow(db, 'known', 'p'), await segmentRows(db, 'known', 'p', 'log_txns')]).toEqual(
      before,
    );
  });

  it('gives the smallest offset when the id is stored more than once', async () => {
    await makeQueue(db, 'twice', { dedupWindowSeconds: 0 });
    for (let i = 0; i < 3; i++) await pushOne('twice', 'p', ['same']);
    const verdict = await pushOne('twice', 'p', ['same'], {
      pid: await partitionId(db, 'twice', 'p'),
      window: 3600,
    });
    expect(verdict).toEqual({ status: 'duplicate', dups: [{ i: 0, off: 0 }] });
  });

  it('is new in another partition', async () => {
    await pushOne('elsewhere', 'p1', ['a']);
    expect(await pushOne('elsewhere', 'p2', ['a'])).toMatchObject({ status: 'queued' });
  });

  it('is new when the queue has no window', async () => {
    await makeQueue(db, 'unchecked', { dedupWindowSeconds: 0 });
    await pushOne('unchecked', 'p', ['a']);
    expect(await pushOne('unchecked', 'p', ['a'])).toMatchObject({ status: 'queued', baseOffset: 1 });
  });

  it('is new once the window has passed, and a duplicate right before', async () => {
    await makeQueue(db, 'windowed', { dedupWindowSeconds: 100 });
    await pushOne('windowed', 'p', ['old']);
    await pushOne('windowed', 'p', ['recent']);
    await ageSegments(db, 'windowed', 'p', 101, { to: 0 });
    await ageSegments(db, 'windowed', 'p', 95, { from: 1 });
    expect(await pushOne('windowed', 'p', ['recent'])).toMatchObject({ status: 'duplicate' });
    expect(await pushOne('windowed', 'p', ['old'])).toMatchObject({ status: 'queued', baseOffset: 2 });
  });

  it('is new once its hash row has been purged', async () => {
    await pushOne('purged', 'p', ['a']);
    await pushOne('purged', 'p', ['b']);
    await dropBelow(db, 'purged', 'p', 1);
    expect(await pushOne('purged', 'p', ['a'])).toMatchObject({ status: 'queued' });
    expect(await pushOne('purged', 'p', ['b'])).toMatchObject({ status: 'duplicate' });
  });

  it.each<[number | null, string]>([
    [null, 'duplicate'],
    [-1, 'duplicate'],
    [1, 'duplicate'],
    [2, 'queued'],
    [99, 'queued'],
  ])('is looked for only above what the caller has verified (%s: %s)', async (verified, status) => {
    const queue = `verified ${verified}`;
    await pushOne(queue, 'p', ['a', 'b', 'c']);
    expect((await pushOne(queue, 'p', ['c'], { verified })).status).toBe(status);
  });

  it('is found across many hash rows, wherever the window begins', async () => {
    await makeQueue(db, 'long log', { dedupWindowSeconds: 1000 });
    for (let i = 0; i < 20; i++) await pushOne('long log', 'p', numbered(`s${i}-`, 1 + (i % 3)));
    const rows = await segmentRows(db, 'long log', 'p', 'log_txns');
    for (let border = 0; border < rows.length; border++) {
      // Segments below the border are past the window, the others inside it.
      await ageSegments(db, 'long log', 'p', 2000, { from: rows[border].base, to: rows[border].base });
      const [start] = await run(db, [
        `select queen.log_dedup_start_v1($1, -1, $2, clock_timestamp() - interval '1000 seconds') as start`,
        [await partitionId(db, 'long log', 'p'), rows.at(-1)!.end],
      ]);
      expect(start.start).toBe(border + 1 < rows.length ? String(rows[border + 1].base) : null);
      if (border + 1 < rows.length) {
        expect(await pushOne('long log', 'p', [`s${border + 1}-0`])).toEqual({
          status: 'duplicate',
          dups: [{ i: 0, off: rows[border + 1].base }],
        });
      }
    }
  });
});

describe('where a duplicate probe begins', () => {
  it('is the row that reaches above what was verified, when it is inside the window', async () => {
    await pushMessages(db, 'starts', 'p', ['a', 'b', 'c']);
    await pushMessages(db, 'starts', 'p', ['d', 'e']);
    const pid = await partitionId(db, 'starts', 'p');
    const start = (after: number) =>
      scalar<string | null>(db, [`select queen.log_dedup_start_v1($1, $2, 4, '-infinity')`, [pid, after]]);
    expect(await inTurn([-1, 0, 1, 2, 3], start)).toEqual(['0', '0', '0', '3', '3']);
  });
});

describe('the segment at an offset', () => {
  const at = async (offset: number) => {
    const pid = await partitionId(db, 'covered', 'p');
    const rows = await run(db, ['select * from queen.log_segment_at_v1($1, $2)', [pid, offset]]);
    return rows.map(({ r_base, r_end }) => [Number(r_base), Number(r_end)]);
  };

  it('is the one that covers it, and none below the log, above it or in a gap', async () => {
    await pushMessages(db, 'covered', 'p', ['a', 'b']);
    await pushMessages(db, 'covered', 'p', ['c', 'd']);
    await pushMessages(db, 'covered', 'p', ['e', 'f']);
    expect(await inTurn([0, 1, 2, 5], at)).toEqual([[[0, 1]], [[0, 1]], [[2, 3]], [[4, 5]]]);
    expect(await at(6)).toEqual([]);

    await db.query('delete from queen.log_segments where partition_id = $1 and base_offset = 2', [
      await partitionId(db, 'covered', 'p'),
    ]);
    expect(await inTurn([2, 3, 1], at)).toEqual([[], [], [[0, 1]]]);
    await dropBelow(db, 'covered', 'p', 4);
    expect(await inTurn([0, 3, 4], at)).toEqual([[], [], [[4, 5]]]);
  });
});

describe('the segments of known messages', () => {
  /** As `partition base`, in the order in which they come. */
  const originals = async (wanted: [partition: string, offsets: number[]][], bytesMax = 1_000_000) => {
    const call = 'select * from queen.log_originals_v1($1, $2, $3, $4, $5, $6)';
    const rows = await run(db, [
      call,
      [
        wanted.map(() => 'originals'),
        wanted.map(([partition]) => partition),
        wanted.map(() => TENANT),
        wanted.map(([, offsets]) => offsets.length),
        wanted.flatMap(([, offsets]) => offsets),
        bytesMax,
      ],
    ]);
    return rows.map(({ r_index, r_base }) => `${wanted[r_index as number][0]} ${Number(r_base)}`);
  };

  beforeAll(async () => {
    await inTurn([0, 1, 2, 3], (i) => pushMessages(db, 'originals', 'p', [`a${i}`, `b${i}`]));
    await inTurn([0, 1], (i) => pushMessages(db, 'originals', 'q', [`a${i}`, `b${i}`]));
    await dropBelow(db, 'originals', 'p', 2);
  });

  it('come once each, ascending, without those that are gone', async () => {
    expect(await originals([['p', [0, 2, 3, 6, 7, 99]]])).toEqual(['p 2', 'p 6']);
  });

  it('come partition after partition, in the order asked for', async () => {
    expect(
      await originals([
        ['q', [3]],
        ['nowhere', [0]],
        ['p', [4, 5]],
        ['q', [0, 1]],
      ]),
    ).toEqual([...['q 2', 'p 4', 'q 0']]);
  });

  it('end after the one that reaches the size limit', async () => {
    expect(await originals([['p', [2, 4, 6]]], 1)).toEqual(['p 2']);
    const one = blobOf(['a0', 'b0']).length;
    expect(await originals([['p', [2, 4, 6]]], one + 1)).toEqual(['p 2', 'p 4']);
    expect(
      await originals(
        [
          ['p', [6]],
          ['q', [0, 2]],
        ],
        one + 1,
      ),
    ).toEqual(['p 6', 'q 0']);
  });

  it('of an unknown partition, or of no offsets, are none', async () => {
    expect(await originals([['nowhere', [0]]])).toEqual([]);
    expect(await originals([['p', []]])).toEqual([]);
    expect(await originals([])).toEqual([]);
  });
});

describe('a blob of hashes', () => {
  it('is cut into 16 bytes each, numbered from 0; a shorter tail is left out', async () => {
    const unnest = async (blob: Buffer) => {
      const rows = await run(db, ['select idx, h from queen.log_unnest_hashes($1) order by idx', [blob]]);
      return rows.map(({ idx, h }) => [idx, (h as Buffer).toString('hex')]);
    };
    const hashes = hashTransactionIds(['a', 'b']);
    const expected = [
      [0, hex(['a'])],
      [1, hex(['b'])],
    ];
    expect(await unnest(hashes)).toEqual(expected);
    expect(await unnest(Buffer.concat([hashes, Buffer.alloc(15)]))).toEqual(expected);
    expect(await unnest(Buffer.alloc(0))).toEqual([]);
  });
});
