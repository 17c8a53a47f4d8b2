import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackByHashCall,
  ageSegments,
  makeQueue,
  numbered,
  partitionId,
  popSpecificCall,
  pushBacklog,
  pushMessages,
  pushOneCall,
  renewCall,
  run,
} from '../support/make.js';
import { PlanningSession, scansOf, type Plan } from '../support/plans.js';

jest.setTimeout(30_000);

let db: TestDatabase;
/** Opened, and set in its plans, while the tables were empty. */
let early: PlanningSession;

const PROBE = /jsonb_agg\(jsonb_build_object\('i'/;
const BY_KEY = 'Index Scan using log_txns_pkey on log_txns';

/** Hash rows that the plan has looked at, by their primary key and in no other way. */
function rowsRead(plan: Plan): number {
  const scans = plan.nodes.filter(({ shape }) => shape.endsWith(' on log_txns'));
  expect(scans.map(({ shape }) => shape)).toEqual([BY_KEY]);
  return scans[0].rows + scans[0].rowsRemoved;
}

beforeAll(async () => {
  db = await createTestDatabase();
  early = await PlanningSession.open(db);
  for (let i = 0; i < 8; i++) await early.plansOf(pushOneCall('small', 'p', [`a${i}`]));

  await makeQueue(db, 'log', { dedupWindowSeconds: 0 });
  for (let k = 0; k < 3; k++) await pushBacklog(db, 'log', 'p', 1000);
  await makeQueue(db, 'log', { dedupWindowSeconds: 100 });
});

afterAll(() => db.drop());

describe('the duplicate probe of a push', () => {
  it('reads the hash rows above what the caller has verified, and no others', async () => {
    const probe = await early.planOf(pushOneCall('log', 'p', ['new 1'], { verified: 2989 }), PROBE);
    expect(rowsRead(probe)).toBe(10);
  });

  it('reads the hash rows inside the window, and finds where it begins in a few steps', async () => {
    await ageSegments(db, 'log', 'p', 1000, { to: 2799 });
    const plans = await early.plansOf(pushOneCall('log', 'p', ['new 2']));
    const probe = plans.find(({ query }) => PROBE.test(query))!;
    expect(rowsRead(probe)).toBe(201);
    const steps = plans.filter(({ query }) => query.includes('from queen.log_txns t') && !PROBE.test(query));
    expect(steps.length).toBeLessThanOrEqual(14);
    for (const step of steps) {
      expect(scansOf(step)[0]).toMatch(/^Index Scan (Backward )?using log_txns_pkey on log_txns$/);
      expect(step.nodes.at(-1)!.rows).toBeLessThanOrEqual(1);
    }
  });

  it('carries hashes, not the rows they stand in: a large push onto a large window stays in memory', async () => {
    for (let k = 0; k < 9; k++) await pushMessages(db, 'large', 'p', numbered('m', 1000, 1000 * k));
    const probe = await early.planOf(pushOneCall('large', 'p', numbered('m', 1000, 9000)), PROBE);
    expect(rowsRead(probe)).toBe(9);
    expect(probe.tempWritten).toBe(0);
  });

  it('is not run when everything is verified, or when the queue has no window', async () => {
    const verified = await early.plansOf(pushOneCall('log', 'p', ['new 3'], { verified: 3001 }));
    expect(verified.filter(({ query }) => query.includes('from queen.log_txns'))).toEqual([]);
    const pid = await partitionId(db, 'log', 'p');
    const unchecked = await early.plansOf(pushOneCall('log', 'p', ['new 4'], { pid, window: 0 }));
    expect(unchecked.filter(({ query }) => query.includes('from queen.log_txns'))).toEqual([]);
  });
});

describe('an ack by transaction id', () => {
  it('reads the hash rows of its batch, not the log', async () => {
    await run(db, popSpecificCall('log', 'p', { budget: 5 }));
    const pid = await partitionId(db, 'log', 'p');
    const plans = await early.plansOf(ackByHashCall(pid, numbered('m', 5), null));
    const lookups = plans.filter(({ query }) => query.includes('queen.log_unnest_hashes(t.hashes)'));
    expect(lookups).toHaveLength(1);
    expect(rowsRead(lookups[0])).toBe(5);
  });
});

describe('a renewal of named partitions', () => {
  it('finds its cursors by their primary key', async () => {
    const pid = await partitionId(db, 'log', 'p');
    await db.query(
      `insert into queen.log_consumers (partition_id, consumer_group, committed, worker_id, lease_expires_at, batch_end)
       select $1, 'crowd ' || i, -1, 'crowd', clock_timestamp() + interval '1 minute', 0
       from generate_series(1, 500) i`,
      [await partitionId(db, 'small', 'p')],
    );
    await run(db, popSpecificCall('log', 'p', { group: 'renewed', worker: 'w9' }));
    const lock = await early.planOf(renewCall('w9', 60, [pid]), /c\.partition_id = any \(p_pids\)/);
    const cursors = lock.nodes.find(({ shape }) => shape.endsWith(' on log_consumers'))!;
    expect(lock.nodes.some(({ shape }) => shape.includes('using log_consumers_pkey'))).toBe(true);
    expect(cursors.rows + cursors.rowsRemoved).toBeLessThan(10);
  });
});
