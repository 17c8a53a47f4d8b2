import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageSegments,
  inTurn,
  makeQueue,
  popSpecificCall,
  popV1Call,
  pushBacklog,
  pushMessages,
  run,
  type PopOptions,
} from '../support/make.js';
import { PlanningSession, scansOf } from '../support/plans.js';

jest.setTimeout(30_000);

let db: TestDatabase;
/** Opened, and set in its plans, while the tables were empty. */
let early: PlanningSession;

const FORWARD_SCAN =
  /from queen\.log_segments s\s+where s\.partition_id = v_pid and s\.base_offset > v_wanted/;
const FORWARD_STEPS = ['Index Scan using log_segments_pkey on log_segments'];

beforeAll(async () => {
  db = await createTestDatabase();
  early = await PlanningSession.open(db);
  await pushMessages(db, 'small', 'p', ['a']);
  await pushMessages(db, 'small', 'p', ['b']);
  await inTurn([...'abcdefgh'], (group) => early.plansOf(popV1Call('small', 'p', { group })));

  await makeQueue(db, 'log', { dedupWindowSeconds: 0 });
  await pushBacklog(db, 'log', 'shallow', 10);
  for (let k = 0; k < 5; k++) await pushBacklog(db, 'log', 'deep', 1000);
});

afterAll(() => db.drop());

/** Pages that a pop of `budget` messages touches in reading segments. */
async function pagesOfPop(session: PlanningSession, partition: string, budget: number): Promise<number> {
  const group = `pages ${partition} ${budget} ${Math.random()}`;
  await run(db, popSpecificCall('log', partition, { group, budget: 1, autoAck: true }));
  const plans = await session.plansOf(popV1Call('log', partition, { group, budget, autoAck: true }));
  return plans
    .filter(({ query }) => query.includes('from queen.log_segments'))
    .reduce((pages, { buffers }) => pages + buffers, 0);
}

describe('the forward scan of a pop', () => {
  it.each<[string, 'auto' | 'force_generic_plan' | 'early']>([
    ['with a plan of its own', 'auto'],
    ['with a generic plan', 'force_generic_plan'],
    ['planned while the table was empty', 'early'],
  ])('walks the primary key and stops at the budget (%s)', async (how, mode) => {
    const session = mode === 'early' ? early : await PlanningSession.open(db, mode);
    const scan = await session.planOf(popV1Call('log', 'deep', { group: how, budget: 10 }), FORWARD_SCAN);
    expect(scansOf(scan)).toEqual(FORWARD_STEPS);
    expect(scan.nodes.map(({ shape }) => shape)).not.toContain('Sort');
    expect(scan.nodes.at(-1)!.rows).toBe(9);
    expect(scan.buffers).toBeLessThan(15);
  });

  it('costs what is delivered, not what is waiting: ten of 10 and ten of 5,000 segments', async () => {
    for (const session of [early, await PlanningSession.open(db, 'force_generic_plan')]) {
      const shallow = await pagesOfPop(session, 'shallow', 9);
      const deep = await pagesOfPop(session, 'deep', 9);
      expect(shallow).toBeGreaterThan(0);
      expect(deep).toBeLessThanOrEqual(shallow + 10);
    }
  });

  it('costs in proportion to the budget', async () => {
    const ten = await pagesOfPop(early, 'deep', 10);
    const thousand = await pagesOfPop(early, 'deep', 1000);
    expect(thousand).toBeGreaterThan(ten);
    expect(thousand).toBeLessThan(ten + 100);
  });

  it('is not run at all when the head segment fills the budget', async () => {
    await makeQueue(db, 'wide', { dedupWindowSeconds: 0 });
    await pushBacklog(db, 'wide', 'p', 3, 50);
    const options: PopOptions = { group: 'head only', budget: 50 };
    const plans = await early.plansOf(popV1Call('wide', 'p', options));
    expect(plans.filter(({ query }) => FORWARD_SCAN.test(query))).toEqual([]);
    expect(plans.at(-1)!.nodes[0].rows).toBe(1);
  });

  it('is not run, nor any segment read, when the group has caught up', async () => {
    await run(db, popSpecificCall('log', 'shallow', { group: 'caught up', autoAck: true }));
    const plans = await early.plansOf(popV1Call('log', 'shallow', { group: 'caught up' }));
    expect(plans.filter(({ query }) => query.includes('log_segments'))).toEqual([]);
  });

  it('stops where a delay begins to hold back, however much lies behind', async () => {
    await makeQueue(db, 'delayed', { dedupWindowSeconds: 0, delayedProcessing: 1000 });
    for (let k = 0; k < 2; k++) await pushBacklog(db, 'delayed', 'p', 1000);
    await ageSegments(db, 'delayed', 'p', 2000, { to: 2 });
    const scan = await early.planOf(popV1Call('delayed', 'p', { budget: 2000 }), FORWARD_SCAN);
    expect(scansOf(scan)).toEqual(FORWARD_STEPS);
    // plpgsql fetches the first ten rows of a loop at once.
    expect(scan.nodes.at(-1)!.rows).toBeLessThanOrEqual(10);
  });
});
