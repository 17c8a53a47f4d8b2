import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  ackByHashCall,
  claim,
  consumerRow,
  countRows,
  makeLease,
  makeQueue,
  numbered,
  partitionId,
  partitionRow,
  popSpecific,
  pushBacklog,
  pushMessages,
  run,
  scalar,
  segmentRows,
} from '../support/make.js';
import {
  age,
  ALL,
  history,
  NOTHING,
  purgeStep,
  retentionStep,
  retentionWork,
  START,
  type Position,
} from '../support/retention.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const OLD = 7200;

/** Segments of `perSegment` messages each, written two hours ago unless said otherwise. */
async function backlog(queue: string, segments: number, perSegment = 1, partition = 'p'): Promise<string> {
  await pushBacklog(db, queue, partition, segments, perSegment);
  await age(db, queue, partition, OLD);
  return partitionId(db, queue, partition);
}

/** `group` has finished everything up to and including `offset`. */
async function finish(queue: string, group: string, offset: number, partition = 'p'): Promise<void> {
  const { committed } = (await consumerRow(db, queue, partition, group)) ?? { committed: -1 };
  await claim(db, queue, partition, { group, budget: offset - committed, autoAck: true });
  expect((await consumerRow(db, queue, partition, group))?.committed).toBe(offset);
}

/** Bases of live segments. */
const bases = async (queue: string) => (await segmentRows(db, queue, 'p')).map(({ base }) => base);

describe('a step of retention by age', () => {
  it('removes what is older than the cutoff, read or not, and says how much nobody had read', async () => {
    const pid = await backlog('age', 4, 2);
    await finish('age', 'g', 2);
    expect(await retentionStep(db, 'age', 'p', { all: ALL })).toEqual({
      ...{ deleted: 4, new_log_start: 8, done: true, messages: 8, unread: 5 },
    });
    expect(await partitionRow(db, 'age', 'p')).toMatchObject({ logStart: 8, lastOffset: 7, txnsStart: 0 });
    expect(await bases('age')).toEqual([]);
    expect(await history(db, pid)).toEqual([{ type: 'retention', messages: 8, unread: 5 }]);
  });

  it('counts nothing as unread when there is no group', async () => {
    await backlog('nobody', 2);
    expect(await retentionStep(db, 'nobody', 'p', { all: ALL })).toMatchObject({ messages: 2, unread: 0 });
  });

  it('keeps what is younger, to the microsecond', async () => {
    await backlog('young', 4);
    const rows = await segmentRows(db, 'young', 'p');
    await age(db, 'young', 'p', 1, { to: 1 });
    // A segment created at the cutoff is not older than it.
    expect(await retentionStep(db, 'young', 'p', { all: rows[2].createdAt })).toMatchObject({
      deleted: 2,
      new_log_start: 2,
    });
    expect(await bases('young')).toEqual([2, 3]);
  });

  it('removes at most so many segments, and says when the work is done', async () => {
    const pid = await backlog('steps', 5, 3);
    const step = () => retentionStep(db, 'steps', 'p', { all: ALL, rows: 2 });
    expect(await step()).toMatchObject({ deleted: 2, new_log_start: 6, done: false });
    expect(await step()).toMatchObject({ deleted: 2, new_log_start: 12, done: false });
    expect(await step()).toMatchObject({ deleted: 1, new_log_start: 15, done: true });
    expect(await step()).toMatchObject({ deleted: 0, new_log_start: 15, done: true });
    // One line a partition, rule and minute; two when the minute ended in between.
    const lines = await history(db, pid);
    expect(lines.length).toBeLessThanOrEqual(2);
    expect(lines.reduce((sum, { messages }) => sum + messages, 0)).toBe(15);
  });

  it.each([0, -1, null])('with a limit of %p removes one segment', async (rows) => {
    const queue = `limit ${rows}`;
    await backlog(queue, 3);
    expect(await retentionStep(db, queue, 'p', { all: ALL, rows })).toMatchObject({
      deleted: 1,
      done: false,
    });
  });

  it('with no cutoff removes nothing', async () => {
    await backlog('off', 2);
    await finish('off', 'g', 1);
    expect(await retentionStep(db, 'off', 'p')).toMatchObject({ deleted: 0, new_log_start: 0, done: true });
  });

  it('on a partition that is gone has nothing to do', async () => {
    const call = 'select queen.log_retention_step_v1($1, now(), null, 10) as result';
    expect(await scalar(db, [call, [START.id]])).toMatchObject({
      deleted: 0,
      new_log_start: null,
      done: true,
    });
  });

  it('leaves a leased batch where it is: its ack is understood although the messages are gone', async () => {
    const pid = await backlog('leased', 3);
    await makeLease(db, 'leased', 'p', { budget: 2 });
    await retentionStep(db, 'leased', 'p', { all: ALL });
    const ack = ackByHashCall(pid, ['m0', 'm1'], ['completed', 'completed']);
    expect(await scalar(db, ack)).toMatchObject({ ok: true, acked: 2, unresolvedHashes: [] });
  });
});

describe('a step of completed retention', () => {
  it('removes what every group has finished and nothing above it', async () => {
    const pid = await backlog('completed', 6);
    await finish('completed', 'fast', 5);
    await finish('completed', 'slow', 2);
    expect(await retentionStep(db, 'completed', 'p', { completed: ALL })).toEqual({
      ...{ deleted: 3, new_log_start: 3, done: true, messages: 3, unread: 0 },
    });
    expect(await history(db, pid)).toEqual([{ type: 'completed_retention', messages: 3, unread: 0 }]);
    expect((await popSpecific(db, 'completed', 'p', { group: 'slow' })).texts).toEqual(['m3', 'm4', 'm5']);
  });

  it('never cuts a segment that a group has half read', async () => {
    await backlog('half', 3, 4);
    await finish('half', 'g', 5);
    expect(await retentionStep(db, 'half', 'p', { completed: ALL })).toMatchObject({
      deleted: 1,
      new_log_start: 4,
      done: true,
    });
    expect(await retentionStep(db, 'half', 'p', { completed: ALL })).toMatchObject({
      deleted: 0,
      done: true,
    });
  });

  it('removes nothing where no group ever was', async () => {
    await backlog('unread', 3);
    expect(await retentionStep(db, 'unread', 'p', { completed: ALL })).toMatchObject({
      deleted: 0,
      done: true,
    });
  });

  it('waits for a batch under lease, since its messages are not finished', async () => {
    const pid = await backlog('in hand', 4);
    await makeLease(db, 'in hand', 'p', { budget: 2 });
    expect(await retentionStep(db, 'in hand', 'p', { completed: ALL })).toMatchObject({ deleted: 0 });
    await run(db, ackAtCall(pid, 1));
    expect(await retentionStep(db, 'in hand', 'p', { completed: ALL })).toMatchObject({ deleted: 2 });
  });

  it('waits for a group that has subscribed and has not come to this partition yet', async () => {
    await makeQueue(db, 'subscribed');
    // The group registers before the partition exists, and so has no cursor on it.
    await run(db, [
      `select * from queen.log_pop_wildcard_bin_v1('subscribed', 'late', 10, 60, 'w', true, 10)`,
      [],
    ]);
    await backlog('subscribed', 3);
    await finish('subscribed', 'fast', 2);
    expect(await retentionStep(db, 'subscribed', 'p', { completed: ALL })).toMatchObject({ deleted: 0 });
    await finish('subscribed', 'late', 1);
    expect(await retentionStep(db, 'subscribed', 'p', { completed: ALL })).toMatchObject({ deleted: 2 });
  });

  it('does not wait for what a registered group will never be given', async () => {
    await backlog('tail', 3);
    await run(db, [
      `select * from queen.log_pop_wildcard_bin_v1('tail', 'newcomer', 10, 60, 'w', true, 10, 'new')`,
      [],
    ]);
    await run(db, [`delete from queen.log_consumers where consumer_group = 'newcomer'`, []]);
    await finish('tail', 'fast', 2);
    expect(await retentionStep(db, 'tail', 'p', { completed: ALL })).toMatchObject({ deleted: 3, unread: 0 });
  });

  it('after a seek to the start keeps what is to be read again', async () => {
    await backlog('rewound', 4);
    await finish('rewound', 'g', 3);
    await run(db, [`select queen.log_seek_partition_v1('g', 'rewound', 'p', false, 'epoch')`, []]);
    expect(await retentionStep(db, 'rewound', 'p', { completed: ALL })).toMatchObject({ deleted: 0 });
    expect((await popSpecific(db, 'rewound', 'p')).texts).toEqual(numbered('m', 4));
  });

  it('together with retention by age goes as far as either', async () => {
    await backlog('both', 6);
    const rows = await segmentRows(db, 'both', 'p');
    await age(db, 'both', 'p', 1, { to: 1 });
    await finish('both', 'g', 3);
    const cutoffs = { all: rows[2].createdAt, completed: ALL };
    expect(await retentionStep(db, 'both', 'p', cutoffs)).toMatchObject({ deleted: 4, unread: 0 });
    expect(await bases('both')).toEqual([4, 5]);
  });
});

describe('an eviction of what waited too long', () => {
  it('removes it for every group and calls it by its name', async () => {
    const pid = await backlog('evicted', 3);
    await makeLease(db, 'evicted', 'p', { budget: 1 });
    const call = 'select queen.log_evict_max_wait_step_v1($1, $2, 10) as result';
    expect(await scalar(db, [call, [pid, ALL]])).toMatchObject({ deleted: 3, unread: 3, done: true });
    expect(await history(db, pid)).toEqual([{ type: 'max_wait_time_eviction', messages: 3, unread: 3 }]);
    expect(await countRows(db, 'log_dlq')).toBe(0);
    // What comes next is delivered, from where the partition goes on.
    await run(db, ackAtCall(pid, 0));
    await pushMessages(db, 'evicted', 'p', ['next']);
    expect((await popSpecific(db, 'evicted', 'p')).texts).toEqual(['next']);
  });
});

describe('a purge of hash rows', () => {
  it('leaves those of live segments, however old (Q1)', async () => {
    const pid = await backlog('kept', 3);
    expect(await purgeStep(db, 'kept', 'p')).toEqual({ deleted: 0, new_txns_start: 0, done: true });
    await makeLease(db, 'kept', 'p');
    expect(await scalar(db, ackByHashCall(pid, ['m2'], ['completed']))).toMatchObject({ ok: true, acked: 3 });
  });

  it('removes those of deleted segments once they are older than the cutoff', async () => {
    await backlog('gone', 4);
    const rows = await segmentRows(db, 'gone', 'p');
    await age(db, 'gone', 'p', 1, { to: 1 });
    await finish('gone', 'g', 2);
    await retentionStep(db, 'gone', 'p', { completed: ALL });
    expect(await purgeStep(db, 'gone', 'p', rows[2].createdAt)).toEqual({
      ...{ deleted: 2, new_txns_start: 2, done: true },
    });
    expect(await purgeStep(db, 'gone', 'p')).toEqual({ deleted: 1, new_txns_start: 3, done: true });
    expect((await segmentRows(db, 'gone', 'p', 'log_txns')).map(({ base }) => base)).toEqual([3]);
  });

  it('removes at most so many rows, and says when the work is done', async () => {
    await backlog('bounded', 5);
    await retentionStep(db, 'bounded', 'p', { all: ALL });
    expect(await purgeStep(db, 'bounded', 'p', ALL, 3)).toEqual({
      deleted: 3,
      new_txns_start: 3,
      done: false,
    });
    expect(await purgeStep(db, 'bounded', 'p', ALL, 3)).toEqual({
      deleted: 2,
      new_txns_start: 5,
      done: true,
    });
  });

  it('without a cutoff, or without a partition, removes nothing', async () => {
    await backlog('no cutoff', 2);
    await retentionStep(db, 'no cutoff', 'p', { all: ALL });
    expect(await purgeStep(db, 'no cutoff', 'p', null)).toMatchObject({ deleted: 0, done: true });
    const call = 'select queen.log_txns_purge_step_v1($1, now(), 10) as result';
    expect(await scalar(db, [call, [START.id]])).toMatchObject({ deleted: 0, new_txns_start: null });
  });

  it('keeps the dedup window: an id of a deleted message is a duplicate until its hash row goes', async () => {
    await makeQueue(db, 'dedup', { dedupWindowSeconds: 86_400 });
    await backlog('dedup', 1);
    await retentionStep(db, 'dedup', 'p', { all: ALL });
    expect((await pushMessages(db, 'dedup', 'p', ['m0'])).status).toBe('duplicate');
    await purgeStep(db, 'dedup', 'p');
    expect((await pushMessages(db, 'dedup', 'p', ['m0'])).status).toBe('queued');
  });
});

describe('the list of hash rows that are due', () => {
  const due = async () => (await run(db, ['select * from queen.log_txns_work_v1(100)', []])) as Due[];
  type Due = { r_partition_id: string; r_cutoff: string };

  it('has a partition from the time on that its windows have passed, and no longer than it has to', async () => {
    await makeQueue(db, 'due', { dedupWindowSeconds: 1000, completedRetentionSeconds: 2000 });
    await pushBacklog(db, 'due', 'p', 2);
    const pid = await partitionId(db, 'due', 'p');
    const isDue = async () => (await due()).some(({ r_partition_id }) => r_partition_id === pid);
    expect(await isDue()).toBe(false);
    await retentionStep(db, 'due', 'p', { all: ALL });
    expect(await isDue()).toBe(false);
    await age(db, 'due', 'p', 1990);
    expect(await isDue()).toBe(false);
    await age(db, 'due', 'p', 20);
    const [{ r_cutoff }] = (await due()).filter(({ r_partition_id }) => r_partition_id === pid);
    expect(Math.abs(Date.now() - 2_000_000 - Date.parse(r_cutoff))).toBeLessThan(60_000);
    expect(await purgeStep(db, 'due', 'p', r_cutoff)).toMatchObject({ deleted: 2 });
    expect(await isDue()).toBe(false);
  });

  it('lets a partition wait when its windows have become longer meanwhile', async () => {
    await makeQueue(db, 'longer', { dedupWindowSeconds: 0 });
    const pid = await backlog('longer', 1);
    await retentionStep(db, 'longer', 'p', { all: ALL });
    await makeQueue(db, 'longer', { dedupWindowSeconds: 100_000 });
    const [{ r_cutoff }] = (await due()).filter(({ r_partition_id }) => r_partition_id === pid);
    expect(await purgeStep(db, 'longer', 'p', r_cutoff)).toMatchObject({ deleted: 0, done: true });
    expect((await due()).some(({ r_partition_id }) => r_partition_id === pid)).toBe(false);
  });

  it('keeps a partition on the list of 900 seconds when both windows are off', async () => {
    await makeQueue(db, 'floor', { dedupWindowSeconds: 0 });
    await pushBacklog(db, 'floor', 'p', 1);
    await retentionStep(db, 'floor', 'p', { all: ALL });
    const wait = await scalar<number>(db, [
      `select extract(epoch from txns_due_at - clock_timestamp())::float8 as wait
         from queen.log_partitions where id = $1`,
      [await partitionId(db, 'floor', 'p')],
    ]);
    expect(wait).toBeGreaterThan(850);
    expect(wait).toBeLessThanOrEqual(900);
  });
});

describe('the list of partitions with something to delete', () => {
  const listed = async (queue: string, partition = 'p') => {
    const pid = await partitionId(db, queue, partition);
    return (await retentionWork(db, 100_000)).work.filter((one) => one.partitionId === pid);
  };

  it('has those that are old enough by a rule of their queue, with the cutoffs that apply', async () => {
    await makeQueue(db, 'ruled', {
      ...{ retentionEnabled: true, retentionSeconds: 3600, completedRetentionSeconds: 60 },
    });
    await pushBacklog(db, 'ruled', 'p', 2);
    expect(await listed('ruled')).toEqual([]);
    await age(db, 'ruled', 'p', OLD);
    const [{ all, completed, maxWait }] = await listed('ruled');
    expect(maxWait).toBeNull();
    expect(Math.abs(Date.now() - 3_600_000 - Date.parse(all!))).toBeLessThan(60_000);
    expect(Math.abs(Date.now() - 60_000 - Date.parse(completed!))).toBeLessThan(60_000);
    await retentionStep(db, 'ruled', 'p', { all });
    expect(await listed('ruled')).toEqual([]);
  });

  it('has none of a queue without a rule, or whose rules are switched off', async () => {
    await backlog('no rule', 1);
    await makeQueue(db, 'rule off', { retentionEnabled: false, retentionSeconds: 1 });
    await backlog('rule off', 1);
    await makeQueue(db, 'rule zero', { retentionEnabled: true });
    await backlog('rule zero', 1);
    for (const queue of ['no rule', 'rule off', 'rule zero']) expect(await listed(queue)).toEqual([]);
  });

  it('has what waited too long whether or not retention is enabled', async () => {
    await makeQueue(db, 'max wait', { maxWaitTimeSeconds: 60 });
    await backlog('max wait', 1);
    expect(await listed('max wait')).toMatchObject([{ all: null, completed: null }]);
    expect((await listed('max wait'))[0].maxWait).not.toBeNull();
  });

  it('leaves out what a slow group holds back, until that group has read the first segment', async () => {
    await makeQueue(db, 'held', { retentionEnabled: true, completedRetentionSeconds: 1 });
    await backlog('held', 3, 2);
    await finish('held', 'fast', 5);
    await finish('held', 'slow', 0);
    expect(await listed('held')).toEqual([]);
    await finish('held', 'slow', 1);
    expect(await listed('held')).toHaveLength(1);
  });

  it('is walked in pages that look at no partition twice and leave none out', async () => {
    const page = await createTestDatabase();
    try {
      const names = numbered('p', 7);
      for (const queue of ['a', 'b', 'c']) {
        await makeQueue(page, queue, { retentionEnabled: true, retentionSeconds: 1 });
        for (const name of names) {
          await pushMessages(page, queue, name, ['m']);
          await age(page, queue, name, 60);
        }
      }
      const seen: string[] = [];
      let pages = 0;
      for (let next: Position | null = START; next; pages++) {
        const found: Awaited<ReturnType<typeof retentionWork>> = await retentionWork(page, 4, next);
        expect(found.looked).toBeLessThanOrEqual(4);
        seen.push(...found.work.map((one) => one.partitionId));
        next = found.next;
      }
      expect(pages).toBeGreaterThan(5);
      expect(seen).toHaveLength(21);
      expect(new Set(seen).size).toBe(21);
    } finally {
      await page.drop();
    }
  });

  it('puts a wrong mark right instead of listing the partition for ever', async () => {
    await makeQueue(db, 'mark', { retentionEnabled: true, completedRetentionSeconds: 1 });
    const pid = await backlog('mark', 2);
    await db.query('delete from queen.log_segments where partition_id = $1', [pid]);
    expect(await listed('mark')).toHaveLength(1);
    await retentionStep(db, 'mark', 'p', { completed: ALL });
    expect(await listed('mark')).toEqual([]);
  });
});

describe('the mark of the oldest segment', () => {
  const mark = (queue: string) =>
    scalar<string | null>(db, [
      'select oldest_live_at::text as mark from queen.log_partitions where id = $1',
      [queue],
    ]);

  it('is set by the push that ends an emptiness, kept by others, and moved by retention', async () => {
    await pushMessages(db, 'marked', 'p', ['m0']);
    const pid = await partitionId(db, 'marked', 'p');
    const [{ createdAt }] = await segmentRows(db, 'marked', 'p');
    expect(await mark(pid)).toBe(createdAt);
    await pushMessages(db, 'marked', 'p', ['m1']);
    expect(await mark(pid)).toBe(createdAt);
    await retentionStep(db, 'marked', 'p', { all: ALL, rows: 1 });
    expect(await mark(pid)).toBe((await segmentRows(db, 'marked', 'p'))[0].createdAt);
    await retentionStep(db, 'marked', 'p', { all: ALL });
    expect(await mark(pid)).toBeNull();
    await pushMessages(db, 'marked', 'p', ['m2']);
    expect(await mark(pid)).toBe((await segmentRows(db, 'marked', 'p'))[0].createdAt);
  });

  it('is not later than the segment where the queue has no dedup window', async () => {
    await makeQueue(db, 'no window', { dedupWindowSeconds: 0 });
    await pushMessages(db, 'no window', 'p', ['m0']);
    const [{ createdAt }] = await segmentRows(db, 'no window', 'p');
    const later = 'select $1::timestamptz > $2::timestamptz as later';
    const set = await mark(await partitionId(db, 'no window', 'p'));
    expect(await scalar(db, [later, [set, createdAt]])).toBe(false);
  });

  it('does not make pushes touch an index: their updates stay heap-only (I43)', async () => {
    await pushMessages(db, 'hot', 'p', ['first']);
    const stats = async () => {
      await db.query('select pg_stat_force_next_flush()');
      const { rows } = await db.query<{ all: number; hot: number }>(
        `select n_tup_upd::int as all, n_tup_hot_upd::int as hot
           from pg_stat_xact_all_tables where relid = 'queen.log_partitions'::regclass`,
      );
      return rows[0];
    };
    await db.query('begin');
    try {
      const before = await stats();
      for (const text of numbered('m', 50)) await pushMessages(db, 'hot', 'p', [text]);
      const after = await stats();
      expect(after.all - before.all).toBe(50);
      // A page fills up once in a while, and last_write_at moves once a second.
      expect(after.hot - before.hot).toBeGreaterThanOrEqual(45);
    } finally {
      await db.query('commit');
    }
  });
});

describe('the history', () => {
  it('ages out in bounded steps', async () => {
    const insert = `insert into queen.retention_history (partition_id, messages_deleted, retention_type, executed_at)
      select gen_random_uuid(), 1, 'retention', clock_timestamp() - make_interval(days => d) from generate_series(85, 95) d`;
    await run(db, [insert, []]);
    const purge = (rows: number) =>
      scalar<number>(db, ['select queen.retention_history_purge_step_v1(90, $1) as n', [rows]]);
    const old = () =>
      countRows(db, 'retention_history', `executed_at < clock_timestamp() - interval '90 days'`);
    expect(await purge(4)).toBe(4);
    expect(await purge(4)).toBe(2);
    expect(await purge(4)).toBe(0);
    expect(await old()).toBe(0);
    expect(
      await countRows(db, 'retention_history', `executed_at < clock_timestamp() - interval '84 days'`),
    ).toBe(5);
  });
});

it('nothing is old enough for a cutoff in the past', async () => {
  await backlog('past', 3);
  await finish('past', 'g', 2);
  const cutoffs = { all: NOTHING, completed: NOTHING };
  expect(await retentionStep(db, 'past', 'p', cutoffs)).toMatchObject({ deleted: 0, done: true });
});
