import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { databaseFrom } from '../../src/boot/database-from.js';
import { parseEnvironment } from '../../src/base/config/environment.js';
import { partitionTarget, type PartitionTarget } from '../../src/push/partition-target.js';
import { NO_PROMISE } from '../../src/push/dedup/dedup-promise.js';
import { logOriginalsV1, logPushMultiV2, type PushVerdict } from '../../src/push/push.procedures.js';
import { RawSqlService } from '../../src/raw-sql/raw-sql.service.js';
import { decodeSegment } from '../../src/segment/segment.js';
import { hashTransactionIds } from '../../src/segment/transaction-hash.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { blobOf, dropBelow, OTHER_TENANT, TENANT } from '../support/make.js';

let db: TestDatabase;
let sql: RawSqlService;

beforeAll(async () => {
  db = await createTestDatabase();
  sql = new RawSqlService(databaseFrom(parseEnvironment({ DATABASE_URL: db.url, DB_POOL_SIZE: '4' })));
  await sql.onModuleInit();
});

afterAll(async () => {
  await sql.onApplicationShutdown();
  await db.drop();
});

const MAX_BYTES = 1_000_000;

function push(segments: [PartitionTarget, string[], number?][]): Promise<PushVerdict[]> {
  return sql.callOne(
    logPushMultiV2,
    segments.map(([target, texts, verified = -1]) => ({
      target,
      count: texts.length,
      hashes: hashTransactionIds(texts),
      promise: { ...NO_PROMISE, verified },
      blob: blobOf(texts),
    })),
  );
}

/** The segments found, as `index base-end`. */
async function originals(partitions: [PartitionTarget, number[]][], bytesMax = MAX_BYTES): Promise<string[]> {
  const asked = partitions.map(([target, offsets]) => ({ target, offsets }));
  const found = await sql.call(logOriginalsV1, { partitions: asked, bytesMax });
  for (const { base, end, blob } of found)
    expect(decodeSegment(blob, end - base + 1).count).toBe(end - base + 1);
  return found.map(({ index, base, end }) => `${index} ${base}-${end}`);
}

describe('log_push_multi_v2 as the broker calls it', () => {
  const names = ['p', '', 'ü \u001f "x"\\{,}', '😀'];

  it('stores several segments of any names and tenants, verdicts in input order', async () => {
    const targets = [
      ...names.map((name) => partitionTarget(TENANT, 'bundle', name)),
      partitionTarget(OTHER_TENANT, 'bundle', 'p'),
    ];
    const first = await push(
      targets.map((target, n) => [target, Array.from({ length: n + 1 }, (_, k) => `t${k}`)]),
    );
    expect(first).toMatchObject(targets.map(() => ({ status: 'queued', baseOffset: 0 })));
    const second = await push(targets.map((target, n) => [target, n === 1 ? ['new', 't1', 't0'] : ['new']]));
    expect(
      second.map((verdict) => (verdict.status === 'queued' ? verdict.baseOffset : verdict.dups)),
    ).toEqual([
      1,
      [
        { i: 1, off: 1 },
        { i: 2, off: 0 },
      ],
      3,
      4,
      5,
    ]);
  });

  it('does not look for ids at or below what the caller vouches for, up to the largest safe number', async () => {
    const target = partitionTarget(TENANT, 'vouched', 'p');
    await push([[target, ['x']]]);
    expect(await push([[target, ['x'], Number.MAX_SAFE_INTEGER]])).toMatchObject([
      { status: 'queued', baseOffset: 1 },
    ]);
    expect(await push([[target, ['x'], 0]])).toMatchObject([
      { status: 'duplicate', dups: [{ i: 0, off: 1 }] },
    ]);
  });
});

describe('log_originals_v1', () => {
  it('gives each segment that holds an offset once, in the order asked for', async () => {
    const [a, b] = ['a', 'b'].map((name) => partitionTarget(TENANT, 'find', name));
    await push([
      [a, ['0', '1', '2']],
      [b, ['0']],
    ]);
    await push([
      [a, ['3', '4']],
      [b, ['1']],
    ]);
    await push([[a, ['5']]]);
    expect(
      await originals([
        [a, [0, 2, 4]],
        [b, [1]],
      ]),
    ).toEqual(['0 0-2', '0 3-4', '1 1-1']);
    expect(
      await originals([
        [b, [0, 1]],
        [a, [5]],
      ]),
    ).toEqual(['0 0-0', '0 1-1', '1 5-5']);
    expect(await originals([])).toEqual([]);
  });

  it('passes over offsets that are deleted or not there yet, partitions that do not exist, and other tenants', async () => {
    const [a, b] = ['a', 'b'].map((name) => partitionTarget(TENANT, 'gaps', name));
    await push([
      [a, ['0', '1']],
      [b, ['0']],
    ]);
    await push([[a, ['2', '3']]]);
    await dropBelow(db, 'gaps', 'a', 2);
    const missing = partitionTarget(TENANT, 'gaps', 'missing');
    const foreign = partitionTarget(OTHER_TENANT, 'gaps', 'a');
    expect(
      await originals([
        [a, [0, 1, 3, 9]],
        [missing, [0]],
        [foreign, [3]],
        [b, [0, 7]],
      ]),
    ).toEqual(['0 2-3', '3 0-0']);
  });

  it('ends after the segment that reaches the byte bound', async () => {
    const target = partitionTarget(TENANT, 'bound', 'p');
    for (let n = 0; n < 5; n++) await push([[target, [`t${n}`]]]);
    const { length } = blobOf(['t0']);
    expect(await originals([[target, [0, 1, 2, 3, 4]]], 2 * length)).toEqual(['0 0-0', '0 1-1']);
    expect(await originals([[target, [2, 3, 4]]], 1)).toEqual(['0 2-2']);
  });
});
