import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageLastWrite,
  consumerRow,
  countRows,
  expireLease,
  inTurn,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionId,
  popDiscover,
  popDiscoverCall,
  pushMessages,
  run,
  TENANT,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** A queue of a namespace and task with one message, named like the queue, in partition p. */
async function filled(namespace: string, task: string, queue: string, tenant = TENANT): Promise<string> {
  const queueId = await makeQueue(db, queue, { namespace, task }, tenant);
  await pushMessages(db, queue, 'p', [queue], { tenant });
  return queueId;
}

const watermarks = async (namespace: string) => {
  const select = `select q.name, w.last_empty_scan_at = 'epoch' as at_epoch, w.updated_at = 'epoch' as unchecked
    from queen.consumer_watermarks w join queen.queues q on q.id = w.queue_id
    where q.namespace = $1 and w.consumer_group = 'g' order by q.name`;
  return run(db, [select, [namespace]]);
};

describe('a discovery pop', () => {
  it.each<[string, { namespace?: string | null; task?: string | null }, string[]]>([
    ['a namespace', { namespace: 'shop' }, ['shop 1', 'shop 2']],
    ['a task', { task: 'mail' }, ['office 1', 'shop 1']],
    ['both', { namespace: 'shop', task: 'mail' }, ['shop 1']],
    ['a namespace and no task', { namespace: 'shop', task: null }, ['shop 1', 'shop 2']],
    ['a task and no namespace', { namespace: null, task: 'mail' }, ['office 1', 'shop 1']],
    ['a namespace nobody has', { namespace: 'nowhere' }, []],
  ])('by %s serves the queues that match', async (what, filter, expected) => {
    await filled('shop', 'mail', 'shop 1');
    await filled('shop', 'print', 'shop 2');
    await filled('office', 'mail', 'office 1');
    await filled('shop', 'mail', 'theirs', OTHER_TENANT);
    const { batches, texts } = await popDiscover(db, filter, { group: what, maxPartitions: 10 });
    expect(texts.sort()).toEqual(expected);
    for (const batch of batches) {
      expect(batch).toMatchObject({
        ...{ partition: 'p', attempt: 1, texts: [batch.queue] },
        ...{ partitionId: await partitionId(db, batch.queue, 'p') },
      });
    }
  });

  it('without namespace and task is refused', async () => {
    for (const filter of [{}, { namespace: null, task: null }, { namespace: '', task: null }]) {
      await expect(run(db, popDiscoverCall(filter))).rejects.toMatchObject({ code: 'QPOP0' });
    }
  });

  it('creates no queue', async () => {
    await popDiscover(db, { namespace: 'imaginary', task: 'imaginary' });
    expect(await countRows(db, 'queues', `namespace = 'imaginary' or name like 'imaginary%'`)).toBe(0);
  });

  it('shares its budget among queues and stops at the number of partitions asked for', async () => {
    await inTurn(numbered('share ', 4), (queue) => filled('share', '', queue));
    expect(
      (await popDiscover(db, { namespace: 'share' }, { budget: 3, maxPartitions: 10 })).texts,
    ).toHaveLength(3);
    const options = { group: 'h', maxPartitions: 2, worker: 'w2' };
    expect((await popDiscover(db, { namespace: 'share' }, options)).batches).toHaveLength(2);
  });

  it.each([null, 0, -1, 2_147_483_647])('takes %s as no limit of partitions', async (maxPartitions) => {
    const namespace = `uncapped ${maxPartitions}`;
    await inTurn(numbered(`${namespace} `, 3), (queue) => filled(namespace, '', queue));
    expect((await popDiscover(db, { namespace }, { maxPartitions })).batches).toHaveLength(3);
  });

  it.each([
    [7, 7, 7],
    [null, 20, 30],
    [0, 20, 30],
  ])('leases for %s seconds, else for as long as each queue says', async (asked, first, second) => {
    const namespace = `leases ${asked}`;
    await filled(namespace, '', `${namespace} a`);
    await filled(namespace, '', `${namespace} b`);
    await makeQueue(db, `${namespace} a`, { leaseTime: 20 });
    await makeQueue(db, `${namespace} b`, { leaseTime: 30 });
    await popDiscover(db, { namespace }, { leaseSeconds: asked, maxPartitions: 2 });
    const rows = await inTurn(['a', 'b'], (name) => consumerRow(db, `${namespace} ${name}`, 'p'));
    const seconds = rows.map(
      (row) => (row!.leaseExpiresAt!.getTime() - row!.leaseAcquiredAt!.getTime()) / 1000,
    );
    expect(seconds).toEqual([first, second]);
  });

  it('acks at once when asked to', async () => {
    await filled('auto', '', 'auto 1');
    await popDiscover(db, { namespace: 'auto' }, { autoAck: true });
    expect(await consumerRow(db, 'auto 1', 'p')).toMatchObject({ committed: 0, workerId: null });
  });

  it('counts deliveries', async () => {
    await filled('counted', '', 'counted 1');
    for (const attempt of [1, 2]) {
      expect((await popDiscover(db, { namespace: 'counted' })).batches[0].attempt).toBe(attempt);
      await expireLease(db, 'counted 1', 'p');
    }
  });
});

describe('the first discovery pop of a group', () => {
  it('registers it with every matching queue, in one mode and at one time', async () => {
    await inTurn(numbered('new ', 3), (queue) => filled('new', '', queue));
    expect((await popDiscover(db, { namespace: 'new' }, { mode: 'new', maxPartitions: 10 })).texts).toEqual(
      [],
    );
    const select = `select count(*)::int as queues, count(distinct subscription_timestamp)::int as times,
        min(subscription_mode) as mode
      from queen.consumer_groups_metadata m join queen.queues q on q.id = m.queue_id where q.namespace = 'new'`;
    expect(await run(db, [select, []])).toEqual([{ queues: 3, times: 1, mode: 'new' }]);
    await pushMessages(db, 'new 1', 'p', ['later']);
    expect((await popDiscover(db, { namespace: 'new' }, { maxPartitions: 10 })).texts).toEqual(['later']);
  });

  it('also registers it with queues that came since', async () => {
    await filled('growing', '', 'growing 1');
    await popDiscover(db, { namespace: 'growing' }, { autoAck: true });
    await filled('growing', '', 'growing 2');
    expect((await popDiscover(db, { namespace: 'growing' }, { mode: 'new' })).texts).toEqual([]);
    expect((await consumerRow(db, 'growing 2', 'p'))?.committed).toBe(0);
  });
});

describe('the floor of a discovery scan', () => {
  it('moves for all matching queues together, once none of them holds anything', async () => {
    await filled('floor', '', 'floor 1');
    await filled('floor', '', 'floor 2');
    await popDiscover(db, { namespace: 'floor' }, { maxPartitions: 2 });
    expect(await watermarks('floor')).toMatchObject([
      { at_epoch: true, unchecked: true },
      { at_epoch: true, unchecked: true },
    ]);
    // Both are leased: looked at, and still pending.
    expect((await popDiscover(db, { namespace: 'floor' }, { worker: 'w2' })).texts).toEqual([]);
    expect(await watermarks('floor')).toMatchObject([
      { at_epoch: true, unchecked: false },
      { at_epoch: true, unchecked: false },
    ]);
    await expireLease(db, 'floor 1', 'p');
    await expireLease(db, 'floor 2', 'p');
    await popDiscover(db, { namespace: 'floor' }, { autoAck: true, maxPartitions: 2 });
    await db.query(`update queen.consumer_watermarks set updated_at = 'epoch'`);
    await popDiscover(db, { namespace: 'floor' });
    expect(await watermarks('floor')).toMatchObject([{ at_epoch: false }, { at_epoch: false }]);
  });

  it('is the lowest of the matching queues', async () => {
    const low = await filled('lowest', '', 'lowest 1');
    await filled('lowest', '', 'lowest 2');
    await popDiscover(db, { namespace: 'lowest' }, { autoAck: true, maxPartitions: 2 });
    await db.query(
      `update queen.consumer_watermarks set last_empty_scan_at = clock_timestamp()
       where queue_id <> $1 and consumer_group = 'g'`,
      [low],
    );
    await pushMessages(db, 'lowest 1', 'p', ['x']);
    await ageLastWrite(db, 'lowest 1', 'p', 600);
    expect((await popDiscover(db, { namespace: 'lowest' })).texts).toEqual(['x']);
  });
});
