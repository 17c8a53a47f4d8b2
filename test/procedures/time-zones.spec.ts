import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  consumerRow,
  makeLease,
  makeQueue,
  popList,
  popWildcard,
  pushMessages,
  renewCall,
  run,
  scalar,
} from '../support/make.js';

/** Invariant I45, hazard Z18: no time that a procedure tells or takes depends on the time zone of its session. */
const ZONES = ['UTC', 'Asia/Tokyo', 'America/Los_Angeles'];

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

async function inZone(zone: string): Promise<pg.Client> {
  const client = await db.connect();
  await client.query(`select set_config('timezone', $1, false)`, [zone]);
  return client;
}

/** How many seconds the instant written in a JSON text lies ahead of the server's clock. */
const secondsAhead = (text: string) =>
  scalar<number>(db, ['select extract(epoch from $1::timestamptz - clock_timestamp())::float8', [text]]);

describe.each(ZONES)('in a session in %s (A25)', (zone) => {
  let client: pg.Client;

  beforeAll(async () => {
    client = await inZone(zone);
  });

  it('a push tells when it was stored', async () => {
    const { createdAt } = await pushMessages(client, `push ${zone}`, 'p', ['a']);
    expect(createdAt).toMatch(/T\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(Math.abs(await secondsAhead(createdAt!))).toBeLessThan(5);
  });

  it('a renewal tells when the lease ends', async () => {
    await pushMessages(client, `renew ${zone}`, 'p', ['a']);
    await makeLease(client, `renew ${zone}`, 'p', { worker: zone });
    const { expiresAt } = await scalar<{ expiresAt: string }>(client, renewCall(zone, 100));
    expect(expiresAt).toMatch(/T\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(Math.abs((await secondsAhead(expiresAt)) - 100)).toBeLessThan(5);
  });

  it('a text of any time is written in UTC, with all its digits', async () => {
    const at = `'2024-07-01 12:34:56.123456+00'::timestamptz`;
    expect(await scalar(client, [`select queen.log_utc_iso(${at})`, []])).toBe('2024-07-01T12:34:56.123456Z');
    expect(await scalar(client, ['select queen.log_utc_iso(null)', []])).toBeNull();
  });

  it('a listed pop tells how long a lease still runs, and a quarter of a second for a backlog', async () => {
    const queue = `list ${zone}`;
    await makeQueue(client, queue);
    await pushMessages(client, queue, 'leased', ['a']);
    await makeLease(client, queue, 'leased', { worker: 'w1', leaseSeconds: 50 });
    await pushMessages(client, queue, 'held back', ['a']);
    await makeQueue(client, queue, { delayedProcessing: 1000 });
    const { verdicts } = await popList(client, queue, ['leased', 'held back'], { worker: 'w2' });
    expect(verdicts[0].waitMs).toBeGreaterThan(45_000);
    expect(verdicts[0].waitMs).toBeLessThanOrEqual(50_000);
    expect(verdicts[1].waitMs).toBe(250);
  });

  it('a pop tells when a segment was stored', async () => {
    await pushMessages(client, `pop ${zone}`, 'p', ['a']);
    const { slices } = await makeLease(client, `pop ${zone}`, 'p');
    expect(Math.abs(await secondsAhead(slices[0].createdAt.toISOString()))).toBeLessThan(5);
  });

  it('a delay and a lease last as long as anywhere', async () => {
    const queue = `delay ${zone}`;
    await makeQueue(client, queue, { delayedProcessing: 3600 });
    await pushMessages(client, queue, 'p', ['a']);
    expect((await popWildcard(client, queue)).texts).toEqual([]);
    await client.query(`update queen.log_segments set created_at = created_at - interval '3601 seconds'`);
    expect((await popWildcard(client, queue, { leaseSeconds: 77 })).texts).toEqual(['a']);
    const { leaseSecondsLeft } = (await consumerRow(client, queue, 'p'))!;
    expect(Math.abs(leaseSecondsLeft! - 77)).toBeLessThan(5);
  });

  it('a subscription from a time without a zone is one in UTC', async () => {
    const queue = `from ${zone}`;
    await pushMessages(client, queue, 'p', ['older']);
    await pushMessages(client, queue, 'p', ['newer']);
    await client.query(
      `update queen.log_segments s set created_at = timestamptz '2024-01-01 00:00:00+00' + base_offset * interval '1 hour'
       from queen.log_partitions p join queen.queues q on q.id = p.queue_id
       where p.id = s.partition_id and q.name = $1`,
      [queue],
    );
    expect((await popWildcard(client, queue, { from: '2024-01-01T00:30:00' })).texts).toEqual(['newer']);
    const select = `select subscription_timestamp = '2024-01-01 00:30:00+00' as same from queen.consumer_groups_metadata m
      join queen.queues q on q.id = m.queue_id where q.name = $1`;
    expect(await run(client, [select, [queue]])).toEqual([{ same: true }]);
  });
});
