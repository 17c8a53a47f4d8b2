import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BrokerProcess } from '../support/broker-process.js';
import { clientOf, type Client } from '../support/client.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { waitFor } from '../support/wait-for.js';

/*
 * Field case A25: the clock of the machine the broker runs on jumps by an hour, forth and back, and it lives in another
 * time zone than PostgreSQL and its clients. Leases and delays go by the clock of the database only. (Sessions in other
 * zones: test/procedures/time-zones.spec.ts; times without a zone: test/e2e/subscription.e2e-spec.ts.)
 */

jest.setTimeout(120_000);

/** libfaketime, where it is installed (Debian and Ubuntu: package `libfaketime`). */
function faketime(): string | null {
  const places = ['/usr/lib/faketime/libfaketime.so.1', '/usr/lib64/faketime/libfaketime.so.1'];
  if (existsSync('/usr/lib')) {
    for (const name of readdirSync('/usr/lib')) places.push(`/usr/lib/${name}/faketime/libfaketime.so.1`);
  }
  return places.find((path) => existsSync(path)) ?? null;
}
const library = faketime();

let db: TestDatabase;
let directory: string;
let broker: BrokerProcess & { port: number };
let at: Client;
beforeEach(async () => {
  db = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), 'queen-nest-clock-'));
});
afterEach(async () => {
  await broker.end();
  await rm(directory, { recursive: true });
  await db.drop();
});

/** Seconds until the lease of a group ends, as the database counts. */
async function leaseLeft(group: string): Promise<number> {
  const { rows } = await db.query<{ left: number }>(
    `select extract(epoch from lease_expires_at - clock_timestamp())::float8 as left
       from queen.log_consumers where consumer_group = $1`,
    [group],
  );
  return rows[0].left;
}

const zones = { TZ: 'America/New_York', PGTZ: 'Asia/Tokyo' };

describe('a broker in another time zone than its database', () => {
  it('leases, delays and tells times as anywhere (A25)', async () => {
    const { name } = db;
    await db.query(`alter database ${name} set timezone = 'Asia/Tokyo'`);
    broker = await BrokerProcess.start({ DATABASE_URL: db.url, ...zones });
    at = clientOf(broker.port);
    const beforeMs = Date.now();
    await at.push([{ queue: 'zones', payload: 1 }]);
    const { body } = await at.pop('zones', { consumerGroup: 'g', leaseSeconds: 100 });
    const createdMs = Date.parse(body.messages[0].createdAt);
    expect(body.messages[0].createdAt).toMatch(/Z$/);
    expect(createdMs).toBeGreaterThan(beforeMs - 60_000);
    expect(createdMs).toBeLessThan(Date.now() + 60_000);
    const left = await leaseLeft('g');
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(100);
  });
});

if (library === null) {
  process.stdout.write('libfaketime is not installed: the tests of a clock that jumps are left out\n');
} else {
  describe('a broker whose clock jumps', () => {
    let clock: string;
    beforeEach(async () => {
      clock = join(directory, 'clock');
      await writeFile(clock, '+0');
      broker = await BrokerProcess.start({
        DATABASE_URL: db.url,
        ...zones,
        LD_PRELOAD: library!,
        FAKETIME_TIMESTAMP_FILE: clock,
        FAKETIME_NO_CACHE: 1,
        FAKETIME_DONT_FAKE_MONOTONIC: 1,
      });
      at = clientOf(broker.port);
    });

    it.each(['+1h', '-1h'])(
      'by %s ends no lease early, starts no delay early and loses no wake (A25)',
      async (offset) => {
        await at.post('/api/v1/configure', { queue: 'jump', options: { leaseTime: 600 } });
        await at.post('/api/v1/configure', { queue: 'late', options: { delayedProcessing: 600 } });
        await at.push([{ queue: 'jump', partition: 'p', payload: 'leased' }]);
        await at.push([{ queue: 'late', partition: 'p', payload: 'delayed' }]);
        const leased = await at.pop('jump', { consumerGroup: 'g' });
        expect(leased.body.messages).toHaveLength(1);
        expect((await at.pop('late', { consumerGroup: 'g' })).status).toBe(204);

        await writeFile(clock, offset); // read anew for every look at the clock
        for (let look = 0; look < 5; look++) {
          expect((await at.pop('jump', { consumerGroup: 'g', wait: true, timeout: 300 })).status).toBe(204);
          expect((await at.pop('late', { consumerGroup: 'g', wait: true, timeout: 300 })).status).toBe(204);
        }
        expect(await leaseLeft('g')).toBeGreaterThan(0);

        const parked = at.pop('jump', { consumerGroup: 'g', wait: true, timeout: 120_000 });
        await waitFor(async () => (await at.metric('queen_parked_long_polls_all')) === 1, {
          within: 30_000,
          what: 'the pop to be parked',
        });
        await at.push([{ queue: 'jump', partition: 'other', payload: 'fresh' }]);
        const { body } = await parked;
        expect(body.messages.map(({ data }) => data)).toEqual(['fresh']);
        const created = Date.parse(body.messages[0].createdAt);
        expect(Math.abs(created - Date.now())).toBeLessThan(600_000); // the database's time, not the broker's
        expect((await at.ack(leased.body.messages)).body).toMatchObject([{ success: true, noop: false }]);
      },
    );
  });
}
