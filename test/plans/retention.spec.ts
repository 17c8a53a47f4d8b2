import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { inTurn, makePartitions, makeQueue, numbered, type Call } from '../support/make.js';
import { PlanningSession, scansOf, type Plan } from '../support/plans.js';
import { START } from '../support/retention.js';

/** What a sweep looks at is what it may delete, however many partitions there are beside it. */

let db: TestDatabase;
/** Opened, and set in its plans, while the tables were empty. */
let early: PlanningSession;

const PARTITIONS = 3000;
const DUE = 20;

const workCall: Call = [
  'select queen.log_retention_work_v1($1, $2, $3, 1000)',
  [START.queue, START.at, START.id],
];
const hashCall: Call = ['select * from queen.log_txns_work_v1(500)', []];
const cleanupCall: Call = ['select queen.log_partition_cleanup_v1(30, 1000)', []];

const historyCall: Call = ['select queen.retention_history_purge_step_v1(90, 1000)', []];

beforeAll(async () => {
  db = await createTestDatabase();
  early = await PlanningSession.open(db);
  await inTurn(numbered('', 8), async () => {
    for (const call of [workCall, hashCall, cleanupCall, historyCall]) await early.plansOf(call);
  });

  await db.query(
    `insert into queen.retention_history (partition_id, messages_deleted, retention_type)
     select gen_random_uuid(), 1, 'retention' from generate_series(1, 2000)`,
  );
  // Two queues with a rule, 3,000 partitions each; of one, 20 are old enough, for messages and for hash rows.
  for (const queue of ['beside', 'big']) {
    const queueId = await makeQueue(db, queue, { retentionEnabled: true, retentionSeconds: 3600 });
    await makePartitions(db, queueId, numbered('p', PARTITIONS));
    await db.query(
      `update queen.log_partitions
       set last_offset = 0, log_start = 0,
           oldest_live_at = clock_timestamp() - case when due then interval '2 hours' else interval '10 minutes' end,
           txns_due_at = clock_timestamp() + case when due then interval '-1 minute' else interval '1 hour' end
       from (select id, $2 = 'big' and substr(name, 2)::int < ${DUE} as due from queen.log_partitions) d
       where queue_id = $1 and d.id = log_partitions.id`,
      [queueId, queue],
    );
  }
}, 60_000);

afterAll(() => db.drop());

function partitionScan(plan: Plan): { shape: string; rows: number; rowsRemoved: number } {
  expect(scansOf(plan).filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
  return plan.nodes.find(({ shape }) => shape.endsWith(' on log_partitions'))!;
}

describe.each(['planned while the tables were empty', 'with a generic plan', 'after an analyse'])(
  'a sweep %s',
  (when) => {
    let session: PlanningSession;
    beforeAll(async () => {
      if (when === 'after an analyse') await db.query('analyze');
      session =
        when === 'planned while the tables were empty'
          ? early
          : await PlanningSession.open(db, when === 'with a generic plan' ? 'force_generic_plan' : 'auto');
    });

    it('finds partitions with old messages by the age of their oldest', async () => {
      const plans = (await session.plansOf(workCall)).filter(({ query }) =>
        /p\.oldest_live_at </.test(query),
      );
      expect(plans.length).toBeGreaterThanOrEqual(2); // one for each queue
      let rows = 0;
      for (const plan of plans) {
        const scan = partitionScan(plan);
        expect(scan.shape).toMatch(
          /^Index( Only)? Scan using idx_log_partitions_oldest_live on log_partitions$/,
        );
        expect(scan.rowsRemoved).toBe(0);
        rows += scan.rows;
      }
      expect(rows).toBe(DUE);
    });

    it('finds hash rows that are due by the time that they are', async () => {
      const plan = await session.planOf(hashCall, /txns_due_at <=/);
      const scan = partitionScan(plan);
      expect(scan.shape).toMatch(/^Index( Only)? Scan using idx_log_partitions_txns_due on log_partitions$/);
      expect([scan.rows, scan.rowsRemoved]).toEqual([DUE, 0]);
    });

    it('looks for dead partitions among the empty ones only', async () => {
      const plan = await session.planOf(cleanupCall, /oldest_live_at is null/);
      const scan = partitionScan(plan);
      expect(scan.shape).toMatch(/^Index( Only)? Scan using idx_log_partitions_empty on log_partitions$/);
      expect([scan.rows, scan.rowsRemoved]).toEqual([0, 0]);
    });

    it('finds old history by its time', async () => {
      const plan = await session.planOf(historyCall, /executed_at </);
      const scan = plan.nodes.find(
        ({ shape }) => /Scan using \S+ on retention_history$/.test(shape) && /executed/.test(shape),
      );
      expect(scan).toMatchObject({ rows: 0, rowsRemoved: 0 });
    });
  },
);
