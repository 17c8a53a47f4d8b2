import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hashTransactionIds } from '../../src/segment/transaction-hash.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageSegments,
  blobOf,
  makeQueue,
  numbered,
  partitionId,
  partitionRow,
  pushMessages,
  run,
  scalar,
  segmentRows,
  TENANT,
  type Pushed,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const NIL = '00000000-0000-0000-0000-000000000000';
const EVER = String(Number.MIN_SAFE_INTEGER);

interface Vouched {
  partition?: string;
  texts: string[];
  verified: number;
  pid?: string;
  since?: string;
  suspects?: [number, number][];
}

type Answer = Pushed & { partitionId?: string; window?: number };

function push(queue: string, ...segments: Vouched[]): Promise<Answer[]> {
  const suspects: Record<string, [number, number][]> = {};
  segments.forEach((segment, n) => {
    if (segment.suspects) suspects[n] = segment.suspects;
  });
  return scalar(db, [
    'select queen.log_push_multi_v2($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as result',
    [
      segments.map(() => queue),
      segments.map(({ partition = 'p' }) => partition),
      segments.map(({ texts }) => texts.length),
      segments.map(({ texts }) => hashTransactionIds(texts)),
      segments.map(({ verified }) => verified),
      segments.map(({ texts }) => blobOf(texts)),
      segments.map(() => TENANT),
      segments.map(({ pid = NIL }) => pid),
      segments.map(({ since = EVER }) => since),
      Object.keys(suspects).length === 0 ? null : JSON.stringify(suspects),
    ],
  ]);
}

/** Microseconds since 1970 of the database's clock, some seconds ago. */
async function ago(seconds: number): Promise<string> {
  const call = `select floor(extract(epoch from clock_timestamp() - make_interval(secs => $1)) * 1000000)::text as at`;
  return scalar(db, [call, [seconds]]);
}

/** A queue with a window of 100 s and one message for each text; gives the partition's id. */
async function makeLog(queue: string, ...texts: string[]): Promise<string> {
  await makeQueue(db, queue, { dedupWindowSeconds: 100 });
  for (const text of texts) await pushMessages(db, queue, 'p', [text]);
  return partitionId(db, queue, 'p');
}

describe('a promise about the hashes of a segment', () => {
  it('spares the look at what it covers, and only at that', async () => {
    const pid = await makeLog('covers', 'a', 'b', 'c');
    expect(await push('covers', { texts: ['c'], verified: 1, pid })).toEqual([
      { status: 'duplicate', dups: [{ i: 0, off: 2 }] },
    ]);
    expect(await push('covers', { texts: ['b'], verified: 1, pid })).toEqual([
      { status: 'queued', baseOffset: 3, createdAt: expect.any(String) },
    ]);
  });

  it.each([
    ['about another partition', { pid: 'c0ffee00-0000-4000-8000-000000000000' }],
    ['that reaches beyond the end of the log', { verified: 3 }],
    ['that leaves out a part of the window', { since: 50 }],
  ])('%s is put aside, and the caller is told where it stands', async (what, change) => {
    const pid = await makeLog(what, 'a', 'b', 'c');
    const since = 'since' in change ? await ago(change.since!) : await ago(101);
    const segment = { texts: ['b'], verified: 2, pid, ...change, since };
    expect(await push(what, segment)).toEqual([
      { status: 'duplicate', dups: [{ i: 0, off: 1 }], partitionId: pid, window: 100 },
    ]);
    expect(await push(what, { ...segment, texts: ['new'] })).toMatchObject([
      { status: 'queued', baseOffset: 3, partitionId: pid, window: 100 },
    ]);
  });

  it('holds when it begins where the window does', async () => {
    const pid = await makeLog('begins', 'a', 'b');
    expect(await push('begins', { texts: ['b'], verified: 1, pid, since: await ago(101) })).toMatchObject([
      { status: 'queued' },
    ]);
  });

  it('is of no use in a queue without a window, and the caller is told', async () => {
    const pid = await makeLog('none', 'a');
    await makeQueue(db, 'none', { dedupWindowSeconds: 0 });
    expect(await push('none', { texts: ['a'], verified: 0, pid, suspects: [[0, 0]] })).toMatchObject([
      { status: 'queued', baseOffset: 1, partitionId: pid, window: 0 },
    ]);
  });

  it('without a partition holds for any, and says nothing', async () => {
    await makeLog('any', 'a');
    expect(await push('any', { texts: ['a'], verified: Number.MAX_SAFE_INTEGER })).toEqual([
      { status: 'queued', baseOffset: 1, createdAt: expect.any(String) },
    ]);
  });

  it('is not needed: without one everything is looked for, and the partition is told', async () => {
    const [made] = await push('first', { texts: ['a'], verified: -1 });
    expect(made).toMatchObject({ status: 'queued', baseOffset: 0, window: 3600 });
    expect(made.partitionId).toBe(await partitionId(db, 'first', 'p'));
    expect(await push('first', { texts: ['x', 'a'], verified: -1 })).toEqual([
      { status: 'duplicate', dups: [{ i: 1, off: 0 }], partitionId: made.partitionId, window: 3600 },
    ]);
  });

  it('concerns its own segment of a bundle', async () => {
    const pid = await makeLog('bundle', 'a');
    await pushMessages(db, 'bundle', 'q', ['a']);
    await pushMessages(db, 'bundle', 'r', ['a']);
    const answers = await push(
      'bundle',
      { partition: 'r', texts: ['a'], verified: 0, pid },
      { partition: 'p', texts: ['a'], verified: 0, pid },
      { partition: 'q', texts: ['b', 'a'], verified: -1, suspects: [[1, 0]] },
    );
    expect(answers.map(({ status }) => status)).toEqual(['duplicate', 'queued', 'duplicate']);
  });
});

describe('suspects', () => {
  it('are confirmed one by one, at the lowest offset that holds the hash, and nothing is written', async () => {
    const pid = await makeLog('confirmed', 'a', 'b', 'c');
    await pushMessages(db, 'confirmed', 'p', ['d', 'b'], { verified: Number.MAX_SAFE_INTEGER });
    const before = await partitionRow(db, 'confirmed', 'p');
    const suspects: [number, number][] = [
      [0, 2],
      [1, 4],
      [1, 1],
      [2, 3],
      [3, 0],
      [3, 99],
    ];
    expect(await push('confirmed', { texts: ['c', 'b', 'd', 'x'], verified: 4, pid, suspects })).toEqual([
      {
        status: 'duplicate',
        dups: [
          { i: 0, off: 2 },
          { i: 1, off: 1 },
          { i: 2, off: 3 },
        ],
      },
    ]);
    expect(await partitionRow(db, 'confirmed', 'p')).toEqual(before);
    expect(await segmentRows(db, 'confirmed', 'p', 'log_txns')).toHaveLength(4);
  });

  it('that are none do not hinder the push', async () => {
    const pid = await makeLog('innocent', 'a', 'b');
    expect(
      await push('innocent', {
        texts: ['x', 'y'],
        verified: 1,
        pid,
        suspects: [
          [0, 0],
          [1, 77],
        ],
      }),
    ).toEqual([{ status: 'queued', baseOffset: 2, createdAt: expect.any(String) }]);
  });

  it('that have left the window, or are purged, are none', async () => {
    const pid = await makeLog('expired', 'a', 'b', 'c');
    await ageSegments(db, 'expired', 'p', 200, { to: 0 });
    await run(db, ['delete from queen.log_txns where partition_id = $1 and base_offset = 1', [pid]]);
    for (const [offset, text] of ['a', 'b'].entries()) {
      expect(
        await push('expired', { texts: [text], verified: 2 + offset, pid, suspects: [[0, offset]] }),
      ).toMatchObject([{ status: 'queued' }]);
    }
  });
});

describe('log_hashes_after_v1', () => {
  interface Piece {
    index: number;
    range: [number, number];
    window: number;
    since: Date | null;
    hashes: Buffer;
  }

  async function read(
    partitions: [queue: string, partition: string, after: number][],
    bytesMax = 1e9,
  ): Promise<Piece[]> {
    const rows = await run(db, [
      'select * from queen.log_hashes_after_v1($1, $2, $3, $4, $5)',
      [
        partitions.map(([queue]) => queue),
        partitions.map(([, partition]) => partition),
        partitions.map(() => TENANT),
        partitions.map(([, , after]) => after),
        bytesMax,
      ],
    ]);
    return rows.map((row) => ({
      index: row.r_index as number,
      range: [Number(row.r_base), Number(row.r_end)],
      window: row.r_window as number,
      since: row.r_since as Date | null,
      hashes: row.r_hashes as Buffer,
    }));
  }

  const rangesOf = (pieces: Piece[]) => pieces.map(({ range: [base, end] }) => `${base}-${end}`);

  it('gives the window of a partition in order, behind a row that says where it begins', async () => {
    await makeLog('window', 'a', 'b', 'c', 'd');
    await ageSegments(db, 'window', 'p', 200, { to: 1 });
    const [head, ...pieces] = await read([['window', 'p', -1]]);
    expect(head).toMatchObject({ index: 0, range: [2, 1], window: 100, hashes: Buffer.alloc(0) });
    expect(Date.now() - head.since!.getTime()).toBeGreaterThanOrEqual(99_000);
    expect(pieces).toMatchObject([
      { index: 0, range: [2, 3], since: null, hashes: hashTransactionIds(['c', 'd']) },
    ]);
  });

  it('begins behind everything when the window holds nothing', async () => {
    await makeLog('empty window', 'a', 'b');
    await ageSegments(db, 'empty window', 'p', 200);
    expect(rangesOf(await read([['empty window', 'p', -1]]))).toEqual(['2-1']);
  });

  it('gives what lies above an offset, whatever its age', async () => {
    await makeLog('above', 'a', 'b', 'c', 'd');
    await ageSegments(db, 'above', 'p', 200);
    const pieces = await read([
      ['above', 'p', 1],
      ['above', 'p', 3],
    ]);
    expect(pieces).toMatchObject([{ index: 0, range: [2, 3], hashes: hashTransactionIds(['c', 'd']) }]);
  });

  it('cuts what is large into pieces without gaps, and stops at a size', async () => {
    await makeQueue(db, 'large', {});
    const texts = numbered('m', 20_000);
    for (let at = 0; at < texts.length; at += 1_500)
      await pushMessages(db, 'large', 'p', texts.slice(at, at + 1_500));
    const pieces = await read([['large', 'p', -1]]);
    expect(Buffer.concat(pieces.map(({ hashes }) => hashes))).toEqual(hashTransactionIds(texts));
    expect(pieces.length).toBeGreaterThan(3);
    for (const [n, { range, hashes }] of pieces.entries()) {
      expect(range[0]).toBe(n === 0 ? 0 : pieces[n - 1].range[1] + 1);
      expect(hashes.length).toBe((range[1] - range[0] + 1) * 16);
      expect(hashes.length).toBeLessThan(100_000);
    }
    const some = await read(
      [
        ['large', 'p', 99],
        ['large', 'p', -1],
      ],
      100_000,
    );
    expect(new Set(some.map(({ index }) => index))).toEqual(new Set([0]));
    const bytes = some.reduce((sum, { hashes }) => sum + hashes.length, 0);
    expect(bytes).toBeGreaterThanOrEqual(100_000);
    expect(bytes - some.at(-1)!.hashes.length).toBeLessThan(100_000);
  });

  it('passes over a purged stretch, so that the caller sees a gap', async () => {
    const pid = await makeLog('gap', 'a', 'b', 'c', 'd');
    await run(db, ['delete from queen.log_txns where partition_id = $1 and base_offset < 3', [pid]]);
    expect(rangesOf(await read([['gap', 'p', 0]]))).toEqual(['3-3']);
  });

  it('passes over what does not exist and what has no window', async () => {
    await makeLog('exists', 'a');
    await makeLog('windowless', 'a');
    await makeQueue(db, 'windowless', { dedupWindowSeconds: 0 });
    const pieces = await read([
      ['nowhere', 'p', -1],
      ['windowless', 'p', -1],
      ['exists', 'nowhere', -1],
      ['exists', 'p', -1],
    ]);
    expect(pieces.map(({ index }) => index)).toEqual([3, 3]);
  });
});

describe('the probe', () => {
  it('of one hash ignores what only looks alike between two hashes', async () => {
    const pid = await makeLog('between', 'a');
    const [x, y] = [hashTransactionIds(['x']), hashTransactionIds(['y'])];
    await run(db, [
      'update queen.log_txns set hashes = $2 where partition_id = $1',
      [pid, Buffer.concat([x, y])],
    ]);
    const middle = Buffer.concat([x.subarray(8), y.subarray(0, 8)]);
    const probe = (hash: Buffer) =>
      scalar(db, ['select queen.log_probe_hashes_v1($1, 0, -1, $2) as d', [pid, hash]]);
    expect(await probe(middle)).toBeNull();
    expect(await probe(y)).toEqual([{ i: 0, off: 1 }]);
  });
});
