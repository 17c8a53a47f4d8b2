import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackMultiCall,
  inTurn,
  makePartitions,
  makeQueue,
  numbered,
  partitionId,
  popMultiCall,
  type Call,
} from '../support/make.js';
import { PlanningSession } from '../support/plans.js';

jest.setTimeout(30_000);

const PARTITIONS = 100;
const NAMES = ['p3', 'p70', 'p95'];

let db: TestDatabase;
let session: PlanningSession;

/** Statistics of a moment in which every cursor was leased: to the planner, a free one is rare. */
beforeAll(async () => {
  db = await createTestDatabase();
  const queue = await makeQueue(db, 'busy');
  await makePartitions(db, queue, numbered('p', PARTITIONS));
  await db.query(
    `insert into queen.log_consumers (partition_id, consumer_group, worker_id, lease_expires_at, batch_end)
       select id, 'g', 'w', now() + interval '1 hour', 0 from queen.log_partitions`,
  );
  await db.query('analyze queen.log_consumers');
  session = await PlanningSession.open(db);
});

afterAll(() => db.drop());

/** Rows of cursors that the locking statement read, whether it wanted them or not. */
async function cursorsRead(call: Call): Promise<number> {
  const { nodes } = await session.planOf(call, /for update/);
  return nodes
    .filter(({ shape }) => / on log_consumers( |$)/.test(shape) && !shape.startsWith('LockRows'))
    .reduce((sum, { rows, rowsRemoved }) => sum + rows + rowsRemoved, 0);
}

describe('statements over many cursors look each of theirs up, whatever the statistics say', () => {
  it('the claim of pops that share it', async () => {
    await db.query(
      `update queen.log_consumers set worker_id = null, lease_expires_at = null, batch_end = null`,
    );
    const jobs = [{ queue: 'busy', group: 'g', names: NAMES, budget: 10, maxPartitions: 10 }];
    expect(await cursorsRead(popMultiCall(jobs))).toBeLessThanOrEqual(NAMES.length);
  });

  it('acks that share a commit', async () => {
    const ids = await inTurn(NAMES, (name) => partitionId(db, 'busy', name));
    const acks = ids.map((id) => ({ partitionId: id, upto: 0 }));
    expect(await cursorsRead(ackMultiCall(acks))).toBeLessThanOrEqual(NAMES.length);
  });
});
