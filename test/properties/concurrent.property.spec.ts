import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { decodeSegment } from '../../src/segment/segment.js';
import { hashTransactionIds } from '../../src/segment/transaction-hash.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ackAtCall, popSpecific, run, scalar } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';
import { Dice } from './dice.js';
import { breaches, doubles, regressions } from './invariants.js';
import { takeSnapshot, type Snapshot } from './snapshot.js';
import { Actor, AUTO, Journal, PARTITIONS, QUEUES, ROUGH, STEADY } from './workload.js';

/*
 * Several sessions at once, each doing random things for some seconds, without a model: what must hold then holds
 * whatever the interleaving. QUEEN_TEST_CONCURRENT_SECONDS lengthens it, QUEEN_TEST_SEED repeats the choices (not the
 * timing).
 */

const SESSIONS = 6;
const SECONDS = Number(process.env.QUEEN_TEST_CONCURRENT_SECONDS ?? 8);
const SEED = Number(process.env.QUEEN_TEST_SEED ?? Date.now() % 1_000_000_000);
/** The first session looks at all rows after so many of its operations. */
const LOOK_EVERY = 60;

let db: TestDatabase;
const journal = new Journal();
/** What the looks in between and the one at the end found. */
const found: string[] = [];
let end: Snapshot;

beforeAll(
  async () => {
    db = await createTestDatabase();
    const options = '-c statement_timeout=20000 -c deadlock_timeout=100ms';
    const clients: pg.Client[] = [];
    for (let k = 0; k < SESSIONS; k++)
      clients.push(await db.connect({ application_name: `actor${k}`, options }));
    const actors = clients.map((client, k) => new Actor(client, new Dice(SEED + k), journal));

    const untilMs = performance.now() + SECONDS * 1000;
    let last = await takeSnapshot(clients[0]);
    await Promise.all(
      actors.map(async (actor, k) => {
        for (let round = 1; performance.now() < untilMs; round++) {
          await actor.act();
          if (k > 0 || round % LOOK_EVERY > 0) continue;
          const now = await takeSnapshot(clients[0]);
          found.push(...breaches(now), ...regressions(last, now));
          last = now;
        }
      }),
    );
    for (const actor of actors) await actor.leave();
    end = await takeSnapshot(clients[0]);
    found.push(...breaches(end), ...regressions(last, end), ...doubles(end));
    // Its counters are complete when a session has ended.
    await Promise.all(clients.map((client) => client.end()));
  },
  (SECONDS + 60) * 1000,
);

afterAll(() => db.drop());

describe(`six sessions at once (seed ${SEED})`, () => {
  it('did something, and met no error: no deadlock, no timeout', async () => {
    expect(journal.errors).toEqual([]);
    expect(journal.operations).toBeGreaterThan(100);
    expect(await databaseCounter('deadlocks')).toBe(0);
  });

  it('broke no invariant of the rows at any time (I1 to I6, I8, I9, I11 to I14, I28, I42)', () => {
    expect(found).toEqual([]);
  });

  it('stored blobs that hold the messages of their hash rows (I10)', async () => {
    const { rows } = await db.query<{ count: number; blob: Buffer; hashes: Buffer }>(
      `select (s.end_offset - s.base_offset + 1)::int as count, s.blob, t.hashes
       from queen.log_segments s join queen.log_txns t using (partition_id, base_offset)`,
    );
    for (const { count, blob, hashes } of rows) {
      const texts = decodeSegment(blob, count)
        .frames()
        .map((frame) => frame.transactionId);
      expect(hashTransactionIds(texts)).toEqual(hashes);
    }
    expect(rows).toHaveLength(end.segments.length);
  });

  it('update in place on the hot path (I43)', async () => {
    for (const table of ['log_consumers', 'log_partitions']) {
      const { updates, hot } = await updatesOf(table);
      // A partition's indexed last_write_at moves once a second at most (Z13), however busy the machine is.
      const stamps = table === 'log_partitions' ? end.partitions.length * (SECONDS + 30) : 0;
      expect({ table, inPlace: updates - hot <= updates * 0.2 + stamps }).toEqual({ table, inPlace: true });
    }
  });

  it('give every message to a group that fails nothing exactly once and in order (I16, I17, I19)', async () => {
    await readOn(STEADY);
    await readOn(AUTO);
    const live = new Map((await takeLook()).partitions.map((row) => [row.id, row]));
    for (const [group, deliveries] of journal.deliveries) {
      const offsets = new Map<string, number[]>();
      for (const { partitionId, offsets: some } of deliveries) {
        expect(some).toEqual([...some].sort((a, b) => a - b));
        offsets.set(partitionId, [...(offsets.get(partitionId) ?? []), ...some]);
      }
      for (const { id, name, lastOffset } of live.values()) {
        const all = Array.from({ length: lastOffset + 1 }, (_, offset) => offset);
        const got = (offsets.get(id) ?? []).sort((a, b) => a - b);
        expect({ group, name, got }).toEqual({ group, name, got: all });
      }
    }
  });

  it('let a group that failed, forgot and lost leases read to the end (I18)', async () => {
    await run(db, [
      `update queen.log_consumers set lease_expires_at = clock_timestamp() - interval '1 second'
      where worker_id is not null`,
      [],
    ]);
    for (const group of ROUGH) await readOn(group);
    const look = await takeLook();
    expect(breaches(look)).toEqual([]);
    for (const { id, name, lastOffset } of look.partitions) {
      for (const group of ROUGH) {
        const cursor = look.cursors.find((row) => row.partitionId === id && row.group === group);
        expect({ name, group, committed: cursor?.committed }).toEqual({ name, group, committed: lastOffset });
      }
    }
  });
});

/** Pops and completes until every partition is empty for the group. */
async function readOn(group: string): Promise<void> {
  const journaled = journal.deliveries.get(group);
  for (const queue of QUEUES) {
    for (const partition of PARTITIONS) {
      for (;;) {
        const worker = journal.mintWorker();
        const options = { group, worker, budget: 500, autoAck: group === AUTO };
        const [batch] = (await popSpecific(db, queue, partition, options)).batches;
        if (!batch) break;
        const { partitionId, slices, texts, end: last } = batch;
        const offsets = slices.flatMap(({ base, startIdx, take }) =>
          Array.from({ length: take }, (_, k) => base + startIdx + k),
        );
        journaled?.push({ queue, partitionId, offsets, texts });
        if (group !== AUTO)
          expect(await scalar(db, ackAtCall(partitionId, last, { group, worker }))).toMatchObject({
            ok: true,
          });
      }
    }
  }
}

async function takeLook(): Promise<Snapshot> {
  const session = await db.connect({ application_name: 'look' });
  return takeSnapshot(session).finally(() => session.end());
}

async function databaseCounter(column: string): Promise<number> {
  const select = `select ${column}::int as value from pg_stat_database where datname = current_database()`;
  return scalar<number>(db, [select, []]);
}

async function updatesOf(table: string): Promise<{ updates: number; hot: number }> {
  const counters = async () => {
    await run(db, ['select pg_stat_clear_snapshot()', []]);
    const [row] = await run(db, [
      'select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = $1',
      [table],
    ]);
    return row as { updates: number; hot: number };
  };
  return waitFor(async () => ((await counters()).updates > 0 ? counters() : null), {
    within: 5000,
    what: `the counters of ${table}`,
  }) as Promise<{ updates: number; hot: number }>;
}
