import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackByHashCall,
  ageSegments,
  dlqHeadCall,
  dropBelow,
  expireLease,
  inTurn,
  makeLease,
  makePartitions,
  makeQueue,
  numbered,
  OTHER_TENANT,
  popSpecific,
  pushBacklog,
  pushMessages,
  scalar,
  type Row,
} from '../support/make.js';
import { PlanningSession, scansOf } from '../support/plans.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface Counts {
  total: number;
  pending: number;
  processing: number;
  completed: number;
  failed: null;
  deadLetter: number;
  expired: number;
}

interface Detail {
  partitions: { name: string; stats: Counts; oldestMessage: string | null; newestMessage: string | null }[];
  totals: Counts;
  live: boolean;
  segments: { segments: number; messages: number };
  retainedBytes: number;
  pagination: { limit: number; offset: number; after: string | null; next: string | null };
}

interface Page {
  limit?: number;
  offset?: number;
  after?: string | null;
}

const detail = (queue: string, { limit = 1000, offset = 0, after = null }: Page = {}) =>
  scalar<Detail>(db, ['select queen.get_queue_v2($1, $2, $3, $4)', [queue, limit, offset, after]]);

const depth = (queue: string, group: string | null = null, limit = 1000) =>
  scalar<Row>(db, ['select queen.log_queue_depth_v1($1, $2, $3)', [queue, group, limit]]);

const names = (of: Detail) => of.partitions.map(({ name }) => name);

const counts = (total: number, pending: number, rest: Partial<Counts> = {}): Counts => {
  const deadLetter = rest.deadLetter ?? 0;
  const completed = Math.max(total - pending - deadLetter, 0);
  return { total, pending, processing: 0, completed, failed: null, deadLetter: 0, expired: 0, ...rest };
};

describe('the counts of a partition', () => {
  const only = async (queue: string) => (await detail(queue)).partitions[0].stats;

  it('are all pending while there is no group', async () => {
    await pushMessages(db, 'no group', 'p', numbered('m', 4));
    expect(await only('no group')).toEqual(counts(4, 4));
  });

  it('go by the slowest group', async () => {
    await pushMessages(db, 'slowest', 'p', numbered('m', 10));
    await popSpecific(db, 'slowest', 'p', { group: 'fast', budget: 7, autoAck: true });
    await popSpecific(db, 'slowest', 'p', { group: 'slow', budget: 4, autoAck: true });
    expect(await only('slowest')).toEqual(counts(10, 6));
  });

  it('count what is under a live lease as processing, and nothing under one that ran out', async () => {
    await pushMessages(db, 'leases', 'p', numbered('m', 10));
    await makeLease(db, 'leases', 'p', { budget: 3 });
    expect(await only('leases')).toEqual(counts(10, 10, { processing: 3 }));
    await expireLease(db, 'leases', 'p');
    expect(await only('leases')).toEqual(counts(10, 10));
  });

  it('never have more processing than pending, however many groups work on it', async () => {
    await pushMessages(db, 'many groups', 'p', numbered('m', 4));
    for (const group of ['a', 'b', 'c']) await makeLease(db, 'many groups', 'p', { group });
    expect(await only('many groups')).toEqual(counts(4, 4, { processing: 4 }));
  });

  it('leave out what retention removed, also for a group that never got there', async () => {
    await pushBacklog(db, 'removed', 'p', 5, 2);
    await popSpecific(db, 'removed', 'p', { budget: 1, autoAck: true });
    await dropBelow(db, 'removed', 'p', 4);
    expect(await only('removed')).toEqual(counts(6, 6));
  });

  it('show dead letters and messages that were too old', async () => {
    await makeQueue(db, 'lost', { ttl: 100 });
    await pushBacklog(db, 'lost', 'p', 2, 2);
    const { partitionId } = await makeLease(db, 'lost', 'p', { budget: 1 });
    expect(await scalar(db, dlqHeadCall(partitionId, 0))).toMatchObject({ ok: true });
    await ageSegments(db, 'lost', 'p', 200, { to: 1 });
    await makeLease(db, 'lost', 'p', { budget: 1 });
    expect(await only('lost')).toEqual(counts(4, 2, { processing: 1, deadLetter: 1, expired: 1 }));
  });
});

describe('a page of partitions', () => {
  beforeAll(async () => {
    await inTurn(['b', 'a', 'c', '', 'Ä'], (name) => pushMessages(db, 'pages', name, ['m']));
  });

  it('goes by name, and each page says where the next one begins', async () => {
    const { rows } = await db.query<{ name: string }>(
      `select name from queen.log_partitions where queue_id = (select id from queen.queues where name = 'pages')
       order by name`,
    );
    const sorted = rows.map(({ name }) => name);
    const seen: string[] = [];
    let after: string | null = null;
    for (let k = 0; k < 3; k++) {
      const page: Detail = await detail('pages', { limit: 2, after });
      seen.push(...names(page));
      expect(page.pagination).toEqual({
        limit: 2,
        offset: 0,
        after,
        next: k < 2 ? page.partitions[1].name : null,
      });
      after = page.pagination.next;
    }
    expect(seen).toEqual(sorted);
    expect(sorted[0]).toBe('');
  });

  it('begins behind the partition without a name when that is asked for', async () => {
    expect(names(await detail('pages', { after: '' }))).not.toContain('');
    expect(names(await detail('pages', { after: '' }))).toHaveLength(4);
  });

  it('can be skipped to, and is empty behind the last', async () => {
    const all = names(await detail('pages'));
    expect(names(await detail('pages', { limit: 2, offset: 3 }))).toEqual(all.slice(3));
    expect(names(await detail('pages', { offset: 5 }))).toEqual([]);
    expect((await detail('pages', { after: 'zzz' })).pagination.next).toBeNull();
  });

  it('has the totals of the whole queue all the same', async () => {
    expect((await detail('pages', { limit: 1 })).totals).toEqual(counts(5, 5));
  });

  it('costs what it shows, not what the queue holds', async () => {
    const queueId = await makeQueue(db, 'wide');
    await makePartitions(db, queueId, numbered('p', 3000));
    const planning = await PlanningSession.open(db);
    const call = 'select * from queen.partition_counts_v1($1, $2, 0, 5)';
    const plan = await planning.planOf([call, [queueId, 'p2']], /from queen\.log_partitions l/);
    expect(scansOf(plan).filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
    const partitions = plan.nodes.find(({ shape }) => shape.endsWith(' on log_partitions'))!;
    expect(partitions.shape).toBe('Index Scan using log_partitions_queue_name_uk on log_partitions');
    expect(partitions.rows + partitions.rowsRemoved).toBeLessThanOrEqual(6);
  });
});

describe('a queue of many partitions', () => {
  const liveCounts = (queueId: string, liveMax: number) =>
    db
      .query<Row>('select * from queen.queue_counts_v1($1, $2)', [queueId, liveMax])
      .then(({ rows }) => rows[0]);

  it('is counted up to a bound, and beyond it answers with its last count', async () => {
    const queueId = await makeQueue(db, 'bound');
    for (const name of ['a', 'b', 'c']) await pushMessages(db, 'bound', name, ['m']);
    expect(await liveCounts(queueId, 3)).toMatchObject({ r_partitions: '3', r_messages: '3', r_live: true });
    expect(await liveCounts(queueId, 2)).toMatchObject({ r_messages: '0', r_live: false });
    await db.query(
      `insert into queen.queue_stats (queue_id, partitions, messages, pending, counted_at) values ($1, 3, 30, 20, now())`,
      [queueId],
    );
    expect(await liveCounts(queueId, 2)).toEqual({
      ...{ r_partitions: '3', r_messages: '30', r_pending: '20', r_processing: '0', r_dead_letters: '0' },
      ...{ r_expired: '0', r_live: false },
    });
  });
});

describe('the detail of a queue', () => {
  it('counts the segments of a small queue now', async () => {
    await pushBacklog(db, 'segments', 'p', 3, 2);
    expect((await detail('segments')).segments).toEqual({ segments: 3, messages: 6 });
  });

  it('has no times where there is no message', async () => {
    const queueId = await makeQueue(db, 'no message');
    await makePartitions(db, queueId, ['p']);
    const [partition] = (await detail('no message')).partitions;
    expect([partition.oldestMessage, partition.newestMessage]).toEqual([null, null]);
    expect(partition.stats).toEqual(counts(0, 0));
  });

  it.each(['get_queue_v2', 'get_queue_detail_v2'])(
    '%s of an unknown queue is an error, also of another tenant',
    async (name) => {
      await makeQueue(db, 'theirs', {}, OTHER_TENANT);
      const call = `select queen.${name}($1, 10, 0, null)`;
      for (const queue of ['nowhere', 'theirs']) {
        expect(await scalar(db, [call, [queue]])).toEqual({ error: 'Queue not found' });
      }
    },
  );
});

describe('the depth of a queue', () => {
  beforeAll(async () => {
    await pushMessages(db, 'depth', 'full', numbered('m', 5));
    await pushMessages(db, 'depth', 'half', numbered('m', 4));
    await pushMessages(db, 'depth', 'done', numbered('m', 3));
    await popSpecific(db, 'depth', 'half', { budget: 2, autoAck: true });
    await popSpecific(db, 'depth', 'done', { autoAck: true });
  });

  it('is what a group has before it, fullest partition first; done ones are left out', async () => {
    expect(await depth('depth', 'g')).toEqual({
      ...{ queue: 'depth', group: 'g', pending: 7, partitionsPending: 2 },
      partitions: [
        { partition: 'full', pending: 5 },
        { partition: 'half', pending: 2 },
      ],
    });
  });

  it('is everything for a group that has not come yet', async () => {
    expect(await depth('depth', 'stranger')).toMatchObject({ pending: 12, partitionsPending: 3 });
  });

  it('goes by the slowest group when none is named', async () => {
    await popSpecific(db, 'depth', 'full', { group: 'fast', autoAck: true });
    expect(await depth('depth')).toMatchObject({ group: null, pending: 2, partitionsPending: 1 });
  });

  it('shows as many partitions as asked for and sums up all', async () => {
    const answer = await depth('depth', 'g', 1);
    expect(answer).toMatchObject({ pending: 7, partitionsPending: 2, partitions: [{ partition: 'full' }] });
    expect(answer.partitions).toHaveLength(1);
  });

  it('of an unknown queue is an error', async () => {
    expect(await depth('nowhere')).toEqual({ error: 'Queue not found' });
  });
});

describe('the backlog that maxSize bounds', () => {
  const backlog = (queue: string) =>
    scalar<string | null>(db, ['select queen.queue_backlog_v1($1)', [queue]]);

  it('is what the slowest group has not finished', async () => {
    await pushMessages(db, 'backlog', 'p', numbered('m', 6));
    await pushMessages(db, 'backlog', 'q', numbered('m', 2));
    expect(await backlog('backlog')).toBe('8');
    const { batches } = await popSpecific(db, 'backlog', 'p', { budget: 4 });
    expect(await backlog('backlog')).toBe('8');
    await scalar(db, ackByHashCall(batches[0].partitionId, batches[0].texts, null));
    expect(await backlog('backlog')).toBe('4');
    expect(await backlog('nowhere')).toBeNull();
  });
});

describe('labels', () => {
  it('are listed by name with what their queues hold; queues without one are left out', async () => {
    const other = await createTestDatabase();
    try {
      await makeQueue(other, 'plain');
      for (const queue of ['shop.mail.a', 'shop.web', 'bank.mail']) {
        await pushMessages(other, queue, 'p', ['m']);
        await pushMessages(other, queue, 'q', ['m', 'n']);
      }
      const entry = (queues: number) => ({
        ...{ queues, partitions: 2 * queues },
        messages: { total: 3 * queues, pending: 3 * queues },
      });
      expect(await scalar(other, ['select queen.get_namespaces_v2()', []])).toEqual({
        namespaces: [
          { namespace: 'bank', ...entry(1) },
          { namespace: 'shop', ...entry(2) },
        ],
      });
      expect(await scalar(other, ['select queen.get_tasks_v2()', []])).toEqual({
        tasks: [
          { task: 'mail', ...entry(2) },
          { task: 'web', ...entry(1) },
        ],
      });
      expect(await scalar(other, ['select queen.get_namespaces_v2($1)', [OTHER_TENANT]])).toEqual({
        namespaces: [],
      });
    } finally {
      await other.drop();
    }
  });
});

describe('lags', () => {
  const lag = (values: number[] | null) => scalar(db, ['select queen.lag_json_v1($1)', [values]]);

  it('are zeros for nothing, and otherwise their average, median and ends', async () => {
    expect(await lag(null)).toEqual({ avg: 0, median: 0, min: 0, max: 0 });
    expect(await lag([4, 1, 10, 1])).toEqual({ avg: 4, median: 2.5, min: 1, max: 10 });
  });
});
