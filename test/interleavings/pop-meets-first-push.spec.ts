import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  consumerRow,
  numbered,
  partitionId,
  popListCall,
  popped,
  popSpecific,
  popSpecificCall,
  popWildcard,
  popWildcardCall,
  pushMessages,
  type Call,
} from '../support/make.js';
import { openSessions } from '../support/sessions.js';

jest.setTimeout(30_000);

/** Hazard Z9: a batch was leased in which no message carried the partition's id. */
let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** The call as part of a statement that takes its snapshot, then waits for the advisory lock 7, then makes the call. */
function afterLock7([text, values]: Call): Call {
  const call = text.replace('select * from ', '');
  return [
    `with gate as materialized (select pg_advisory_lock(7), pg_advisory_unlock(7))
     select pop.* from gate cross join lateral ${call} pop`,
    values,
  ];
}

describe('a pop that began before the push which created its partition was committed', () => {
  it.each<[string, (queue: string) => Call]>([
    ['specific', (queue) => popSpecificCall(queue, 'p')],
    ['list', (queue) => popListCall(queue, ['p'])],
    ['wildcard', (queue) => popWildcardCall(queue)],
  ])('delivers it with its id (%s pop)', async (route, callOf) => {
    const queue = `early ${route}`;
    await popWildcard(db, queue);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.run('select pg_advisory_lock(7)');
    const pop = s2.start(...afterLock7(callOf(queue)));
    expect(await pop.isBlocked(s1)).toBe(true);
    await pushMessages(s1, queue, 'p', ['a', 'b']);
    await s1.run('select pg_advisory_unlock(7)');

    const { batches } = popped(await pop.result());
    const pid = await partitionId(db, queue, 'p');
    expect(batches).toMatchObject([{ partition: 'p', partitionId: pid, attempt: 1, texts: ['a', 'b'] }]);
  });

  it('sees nothing, takes nothing and does not wait while the push is under way', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await pushMessages(s1, 'under way', 'p', ['a']);
    const pop = s2.start(...popSpecificCall('under way', 'p'));
    expect(await pop.isBlocked()).toBe(false);
    expect(await pop.result()).toEqual([]);
    await s1.commit();
    expect(await consumerRow(db, 'under way', 'p')).toBeNull();
    expect((await popSpecific(s2, 'under way', 'p')).texts).toEqual(['a']);
  });

  it('never delivers a message without the id, however the two race', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    let raced = 0;
    for (const partition of numbered('p', 500)) {
      const push = pushMessages(s1, 'race', partition, ['a']);
      for (;;) {
        const { batches } = await popSpecific(s2, 'race', partition);
        if (batches.length === 0) {
          raced++;
          continue;
        }
        expect(batches[0].partitionId).toMatch(/^[0-9a-f-]{36}$/);
        break;
      }
      await push;
    }
    expect(raced).toBeGreaterThan(0);
  });
});
