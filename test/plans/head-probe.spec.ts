import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  inTurn,
  makeQueue,
  partitionId,
  popV1Call,
  pushBacklog,
  pushMessages,
  run,
  type Call,
} from '../support/make.js';
import { PlanningSession, scansOf } from '../support/plans.js';

jest.setTimeout(30_000);

let db: TestDatabase;
/** Opened, and set in its plans, while the tables were empty. */
let early: PlanningSession;

const HEAD_PROBE =
  /from queen\.log_segments s\s+where s\.partition_id = v_pid and s\.base_offset <= v_wanted/;
const BACKWARD_STEP = ['Index Scan Backward using log_segments_pkey on log_segments'];

beforeAll(async () => {
  db = await createTestDatabase();
  early = await PlanningSession.open(db);
  await pushMessages(db, 'small', 'p', ['a']);
  await inTurn([...'abcdefgh'], (group) => early.plansOf(popV1Call('small', 'p', { group })));

  // 5,000 segments of two messages, one beside it as deep.
  await makeQueue(db, 'deep', { dedupWindowSeconds: 0 });
  for (const partition of ['p', 'other']) {
    for (let k = 0; k < 5; k++) await pushBacklog(db, 'deep', partition, 1000, 2);
  }
});

afterAll(() => db.drop());

const cursorAt = async (group: string, committed: number) => {
  const insert = `insert into queen.log_consumers (partition_id, consumer_group, committed) values ($1, $2, $3)`;
  await run(db, [insert, [await partitionId(db, 'deep', 'p'), group, committed]]);
};

const pop = (group: string): Call => popV1Call('deep', 'p', { group, budget: 1 });

describe('the head probe of a pop', () => {
  it.each<[string, 'auto' | 'force_generic_plan' | 'early', number]>([
    ['at the beginning', 'auto', -1],
    ['at the beginning, with a generic plan', 'force_generic_plan', -1],
    ['in the middle of a segment', 'auto', 5000],
    ['in the middle of the log, with a generic plan', 'force_generic_plan', 4999],
    ['near the end', 'auto', 9998],
    ['near the end, planned while the table was empty', 'early', 9998],
  ])('is one backward step of the primary key (%s)', async (where, mode, committed) => {
    await cursorAt(where, committed);
    const session = mode === 'early' ? early : await PlanningSession.open(db, mode);
    const probe = await session.planOf(pop(where), HEAD_PROBE);
    expect(scansOf(probe)).toEqual(BACKWARD_STEP);
    expect(probe.nodes.map(({ rows }) => rows)).toEqual([1, 1]);
    expect(probe.nodes.every(({ rowsRemoved }) => rowsRemoved === 0)).toBe(true);
    expect(probe.buffers).toBeLessThan(12);
  });

  it('is one step also when nothing covers the cursor: a miss does not walk the log', async () => {
    const pid = await partitionId(db, 'deep', 'p');
    await db.query('delete from queen.log_segments where partition_id = $1 and base_offset = 6000', [pid]);
    await cursorAt('gap', 5999);
    const probe = await early.planOf(pop('gap'), HEAD_PROBE);
    expect(scansOf(probe)).toEqual(BACKWARD_STEP);
    expect(probe.nodes.map(({ rows }) => rows)).toEqual([1, 1]);
    expect(probe.buffers).toBeLessThan(12);
  });

  it('is one step when the log begins above the cursor', async () => {
    const pid = await partitionId(db, 'deep', 'other');
    await db.query('delete from queen.log_segments where partition_id = $1 and base_offset < 200', [pid]);
    const probe = await early.planOf(popV1Call('deep', 'other', { group: 'above', budget: 1 }), HEAD_PROBE);
    expect(scansOf(probe)).toEqual(BACKWARD_STEP);
    expect(probe.nodes.map(({ rows }) => rows)).toEqual([0, 0]);
    expect(probe.buffers).toBeLessThan(12);
  });
});

describe('the quiet-window check of a pop', () => {
  it('is one backward step to the newest segment', async () => {
    await makeQueue(db, 'deep', { windowBuffer: 1000 });
    const check = await early.planOf(
      pop('window'),
      /where s\.partition_id = v_pid\s+order by s\.base_offset desc/,
    );
    await makeQueue(db, 'deep', { windowBuffer: 0 });
    expect(scansOf(check)).toEqual(BACKWARD_STEP);
    expect(check.nodes.map(({ rows }) => rows)).toEqual([1, 1]);
  });
});

describe('the segment at an offset', () => {
  it.each([
    ['that is covered', 4242, 1],
    ['in a gap', 6001, 0],
    ['beyond the end', 10_000, 0],
    ['before the beginning', -1, 0],
  ])('%s is one backward step', async (_, offset, found) => {
    const call: Call = [
      'select * from queen.log_segment_at_v1($1, $2)',
      [await partitionId(db, 'deep', 'p'), offset],
    ];
    for (const session of [early, await PlanningSession.open(db, 'force_generic_plan')]) {
      const step = await session.planOf(call, /from queen\.log_segments s/);
      expect(scansOf(step)).toEqual(BACKWARD_STEP);
      expect(step.nodes[0].rows).toBe(found);
      expect(step.nodes.at(-1)!.rows).toBeLessThanOrEqual(1);
      expect(step.buffers).toBeLessThan(12);
    }
  });
});

describe('the cursor of a pop', () => {
  it.each([/for update skip locked$/, /^update queen\.log_consumers/])(
    'is found by its primary key, however many cursors there are (%s)',
    async (statement) => {
      const pid = await partitionId(db, 'deep', 'p');
      await db.query(
        `insert into queen.log_consumers (partition_id, consumer_group, committed)
         select $1, 'crowd ' || i, -1 from generate_series(1, 2000) i on conflict do nothing`,
        [pid],
      );
      const plans = await early.plansOf(
        popV1Call('deep', 'p', { group: 'crowd 1234', worker: String(statement) }),
      );
      await db.query(`update queen.log_consumers set worker_id = null where consumer_group = 'crowd 1234'`);
      const plan = plans.find(({ query }) => statement.test(query.trim()))!;
      expect(scansOf(plan).at(-1)).toBe('Index Scan using log_consumers_pkey on log_consumers');
      expect(plan.nodes.at(-1)!.rows).toBe(1);
      expect(plan.buffers).toBeLessThan(20);
    },
  );
});
