import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { inTurn, makePartitions, makeQueue, numbered, type Call } from '../support/make.js';
import { PlanningSession, scansOf, type Plan } from '../support/plans.js';

jest.setTimeout(30_000);

let db: TestDatabase;
/** Opened, and set in its plans, while the tables were empty. */
let early: PlanningSession;
let queueId: string;

const PARTITIONS = 3000;
const RECENT = 20;

const candidatesCall = (floor: string): Call => [
  `select * from queen.log_pop_candidates_v1(array[$1::uuid], 'g', ${floor}, false, 64)`,
  [queueId],
];

beforeAll(async () => {
  db = await createTestDatabase();
  early = await PlanningSession.open(db);
  queueId = await makeQueue(db, 'early');
  await inTurn(numbered('', 8), () => early.plansOf(candidatesCall('now()')));

  // Two queues with 3,000 partitions each, all with a cursor of the group, 20 of them written lately.
  for (const queue of ['beside', 'big']) {
    queueId = await makeQueue(db, queue);
    await makePartitions(db, queueId, numbered('p', PARTITIONS));
    await db.query(
      `update queen.log_partitions set last_offset = 0, last_write_at = clock_timestamp() - case
         when substr(name, 2)::int < ${RECENT} then interval '10 seconds' else interval '1 hour' end
       where queue_id = $1`,
      [queueId],
    );
    await db.query(
      `insert into queen.log_consumers (partition_id, consumer_group, committed)
       select id, 'g', -1 from queen.log_partitions where queue_id = $1`,
      [queueId],
    );
  }
});

afterAll(() => db.drop());

const CANDIDATES = /order by random\(\)/;

function expectIndexWalk(plan: Plan, visited: number): void {
  const scans = scansOf(plan);
  const byWriteTime = plan.nodes.filter(({ shape }) =>
    shape.includes('using idx_log_partitions_queue_write'),
  );
  expect(byWriteTime).toHaveLength(1);
  expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
  const partitions = plan.nodes.find(({ shape }) => shape.endsWith(' on log_partitions'))!;
  expect([partitions.rows, partitions.rowsRemoved]).toEqual([visited, 0]);
  const queues = plan.nodes.find(({ shape }) => shape.endsWith(' on queues'))!;
  expect(queues.rows + queues.rowsRemoved).toBe(1);
  const cursors = plan.nodes.find(({ shape }) => shape.endsWith(' on log_consumers'))!;
  expect(cursors.shape).toBe('Index Scan using log_consumers_pkey on log_consumers');
  expect(cursors.rows).toBe(visited);
}

describe('the candidate query', () => {
  it.each<[string, 'early' | 'auto' | 'force_generic_plan']>([
    ['planned while the tables were empty', 'early'],
    ['with a plan of its own', 'auto'],
    ['with a generic plan', 'force_generic_plan'],
  ])('reads what was written since the floor, by the index over write times (%s)', async (_, mode) => {
    const session = mode === 'early' ? early : await PlanningSession.open(db, mode);
    expectIndexWalk(await session.planOf(candidatesCall('clock_timestamp()'), CANDIDATES), RECENT);
  });

  it('keeps to its own queue when it reads everything', async () => {
    expectIndexWalk(await early.planOf(candidatesCall(`'epoch'`), CANDIDATES), PARTITIONS);
  });

  it('has the same plan after the tables were analysed', async () => {
    await db.query('analyze');
    for (const session of [early, await PlanningSession.open(db, 'force_generic_plan')]) {
      expectIndexWalk(await session.planOf(candidatesCall('clock_timestamp()'), CANDIDATES), RECENT);
    }
  });
});

describe('a page of the hot-list reseed', () => {
  const page = (windowMs: number | null, limit: number): Call => [
    `select * from queen.log_hotlist_reseed_window_v1(
       'big', 'g', '-infinity', '00000000-0000-0000-0000-000000000000', $1, null, $2)`,
    [windowMs, limit],
  ];
  const RESEED = /order by p\.last_write_at, p\.id/;

  it('reads what lies inside its window, by the index over write times', async () => {
    const plan = await early.planOf(page(60_000, 10_000), RESEED);
    const partitions = plan.nodes.find(({ shape }) => shape.endsWith(' on log_partitions'))!;
    expect(plan.nodes.some(({ shape }) => shape.includes('using idx_log_partitions_queue_write'))).toBe(true);
    expect([partitions.rows, partitions.rowsRemoved]).toEqual([RECENT, 0]);
  });

  it('stops at its limit', async () => {
    const plan = await early.planOf(page(null, 100), RESEED);
    const partitions = plan.nodes.find(({ shape }) => shape.endsWith(' on log_partitions'))!;
    expect(partitions.shape).toBe('Index Scan using idx_log_partitions_queue_write on log_partitions');
    expect(partitions.rows).toBeLessThanOrEqual(110);
  });
});

describe('the probes for something pending', () => {
  it.each<[string, Call]>([
    ['of a queue', [`select queen.log_has_pending_v1('big', 'g')`, []]],
    ['of a partition', [`select queen.log_partition_has_pending_v1('big', 'p7', 'g')`, []]],
    [
      'of many partitions',
      [
        'select queen.log_partitions_have_pending_v1($1, $2, $3, $4)',
        [['big'], ['p7'], ['g'], ['00000000-0000-0000-0000-000000000001']],
      ],
    ],
  ])('%s stop at the first partition that has it', async (_, call) => {
    const plan = await early.planOf(call, /last_offset > /);
    expect(scansOf(plan).filter((scan) => scan.startsWith('Seq Scan on log_'))).toEqual([]);
    const partitions = plan.nodes.find(({ shape }) => shape.endsWith(' on log_partitions'))!;
    expect(partitions.rows).toBe(1);
    expect(plan.buffers).toBeLessThan(30);
  });
});
