import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  claim,
  countRows,
  makeQueue,
  numbered,
  partitionId,
  partitionRow,
  popped,
  popSpecific,
  popSpecificCall,
  pushBacklog,
  pushMessages,
  pushMultiCall,
  scalar,
  segmentRows,
  type Pushed,
} from '../support/make.js';
import {
  abandon,
  ALL,
  cleanupStepCall,
  history,
  orphans,
  purgeStepCall,
  retentionStep,
  retentionStepCall,
  type StepResult,
} from '../support/retention.js';
import { openSessions } from '../support/sessions.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const push = (queue: string, partition: string, ...texts: string[]) =>
  pushMultiCall([{ queue, partition, texts }]);

describe('retention and pushes', () => {
  it('exclude each other on one partition, and nowhere else', async () => {
    await pushBacklog(db, 'exclusive', 'p', 3);
    await pushBacklog(db, 'exclusive', 'other', 1);
    const pid = await partitionId(db, 'exclusive', 'p');
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s1.begin();
    await s1.run(...retentionStepCall(pid, { all: ALL }));
    const blocked = s2.start(...push('exclusive', 'p', 'next'));
    expect(await blocked.isBlocked(s1)).toBe(true);
    expect(await s3.start(...push('exclusive', 'other', 'x')).finishedWithin(2000)).toBe(true);
    await s1.commit();
    await blocked.result();
    expect(await partitionRow(db, 'exclusive', 'p')).toMatchObject({ logStart: 3, lastOffset: 3 });
    expect((await popSpecific(db, 'exclusive', 'p')).texts).toEqual(['next']);
  });

  it('a step that waited for a push sees what the push has written', async () => {
    await pushBacklog(db, 'waited', 'p', 1);
    const pid = await partitionId(db, 'waited', 'p');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run(...push('waited', 'p', 'n0', 'n1'));
    const step = s2.start(...retentionStepCall(pid, { all: ALL }));
    expect(await step.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect((await step.result())[0].result).toMatchObject({ deleted: 2, new_log_start: 3 });
  });

  it('take turns in small steps: no push waits for more than one of them (Z19)', async () => {
    const segments = 1000;
    const stepRows = 50;
    await makeQueue(db, 'sweep', { dedupWindowSeconds: 0 });
    await pushBacklog(db, 'sweep', 'p', segments);
    const pid = await partitionId(db, 'sweep', 'p');
    const { rows } = await db.query<{ now: string }>('select clock_timestamp()::text as now');
    const sweeper = await db.connect();
    const sweep = async () => {
      let steps = 0;
      for (let done = false; !done; steps++) {
        const step = await scalar<StepResult>(
          sweeper,
          retentionStepCall(pid, { all: rows[0].now, rows: stepRows }),
        );
        expect(step.deleted).toBeLessThanOrEqual(stepRows);
        done = step.done;
      }
      return steps;
    };
    let over = false;
    const sweeping = sweep().finally(() => (over = true));
    let pushed = 0;
    let pushedDuring = 0;
    while (!over || pushed < 5) {
      const verdict = await pushMessages(db, 'sweep', 'p', [`n${pushed++}`]);
      expect(verdict.status).toBe('queued');
      if (!over) pushedDuring += 1;
    }
    expect(await sweeping).toBe(segments / stepRows);
    expect(pushedDuring).toBeGreaterThan(0);
    expect((await segmentRows(db, 'sweep', 'p')).map(({ base }) => base)).toEqual(
      Array.from({ length: pushed }, (_, i) => segments + i),
    );
  });
});

describe('retention and pops', () => {
  it('never wait for each other, not even at first contact (Z25)', async () => {
    await pushBacklog(db, 'pops', 'p', 3);
    const pid = await partitionId(db, 'pops', 'p');
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s1.begin();
    await s1.run(...retentionStepCall(pid, { all: ALL, rows: 1 }));
    const pop = s2.start(...popSpecificCall('pops', 'p', { group: 'new here' }));
    expect(await pop.finishedWithin(2000)).toBe(true);
    // The step is not committed, so the pop still got the first message: handed out is handed out.
    expect(popped(await pop.result()).texts).toEqual(['m0', 'm1', 'm2']);
    await s1.commit();

    await s2.begin();
    await s2.run(...popSpecificCall('pops', 'p', { group: 'another', autoAck: true }));
    expect(await s3.start(...retentionStepCall(pid, { all: ALL })).finishedWithin(2000)).toBe(true);
    await s2.commit();
  });

  it('an uncommitted ack protects nothing and loses nothing', async () => {
    await pushBacklog(db, 'open ack', 'p', 4);
    await claim(db, 'open ack', 'p', { budget: 1, autoAck: true });
    const { s1 } = await openSessions(db, ['s1']);
    await s1.begin();
    await s1.run(...popSpecificCall('open ack', 'p', { budget: 2, autoAck: true }));
    expect(await retentionStep(db, 'open ack', 'p', { completed: ALL })).toMatchObject({ deleted: 1 });
    await s1.rollback();
    expect((await popSpecific(db, 'open ack', 'p')).texts).toEqual(['m1', 'm2', 'm3']);
  });

  it('retention that emptied a partition leaves no phantom behind (Z7)', async () => {
    await pushBacklog(db, 'emptied', 'p', 10);
    await claim(db, 'emptied', 'p', { budget: 1, autoAck: true });
    await retentionStep(db, 'emptied', 'p', { all: ALL });
    const pending = () => scalar<boolean>(db, [`select queen.log_has_pending_v1('emptied', 'g')`, []]);
    expect(await pending()).toBe(true);
    expect((await popSpecific(db, 'emptied', 'p')).texts).toEqual([]);
    expect(await pending()).toBe(false);
  });
});

describe('the cleanup of partitions and a late push (Z26)', () => {
  async function deadPartition(queue: string): Promise<string> {
    await pushMessages(db, queue, 'p', ['m']);
    await claim(db, queue, 'p', { autoAck: true });
    await retentionStep(db, queue, 'p', { all: ALL });
    await abandon(db, queue, 'p', 40);
    return partitionId(db, queue, 'p');
  }
  const CUTOFF_30_DAYS = `clock_timestamp() - interval '30 days'`;
  const cleanup = `select queen.log_partition_cleanup_step_v1(${CUTOFF_30_DAYS}, 100) as result`;

  it('the push fails loudly, its retry makes the partition anew, and no hash row is left behind', async () => {
    const old = await deadPartition('late');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect((await s1.run(cleanup))[0].result).toEqual({ deleted: 1, done: true });
    const step = s2.start(...push('late', 'p', 'after'));
    expect(await step.isBlocked(s1)).toBe(true);
    await s1.commit();
    await expect(step.result()).rejects.toMatchObject({ code: 'QGONE' });

    const [verdict] = await scalar<Pushed[]>(db, push('late', 'p', 'after'));
    expect(verdict).toMatchObject({ status: 'queued', baseOffset: 0 });
    expect(await partitionId(db, 'late', 'p')).not.toBe(old);
    expect(await orphans(db)).toBe(0);
    expect((await popSpecific(db, 'late', 'p')).texts).toEqual(['after']);
    expect(await history(db, old)).toContainEqual({ type: '__partition_deleted__', messages: 0, unread: 0 });
  });

  it('a partition that a push has under way is left alone', async () => {
    const pid = await deadPartition('under way');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run(...push('under way', 'p', 'now'));
    const step = s2.start(cleanup);
    expect(await step.finishedWithin(2000)).toBe(true);
    await s1.commit();
    expect(await partitionId(db, 'under way', 'p')).toBe(pid);
    expect((await popSpecific(db, 'under way', 'p')).texts).toEqual(['now']);
  });

  it('a group that comes while the partition goes skips it for one cycle', async () => {
    await deadPartition('visited');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    await s1.run(cleanup);
    const pop = s2.start(...popSpecificCall('visited', 'p', { group: 'comes now' }));
    expect(await pop.finishedWithin(2000)).toBe(true);
    await s1.commit();
    expect(
      await countRows(db, 'log_partitions p join queen.queues q on q.id = p.queue_id', `q.name = 'visited'`),
    ).toBe(0);
  });

  it('two cleanups at once do not wait for each other and delete each partition once', async () => {
    await deadPartition('twice');
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect((await s1.run(cleanup))[0].result).toMatchObject({ deleted: 1 });
    const step = s2.start(cleanup);
    expect(await step.finishedWithin(2000)).toBe(true);
    expect((await step.result())[0].result).toMatchObject({ deleted: 0 });
    await s1.commit();
  });
});

describe('what keeps a partition from being cleaned up', () => {
  const PID = (queue: string) => partitionId(db, queue, 'p');
  const isDead = async (queue: string) =>
    scalar<boolean>(db, [
      `select queen.log_partition_dead_v1($1, clock_timestamp() - interval '30 days')`,
      [await PID(queue)],
    ]);

  async function idle(queue: string): Promise<string> {
    await pushMessages(db, queue, 'p', ['m']);
    await claim(db, queue, 'p', { autoAck: true });
    await retentionStep(db, queue, 'p', { all: ALL });
    await abandon(db, queue, 'p', 40);
    return PID(queue);
  }

  it('nothing, when it has been empty and idle for long', async () => {
    await idle('dead');
    expect(await isDead('dead')).toBe(true);
    expect(
      await scalar(db, [`select queen.log_partition_dead_v1($1, now())`, [crypto.randomUUID()]]),
    ).toBeNull();
  });

  it.each<[string, string]>([
    ['a late write', `update queen.log_partitions set last_write_at = now() where id = $1`],
    ['that it is new', `update queen.log_partitions set created_at = now() where id = $1`],
    ['a segment', `insert into queen.log_segments values ($1, 1, 1, now() - interval '40 days', '')`],
    [
      'a dead letter',
      `insert into queen.log_dlq (partition_id, consumer_group, "offset") values ($1, 'g', 0)`,
    ],
    [
      'a lease that lives',
      `update queen.log_consumers set batch_end = 1, worker_id = 'w', lease_expires_at = now() + interval '1 h' where partition_id = $1`,
    ],
    [
      'a lease without an end',
      `update queen.log_consumers set batch_end = 1, worker_id = 'w', lease_expires_at = null where partition_id = $1`,
    ],
    [
      'a lease that ran out lately',
      `update queen.log_consumers set batch_end = 1, lease_expires_at = now() - interval '1 day' where partition_id = $1`,
    ],
    [
      'a lease taken lately',
      `update queen.log_consumers set lease_acquired_at = now() where partition_id = $1`,
    ],
    ['a cursor made lately', `update queen.log_consumers set created_at = now() where partition_id = $1`],
  ])('%s', async (what, change) => {
    const pid = await idle(what);
    await db.query(change, [pid]);
    expect(await isDead(what)).toBe(false);
  });

  it('not a lease that ran out long ago: nobody pops an empty partition to clear it', async () => {
    const pid = await idle('old lease');
    await db.query(
      `update queen.log_consumers set batch_end = 1, worker_id = 'w', lease_expires_at = now() - interval '35 days'
       where partition_id = $1`,
      [pid],
    );
    expect(await isDead('old lease')).toBe(true);
  });

  it('a switched off window', async () => {
    await idle('off');
    expect(await scalar(db, cleanupStepCall(null))).toEqual({ deleted: 0, done: true });
    expect(await PID('off')).toBeTruthy();
  });

  it('takes its cursors and hash rows with it, in steps', async () => {
    for (const partition of numbered('p', 3)) {
      await pushMessages(db, 'steps', partition, ['m']);
      await claim(db, 'steps', partition, { autoAck: true });
      await retentionStep(db, 'steps', partition, { all: ALL });
      await abandon(db, 'steps', partition, 400);
    }
    const step = () =>
      scalar(db, [`select queen.log_partition_cleanup_step_v1(now() - interval '365 days', 2)`, []]);
    expect(await step()).toEqual({ deleted: 2, done: false });
    expect(await step()).toEqual({ deleted: 1, done: true });
    expect(await orphans(db)).toBe(0);
  });
});

it('a purge waits for the push that reads what it purges, and the other way round', async () => {
  await pushBacklog(db, 'purged', 'p', 2);
  const pid = await partitionId(db, 'purged', 'p');
  await retentionStep(db, 'purged', 'p', { all: ALL });
  const { s1, s2 } = await openSessions(db, ['s1', 's2']);
  await s1.begin();
  await s1.run(...push('purged', 'p', 'new'));
  const purge = s2.start(...purgeStepCall(pid));
  expect(await purge.isBlocked(s1)).toBe(true);
  await s1.commit();
  expect((await purge.result())[0].result).toEqual({ deleted: 2, new_txns_start: 2, done: true });
  expect((await segmentRows(db, 'purged', 'p', 'log_txns')).map(({ base }) => base)).toEqual([2]);
});
