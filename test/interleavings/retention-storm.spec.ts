import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  inTurn,
  makeQueue,
  numbered,
  popWildcardCall,
  pushMultiCall,
  run,
  scalar,
  type Call,
} from '../support/make.js';
import { orphans, retentionStepCall, retentionWork } from '../support/retention.js';
import { storm } from '../support/storm.js';

/** Field case A20: unordered batches, sweeps, seeks and cleanups on the same partitions, all at once. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const PARTITIONS = numbered('p', 40);
const FOR_MS = 6000;

/** Some of the partitions in an order of its own: forwards, backwards or shuffled. */
function some(session: number, round: number): string[] {
  const names = PARTITIONS.filter((_, i) => (i * 7 + session * 3 + round) % 3 !== 0);
  if (session % 3 === 0) return names;
  if (session % 3 === 1) return names.reverse();
  return names.sort((a, b) => ((a.length * 31 + round) % 5) - ((b.length * 17 + session) % 5));
}

const CLEANUP: Call = [
  `select queen.log_partition_cleanup_step_v1(clock_timestamp() - interval '1 day', 100)`,
  [],
];

describe('pushes, pops, sweeps, seeks and cleanups on the same partitions', () => {
  it('never deadlock, and leave a sound log behind (A20)', async () => {
    await makeQueue(db, 'storm', {
      ...{ dedupWindowSeconds: 0, retentionEnabled: true, retentionSeconds: 1, completedRetentionSeconds: 1 },
    });
    let pushed = 0;
    const { failures, rounds } = await storm(
      db,
      { sessions: 14, forMs: FOR_MS },
      async (client, session, round) => {
        if (session < 6) {
          const texts = [`s${session}-r${round}`];
          await run(
            client,
            pushMultiCall(some(session, round).map((partition) => ({ queue: 'storm', partition, texts }))),
          );
          pushed += 1;
        } else if (session < 11) {
          const worker = `w${session}-${round}`;
          const group = session % 2 === 0 ? 'even' : 'odd';
          await run(
            client,
            popWildcardCall('storm', { group, worker, maxPartitions: 64, autoAck: session < 9 }),
          );
        } else if (session === 11) {
          const { work } = await retentionWork(client);
          await inTurn(work, ({ partitionId, all, completed }) =>
            run(client, retentionStepCall(partitionId, { all, completed, rows: 3 })),
          );
        } else if (session === 12) {
          const call = `select queen.log_seek_consumer_group_v1($1, 'storm', $2, $3)`;
          await run(client, [
            call,
            [round % 2 ? 'even' : 'odd', round % 3 === 0, round % 3 === 0 ? null : 'epoch'],
          ]);
        } else {
          // Makes dead what has been emptied this moment, so that the cleanup meets pushes that are on their way.
          await run(client, [
            `update queen.log_partitions set created_at = '2000-01-01', last_write_at = '2000-01-01'
           where id in (select id from queen.log_partitions where oldest_live_at is null for no key update skip locked)`,
            [],
          ]);
          await run(client, CLEANUP);
        }
      },
    );
    // A push that lost its partition to the cleanup says so, loudly; the broker pushes it again.
    expect(failures.filter((failure) => !failure.startsWith('QGONE'))).toEqual([]);
    expect(rounds).toBeGreaterThan(100);
    expect(pushed).toBeGreaterThan(20);
    const deadlocks = `select deadlocks::int from pg_stat_database where datname = current_database()`;
    expect(await scalar<number>(db, [deadlocks, []])).toBe(0);

    // I3, I4, I8, I9 for every partition that is left.
    const { rows } = await db.query(
      `select p.name
       from queen.log_partitions p
       left join lateral (
         select min(base_offset) as first, max(end_offset) as last, sum(end_offset - base_offset + 1) as messages
         from queen.log_segments s where s.partition_id = p.id) s on true
       where coalesce(s.first, p.last_offset + 1) <> p.log_start
          or coalesce(s.last, p.last_offset) <> p.last_offset
          or coalesce(s.messages, 0) <> p.last_offset - p.log_start + 1
          or (s.first is null) <> (p.oldest_live_at is null)
          or exists (
            select from queen.log_txns t where t.partition_id = p.id and t.base_offset < p.txns_start)`,
    );
    expect(rows).toEqual([]);
    expect(await orphans(db)).toBe(0);
  }, 60_000);
});
