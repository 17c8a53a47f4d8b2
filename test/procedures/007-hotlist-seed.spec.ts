import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageLastWrite,
  claim,
  inTurn,
  makeLease,
  numbered,
  OTHER_TENANT,
  partitionId,
  pushMessages,
  pushMultiCall,
  run,
  TENANT,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const NIL = '00000000-0000-0000-0000-000000000000';

/** `count` partitions p0 … with two messages each. */
async function pushTo(queue: string, count: number): Promise<string[]> {
  const names = numbered('p', count);
  await run(db, pushMultiCall(names.map((partition) => ({ queue, partition, texts: ['a', 'b'] }))));
  return names;
}

describe('the walk by id over what a group has not read', () => {
  const page = async (queue: string, afterId: string, limit: number, group = 'g', tenant = TENANT) => {
    const call = 'select * from queen.log_hotlist_reseed_v1($1, $2, $3, $4, $5)';
    const rows = await run(db, [call, [queue, group, afterId, limit, tenant]]);
    return rows as unknown as { r_id: string; r_name: string }[];
  };

  it('gives every partition once, ascending, page by page', async () => {
    const names = await pushTo('pages', 10);
    const seen: { r_id: string; r_name: string }[] = [];
    const sizes: number[] = [];
    for (let after = NIL; ;) {
      const rows = await page('pages', after, 4);
      seen.push(...rows);
      sizes.push(rows.length);
      if (rows.length < 4) break;
      after = rows[3].r_id;
    }
    expect(sizes).toEqual([4, 4, 2]);
    expect(seen.map(({ r_name }) => r_name).sort()).toEqual([...names].sort());
    expect(seen.map(({ r_id }) => r_id)).toEqual(seen.map(({ r_id }) => r_id).sort());
    for (const { r_id, r_name } of seen) expect(r_id).toBe(await partitionId(db, 'pages', r_name));
  });

  it('leaves out what is read to its end, and keeps what is leased or partly read', async () => {
    await pushTo('states', 4);
    await claim(db, 'states', 'p0', { autoAck: true });
    await claim(db, 'states', 'p1', { budget: 1, autoAck: true });
    await makeLease(db, 'states', 'p2');
    const names = (await page('states', NIL, 10)).map(({ r_name }) => r_name);
    expect(names.sort()).toEqual(['p1', 'p2', 'p3']);
    expect(await page('states', NIL, 10, 'another group')).toHaveLength(4);
  });

  it.each([0, -3])('takes a limit of %d as one', async (limit) => {
    await pushTo(`limit ${limit}`, 3);
    expect(await page(`limit ${limit}`, NIL, limit)).toHaveLength(1);
  });

  it('of an unknown queue, or in another tenant, is empty', async () => {
    await pushTo('walled', 1);
    expect(await page('nowhere', NIL, 10)).toEqual([]);
    expect(await page('walled', NIL, 10, 'g', OTHER_TENANT)).toEqual([]);
  });
});

describe('the walk by write time over what a group has not read', () => {
  interface ReseedRow {
    r_id: string;
    r_name: string;
    r_last_write_at: string;
    r_written_ago_ms: string;
    r_cutoff: string;
  }

  /** Timestamps as text, which keeps what the milliseconds of a Date lose. */
  const page = async (
    queue: string,
    {
      after = ['-infinity', NIL],
      windowMs = null,
      cutoff = null,
      limit = 100,
      group = 'g',
      tenant = TENANT,
    }: {
      after?: [string, string];
      windowMs?: number | null;
      cutoff?: string | null;
      limit?: number;
      group?: string;
      tenant?: string;
    } = {},
  ) => {
    const call = `select r_id, r_name, r_last_write_at::text, r_written_ago_ms, r_cutoff::text
      from queen.log_hotlist_reseed_window_v1($1, $2, $3, $4, $5, $6, $7, $8)`;
    const rows = await run(db, [call, [queue, group, ...after, windowMs, cutoff, limit, tenant]]);
    return rows as unknown as ReseedRow[];
  };

  const names = (rows: ReseedRow[]) => rows.map(({ r_name }) => r_name);

  it('without a window gives everything, the longest unwritten first, page by page', async () => {
    await pushTo('aged', 6);
    await inTurn([0, 1, 2, 3, 4, 5], (i) => ageLastWrite(db, 'aged', `p${i}`, 1000 - 100 * i));
    const seen: ReseedRow[] = [];
    for (let after: [string, string] = ['-infinity', NIL]; ;) {
      const rows = await page('aged', { after, limit: 4 });
      seen.push(...rows);
      if (rows.length < 4) break;
      after = [rows[3].r_last_write_at, rows[3].r_id];
    }
    expect(names(seen)).toEqual(numbered('p', 6));
    expect(new Set(seen.map(({ r_cutoff }) => r_cutoff))).toEqual(new Set(['-infinity']));
    const ago = seen.map(({ r_written_ago_ms }) => Number(r_written_ago_ms));
    for (const [i, ms] of ago.entries()) {
      expect(ms).toBeGreaterThanOrEqual(1000 * (1000 - 100 * i));
      expect(ms).toBeLessThan(1000 * (1000 - 100 * i) + 20_000);
    }
  });

  it('with a window gives what was written within it', async () => {
    await pushTo('window', 3);
    await inTurn([0, 1, 2], (i) => ageLastWrite(db, 'window', `p${i}`, 100 * (3 - i)));
    expect(names(await page('window', { windowMs: 250_000 }))).toEqual(['p1', 'p2']);
    expect(names(await page('window', { windowMs: 50_000 }))).toEqual([]);
  });

  it('keeps the lower bound of its first page on later ones', async () => {
    await pushTo('bound', 3);
    await inTurn([0, 1, 2], (i) => ageLastWrite(db, 'bound', `p${i}`, 100 * (3 - i)));
    const [first] = await page('bound', { windowMs: 250_000, limit: 1 });
    expect(first.r_name).toBe('p1');
    const rest = await page('bound', {
      ...{ after: [first.r_last_write_at, first.r_id] as [string, string], cutoff: first.r_cutoff },
      windowMs: 0,
    });
    expect(names(rest)).toEqual(['p2']);
    expect(rest[0].r_cutoff).toBe(first.r_cutoff);
  });

  it('gives partitions written at the same time once each, across pages', async () => {
    await pushTo('ties', 9);
    await db.query(
      `update queen.log_partitions p set last_write_at = '2024-01-01' from queen.queues q
       where q.id = p.queue_id and q.name = 'ties'`,
    );
    const seen: string[] = [];
    for (let after: [string, string] = ['-infinity', NIL]; ;) {
      const rows = await page('ties', { after, limit: 2 });
      seen.push(...names(rows));
      if (rows.length < 2) break;
      after = [rows[1].r_last_write_at, rows[1].r_id];
    }
    expect(seen.sort()).toEqual(numbered('p', 9));
  });

  it('meets a partition that is written during the walk', async () => {
    await pushTo('moving', 3);
    await inTurn([0, 1, 2], (i) => ageLastWrite(db, 'moving', `p${i}`, 100 * (3 - i)));
    const [first] = await page('moving', { limit: 1 });
    await pushMessages(db, 'moving', 'p1', ['c']);
    const rest = await page('moving', { after: [first.r_last_write_at, first.r_id] });
    expect(names(rest)).toEqual(['p2', 'p1']);
  });

  it('leaves out what is read to its end, and keeps what is leased', async () => {
    await pushTo('read', 2);
    await claim(db, 'read', 'p0', { autoAck: true });
    await makeLease(db, 'read', 'p1');
    expect(names(await page('read'))).toEqual(['p1']);
    expect(await page('read', { group: 'another group' })).toHaveLength(2);
  });

  it('of an unknown queue, or in another tenant, is empty', async () => {
    await pushTo('walled too', 1);
    expect(await page('nowhere')).toEqual([]);
    expect(await page('walled too', { tenant: OTHER_TENANT })).toEqual([]);
  });
});

describe('the queue of a partition', () => {
  it('comes with tenant and name, and is no row for an unknown id', async () => {
    await pushMessages(db, 'owner', 'owned', ['a'], { tenant: OTHER_TENANT });
    const [{ id }] = await run(db, [`select id from queen.log_partitions where name = 'owned'`, []]);
    const call = 'select * from queen.partition_queue_v1($1)';
    expect(await run(db, [call, [id]])).toEqual([
      { r_tenant: OTHER_TENANT, r_queue: 'owner', r_partition: 'owned' },
    ]);
    expect(await run(db, [call, [NIL]])).toEqual([]);
  });
});
