import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makePartitions, makeQueue, numbered, run, type Call } from '../support/make.js';
import { openSessions } from '../support/sessions.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const lockCursor = (partitionId: string): Call => [
  'select from queen.log_consumers where partition_id = $1 for update',
  [partitionId],
];

describe('the deletion of a queue', () => {
  it('takes its cursors in the order of an ack flush, so neither locks the other out', async () => {
    const ids = (await makePartitions(db, await makeQueue(db, 'q'), numbered('p', 60))).sort();
    // Stored the other way round, which is how a scan would find them.
    const insert = `insert into queen.log_consumers (partition_id, consumer_group) values ($1, 'g')`;
    for (const id of [...ids].reverse()) await run(db, [insert, [id]]);

    const { flush, deletion } = await openSessions(db, ['flush', 'deletion']);
    await flush.begin();
    await flush.run(...lockCursor(ids[0]));
    const deleting = deletion.start(`select queen.delete_queue_v1('q')`);
    expect(await deleting.isBlocked(flush)).toBe(true);
    await flush.run(...lockCursor(ids[59]));
    await flush.commit();
    await deleting.result();
  });
});
