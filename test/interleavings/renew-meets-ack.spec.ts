import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { ackMultiCall, makePartitions, makeQueue, numbered, renewCall, run } from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { deadlocks, storm } from '../support/storm.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** Sixty leased cursors of one worker, stored in descending order of their ids: a scan meets them the wrong way. */
async function sixtyLeases(queue: string, worker: string): Promise<string[]> {
  const queueId = await makeQueue(db, queue);
  const ids = await makePartitions(db, queueId, numbered('p', 60));
  await run(db, [
    `insert into queen.log_consumers (partition_id, consumer_group, worker_id, lease_expires_at, batch_end)
     select id, 'g', $2, clock_timestamp() + interval '1 minute', 0 from unnest($1::uuid[]) id order by id desc`,
    [ids, worker],
  ]);
  return ids.sort();
}

const lockRow = `select from queen.log_consumers where partition_id = $1 and consumer_group = 'g' for update`;

describe('a renewal of many leases (Z23)', () => {
  it.each([
    ['by worker alone', false],
    ['of named partitions', true],
  ])('waits for its rows in the order in which acks take them (%s)', async (what, named) => {
    const ids = await sixtyLeases(`ordered ${what}`, what);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run(lockRow, [ids[0]]);
    const renewal = s2.start(...renewCall(what, 600, named ? [...ids].reverse() : null));
    expect(await renewal.isBlocked(s1)).toBe(true);

    const highest = s1.start(lockRow, [ids.at(-1)]);
    expect(await highest.isBlocked(s2)).toBe(false);
    await highest.result();
    await s1.commit();
    expect(await renewal.result()).toMatchObject([{ result: { renewed: 60 } }]);
  });

  it('that waited does not revive what was acked meanwhile', async () => {
    const ids = await sixtyLeases('acked meanwhile', 'w7');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await run(s1, ackMultiCall([{ partitionId: ids[0], upto: 0, worker: 'w7', count: 1 }]));
    const renewal = s2.start(...renewCall('w7', 600));
    expect(await renewal.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await renewal.result()).toMatchObject([{ result: { renewed: 59 } }]);
  });

  it('runs beside ack flushes of the same worker without a deadlock', async () => {
    const ids = await sixtyLeases('beside', 'busy');
    const before = await deadlocks(db);
    const nothingDone = (partitionId: string) => ({ partitionId, upto: 9, worker: 'busy' });
    const { failures, rounds } = await storm(db, { sessions: 4, forMs: 1000 }, (client, session) =>
      session % 2 === 0
        ? run(client, renewCall('busy', 60))
        : run(client, ackMultiCall([...ids].reverse().map(nothingDone))),
    );
    expect(failures).toEqual([]);
    expect(rounds).toBeGreaterThan(8);
    expect(await deadlocks(db)).toBe(before);
  });
});

describe('ack flushes over the same cursors in opposite order', () => {
  it('do not deadlock', async () => {
    const ids = await sixtyLeases('opposite', 'acker');
    const before = await deadlocks(db);
    const beyond = (partitionId: string) => ({ partitionId, upto: 9, worker: 'acker' });
    const { failures } = await storm(db, { sessions: 4, forMs: 1000 }, (client, session) =>
      run(client, ackMultiCall((session % 2 === 0 ? ids : [...ids].reverse()).map(beyond))),
    );
    expect(failures).toEqual([]);
    expect(await deadlocks(db)).toBe(before);
  });
});
