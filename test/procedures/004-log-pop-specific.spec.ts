import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  consumerRow,
  countRows,
  expireLease,
  makeQueue,
  partitionId,
  popped,
  popSpecific,
  popSpecificCall,
  pushMessages,
  run,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

describe('a pop of one named partition', () => {
  it('gives a row per segment, each with queue, partition, partition id and attempt', async () => {
    await pushMessages(db, 'q', 'p', ['a', 'b']);
    await pushMessages(db, 'q', 'p', ['c']);
    const rows = await run(db, popSpecificCall('q', 'p'));
    const pid = await partitionId(db, 'q', 'p');
    for (const row of rows) {
      expect(row).toMatchObject({
        ...{ r_queue: 'q', r_partition: 'p', r_partition_id: pid, r_attempt: 1 },
        ...{ r_state: null, r_last_off: null, r_wait_ms: null },
      });
    }
    const { batches } = popped(rows);
    expect(batches).toHaveLength(1);
    expect(batches[0]).toMatchObject({ texts: ['a', 'b', 'c'], end: 2 });
    expect((await consumerRow(db, 'q', 'p'))?.batchEnd).toBe(2);
  });

  it('counts the deliveries of a batch, and calls every auto-acked one the first', async () => {
    await pushMessages(db, 'attempts', 'p', ['a', 'b']);
    for (const attempt of [1, 2, 3]) {
      expect((await popSpecific(db, 'attempts', 'p')).batches[0].attempt).toBe(attempt);
      await expireLease(db, 'attempts', 'p');
    }
    expect((await popSpecific(db, 'attempts', 'p', { autoAck: true })).batches[0].attempt).toBe(1);
  });

  it.each([
    ['queue', 'nowhere', 'p'],
    ['partition', 'somewhere', 'nowhere'],
  ])('of an unknown %s gives no row and creates nothing', async (_, queue, partition) => {
    await makeQueue(db, 'somewhere');
    expect(await run(db, popSpecificCall(queue, partition))).toEqual([]);
    expect(await countRows(db, 'queues', `name = 'nowhere'`)).toBe(0);
    expect(await countRows(db, 'log_partitions', `name = 'nowhere'`)).toBe(0);
    expect(await countRows(db, 'consumer_groups_metadata')).toBe(0);
  });

  it('keeps to the quiet window', async () => {
    await makeQueue(db, 'quiet', { windowBuffer: 100 });
    await pushMessages(db, 'quiet', 'p', ['a']);
    expect((await popSpecific(db, 'quiet', 'p')).texts).toEqual([]);
  });
});
