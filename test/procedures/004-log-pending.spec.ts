import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  claim,
  dropBelow,
  makeLease,
  makePartitions,
  makeQueue,
  OTHER_TENANT,
  popDiscover,
  popWildcard,
  pushMessages,
  QUEUE_MODE,
  run,
  scalar,
  TENANT,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const hasPending = (queue: string, group = 'g', tenant = TENANT) =>
  scalar<boolean>(db, ['select queen.log_has_pending_v1($1, $2, $3)', [queue, group, tenant]]);

/** Of one partition, asked alone and among others: both must say the same. */
async function partitionHasPending(queue: string, partition: string, group = 'g', tenant = TENANT) {
  const alone = await scalar<boolean>(db, [
    'select queen.log_partition_has_pending_v1($1, $2, $3, $4)',
    [queue, partition, group, tenant],
  ]);
  const rows = await run(db, [
    'select r_pending from queen.log_partitions_have_pending_v1($1, $2, $3, $4)',
    [
      ['nowhere', queue, queue],
      ['p', partition, partition],
      ['g', group, group],
      [TENANT, tenant, tenant],
    ],
  ]);
  expect(rows.map(({ r_pending }) => r_pending)).toEqual([true, alone, alone]);
  return alone;
}

const discoverHasPending = (
  filter: { namespace?: string | null; task?: string | null },
  group = 'g',
  tenant = TENANT,
) => {
  const call = 'select queen.log_discover_has_pending_v1($1, $2, $3, $4)';
  return scalar<boolean>(db, [call, [filter.namespace ?? null, filter.task ?? null, group, tenant]]);
};

describe('whether a queue has something for a group', () => {
  it('is no for a queue that is unknown, empty, or of another tenant', async () => {
    const queueId = await makeQueue(db, 'no partition');
    expect(await hasPending('nowhere')).toBe(false);
    expect(await hasPending('no partition')).toBe(false);
    await makePartitions(db, queueId, ['p']);
    expect(await hasPending('no partition')).toBe(false);
    await pushMessages(db, 'no partition', 'p', ['a']);
    expect(await hasPending('no partition', 'g', OTHER_TENANT)).toBe(false);
    expect(await hasPending('no partition')).toBe(true);
  });

  it('is yes while the group has no cursor or an earlier one, and no when it is at the end', async () => {
    await pushMessages(db, 'steps', 'p', ['a', 'b']);
    expect(await hasPending('steps')).toBe(true);
    await claim(db, 'steps', 'p', { budget: 1, autoAck: true });
    expect(await hasPending('steps')).toBe(true);
    await claim(db, 'steps', 'p', { budget: 1, autoAck: true });
    expect(await hasPending('steps')).toBe(false);
    expect(await hasPending('steps', 'h')).toBe(true);
  });

  it('is yes for what is leased, and for what retention has emptied until a pop seals the cursor', async () => {
    await pushMessages(db, 'superset', 'p', ['a']);
    await makeLease(db, 'superset', 'p');
    expect(await hasPending('superset')).toBe(true);
    await pushMessages(db, 'phantom', 'p', ['a']);
    await dropBelow(db, 'phantom', 'p', 1);
    expect(await hasPending('phantom')).toBe(true);
    await claim(db, 'phantom', 'p');
    expect(await hasPending('phantom')).toBe(false);
    await pushMessages(db, 'phantom', 'p', ['b']);
    expect(await hasPending('phantom')).toBe(true);
  });
});

describe('whether a partition has something for a group', () => {
  it('is yes for an unknown queue or partition, or one of another tenant', async () => {
    await makeQueue(db, 'known');
    expect(await partitionHasPending('nowhere', 'p')).toBe(true);
    expect(await partitionHasPending('known', 'nowhere')).toBe(true);
    await pushMessages(db, 'known', 'p', ['a']);
    await claim(db, 'known', 'p', { autoAck: true });
    expect(await partitionHasPending('known', 'p')).toBe(false);
    expect(await partitionHasPending('known', 'p', 'g', OTHER_TENANT)).toBe(true);
  });

  it('is yes without a cursor even when nothing is there, so that "only what is new" is seeded in time', async () => {
    const queueId = await makeQueue(db, 'unseeded');
    await makePartitions(db, queueId, ['p']);
    expect(await partitionHasPending('unseeded', 'p')).toBe(true);
    await claim(db, 'unseeded', 'p', { mode: 'new' });
    expect(await partitionHasPending('unseeded', 'p')).toBe(false);
    await pushMessages(db, 'unseeded', 'p', ['a']);
    expect(await partitionHasPending('unseeded', 'p')).toBe(true);
  });

  it('is no for what retention has emptied, without any pop', async () => {
    await pushMessages(db, 'exact', 'p', ['a', 'b']);
    await claim(db, 'exact', 'p', { budget: 1, autoAck: true });
    expect(await partitionHasPending('exact', 'p')).toBe(true);
    await dropBelow(db, 'exact', 'p', 2);
    expect(await partitionHasPending('exact', 'p')).toBe(false);
  });
});

describe('whether any queue of a kind has something for a group', () => {
  it('is yes while a matching queue does not know the group, also without a partition', async () => {
    await makeQueue(db, 'kind 1', { namespace: 'kind', task: 'x' });
    expect(await discoverHasPending({ namespace: 'kind' })).toBe(true);
    expect(await discoverHasPending({ task: 'x' })).toBe(true);
    expect(await discoverHasPending({ namespace: 'kind', task: 'y' })).toBe(false);
    expect(await discoverHasPending({ namespace: 'kind' }, 'g', OTHER_TENANT)).toBe(false);
    await popDiscover(db, { namespace: 'kind' });
    expect(await discoverHasPending({ namespace: 'kind' })).toBe(false);
    await makeQueue(db, 'kind 2', { namespace: 'kind' });
    expect(await discoverHasPending({ namespace: 'kind' })).toBe(true);
  });

  it('is no in queue mode, which needs no registration, until there is a message', async () => {
    await makeQueue(db, 'sentinel 1', { namespace: 'sentinel' });
    expect(await discoverHasPending({ namespace: 'sentinel' }, QUEUE_MODE)).toBe(false);
    await pushMessages(db, 'sentinel 1', 'p', ['a']);
    expect(await discoverHasPending({ namespace: 'sentinel' }, QUEUE_MODE)).toBe(true);
    await claim(db, 'sentinel 1', 'p', { group: QUEUE_MODE, autoAck: true });
    expect(await discoverHasPending({ namespace: 'sentinel' }, QUEUE_MODE)).toBe(false);
  });

  it('is no for what retention has emptied', async () => {
    await makeQueue(db, 'emptied 1', { namespace: 'emptied' });
    await pushMessages(db, 'emptied 1', 'p', ['a', 'b']);
    await popWildcard(db, 'emptied 1', { budget: 1, autoAck: true });
    expect(await discoverHasPending({ namespace: 'emptied' })).toBe(true);
    await dropBelow(db, 'emptied 1', 'p', 2);
    expect(await discoverHasPending({ namespace: 'emptied' })).toBe(false);
  });

  it('is no for a kind nobody has', async () => {
    expect(await discoverHasPending({ namespace: 'nowhere' })).toBe(false);
  });
});
