import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackByHashCall,
  consumerRow,
  hexHash,
  makeLease,
  pushMessages,
  run,
  scalar,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

describe('an ack whose hash rows are purged meanwhile (Z17)', () => {
  it('is told so for each id: the cursor stands, the lease is kept, nothing is answered as done', async () => {
    await pushMessages(db, 'purged', 'p', ['a', 'b']);
    const batch = await makeLease(db, 'purged', 'p', { worker: 'w' });
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run('delete from queen.log_txns where partition_id = $1', [batch.partitionId]);
    await s1.commit();
    const acks = ackByHashCall(batch.partitionId, ['a', 'b'], ['completed', 'failed'], { worker: 'w' });
    const result = await scalar<Record<string, unknown>>(s2, acks);
    expect(result).toMatchObject({ ok: true, acked: 0, unresolvedHashes: [hexHash('a'), hexHash('b')] });
    const row = await consumerRow(db, 'purged', 'p');
    expect(row).toMatchObject({ committed: -1, workerId: 'w' });
  });

  it('cannot happen to what is still in the log: a hash row lives as long as its segment', async () => {
    await pushMessages(db, 'kept', 'p', ['a']);
    const [{ id }] = await run(db, [
      `select p.id from queen.log_partitions p join queen.queues q on q.id = p.queue_id where q.name = 'kept'`,
      [],
    ]);
    const purge = `select queen.log_txns_purge_step_v1($1, now() + interval '1 day', 1000) as result`;
    expect(await scalar<Record<string, unknown>>(db, [purge, [id]])).toMatchObject({ deleted: 0 });
  });
});
