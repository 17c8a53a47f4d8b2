import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  countRows,
  inTurn,
  makeQueue,
  numbered,
  popDiscover,
  popDiscoverCall,
  popped,
  pushMessages,
  run,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';
import { deadlocks, storm } from '../support/storm.js';

jest.setTimeout(30_000);

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
  // Two filters that reach the same twenty queues. The rows of the queues are rewritten in turn, so that neither a
  // scan nor an index promises an order by id.
  await inTurn(numbered('queue ', 20), async (queue) => {
    await makeQueue(db, queue, { namespace: 'shop', task: 'mail' });
    await pushMessages(db, queue, 'p', [queue]);
  });
  await inTurn(numbered('queue ', 10), (queue) => makeQueue(db, queue, { retryLimit: 5 }));
});

afterAll(() => db.drop());

describe('two discovery pops whose filters overlap (Z22)', () => {
  it('register a fresh group, sixty times over, without a deadlock', async () => {
    const before = await deadlocks(db);
    const { failures } = await storm(db, { sessions: 4, rounds: 30 }, (client, session, round) =>
      popDiscover(client, session % 2 === 0 ? { namespace: 'shop' } : { task: 'mail' }, {
        ...{ group: `g${round}`, worker: `w${session}`, maxPartitions: 20 },
      }),
    );
    expect(failures).toEqual([]);
    expect(await deadlocks(db)).toBe(before);
    expect(await countRows(db, 'consumer_groups_metadata')).toBe(30 * 20);
  });

  it('meet on the first marker: the second waits there, holding nothing the first still needs', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    const first = await popDiscover(
      s1,
      { namespace: 'shop' },
      { group: 'met', worker: 'w1', maxPartitions: 5 },
    );
    expect(first.texts).toHaveLength(5);
    const second = s2.start(
      ...popDiscoverCall({ task: 'mail' }, { group: 'met', worker: 'w2', maxPartitions: 20 }),
    );
    expect(await second.isBlocked(s1)).toBe(true);
    const more = s1.start(
      ...popDiscoverCall({ namespace: 'shop' }, { group: 'met', worker: 'w1', maxPartitions: 5 }),
    );
    expect(await more.isBlocked(s2)).toBe(false);
    expect(popped(await more.result()).texts).toHaveLength(5);
    await s1.commit();
    expect(popped(await second.result()).texts).toHaveLength(10);
  });

  it('insert the markers in the order of the queues', async () => {
    await popDiscover(db, { namespace: 'shop' }, { group: 'ordered' });
    const [{ ordered }] = await run(db, [
      `select array_agg(queue_id order by ctid) = array_agg(queue_id order by queue_id) as ordered
       from (select ctid, queue_id from queen.consumer_watermarks where consumer_group = 'ordered') w`,
      [],
    ]);
    expect(ordered).toBe(true);
  });
});
