import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { openSessions } from '../support/sessions.js';
import {
  ageSegments,
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
  type Target,
} from '../support/make.js';

/** Walks go over all queues there are, so each test has a database of its own. */
let db: TestDatabase;
const all: TestDatabase[] = [];

beforeEach(async () => {
  db = await createTestDatabase();
  all.push(db);
});

afterAll(async () => {
  for (const each of all) await each.drop();
});

type Lane = 'count' | 'weigh';
interface Step {
  visits: number;
  finished: number;
  done: boolean;
}

const takeTurn = (intervalMs: number, on: Target = db) =>
  scalar<Date | null>(on, [`select queen.stats_take_turn_v1('queue stats', $1)`, [intervalMs]]);

const prepare = () => scalar<number>(db, ['select queen.stats_prepare_v1(90, 1000)', []]);

async function step(lane: Lane, budget: number, runAt: Date | null, on: TestDatabase = db): Promise<Step> {
  const { rows } = await on.query<Row>(`select * from queen.stats_${lane}_v1($1, $2)`, [budget, runAt]);
  return {
    visits: rows[0].r_visits as number,
    finished: rows[0].r_finished as number,
    done: rows[0].r_done as boolean,
  };
}

/** A whole run, in steps of this budget. */
async function run(lane: Lane, budget = 10_000): Promise<Step[]> {
  await prepare();
  const runAt = await takeTurn(0);
  const steps = [await step(lane, budget, runAt)];
  while (!steps.at(-1)!.done) steps.push(await step(lane, budget, runAt));
  return steps;
}

async function statsOf(queue: string): Promise<Row> {
  const { rows } = await db.query<Row>(
    `select s.partitions::int, s.messages::int, s.pending::int, s.processing::int, s.leases::int,
            s.leased_partitions::int, s.dead_letters::int, s.pushed::int, s.consumed::int, s.segments::int,
            s.retained_bytes::int, s.oldest_pending_at is not null as has_oldest, s.counted_at is not null as is_counted
     from queen.queue_stats s join queen.queues q on q.id = s.queue_id where q.name = $1`,
    [queue],
  );
  return rows[0];
}

describe('the turn', () => {
  it('goes to whoever asks first when it is due, once', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    expect(await takeTurn(60_000, s1)).toBeInstanceOf(Date);
    expect(await takeTurn(60_000, s2)).toBeNull();
    await db.query(`update queen.turns set taken_at = clock_timestamp() - interval '61 seconds'`);
    expect(await takeTurn(60_000, s2)).toBeInstanceOf(Date);
  });

  it('is free again when the clock was set back, and for whoever insists', async () => {
    await db.query(`update queen.turns set taken_at = clock_timestamp() + interval '1 hour'`);
    expect(await takeTurn(60_000)).toBeInstanceOf(Date);
    expect(await takeTurn(0)).toBeInstanceOf(Date);
  });

  it('of two who ask at once goes to one', async () => {
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    await s1.begin();
    expect(await takeTurn(60_000, s1)).not.toBeNull();
    const second = s2.start(`select queen.stats_take_turn_v1('queue stats', 60000) as taken`, []);
    expect(await second.isBlocked(s1)).toBe(true);
    await s1.commit();
    expect(await second.result()).toEqual([{ taken: null }]);
  });
});

describe('counting', () => {
  it('writes down what queues hold', async () => {
    await pushMessages(db, 'q', 'a', numbered('m', 5));
    await pushMessages(db, 'q', 'b', numbered('m', 3));
    await popSpecific(db, 'q', 'a', { budget: 2, autoAck: true });
    await makeLease(db, 'q', 'b', { budget: 1 });
    expect(await run('count')).toEqual([{ visits: 1, finished: 1, done: true }]);
    expect(await statsOf('q')).toMatchObject({
      ...{ partitions: 2, messages: 8, pending: 6, processing: 1, leases: 1, leased_partitions: 1 },
      ...{ dead_letters: 0, pushed: 8, consumed: 2, has_oldest: true },
    });
  });

  it('writes zeros for a queue that holds nothing any more', async () => {
    await pushMessages(db, 'q', 'a', ['m']);
    await run('count');
    await popSpecific(db, 'q', 'a', { autoAck: true });
    await run('count');
    expect(await statsOf('q')).toMatchObject({ messages: 1, pending: 0, has_oldest: false });
    await db.query('delete from queen.log_partitions');
    await run('count');
    expect(await statsOf('q')).toMatchObject({ partitions: 0, messages: 0, pending: 0, pushed: 0 });
  });

  it('goes on in the next step where the budget ended, also in the middle of a queue', async () => {
    const queueId = await makeQueue(db, 'wide');
    await makePartitions(db, queueId, numbered('p', 25));
    await db.query('update queen.log_partitions set last_offset = 1');
    const steps = await run('count', 11);
    expect(steps.map(({ visits, finished }) => [visits, finished])).toEqual([
      [1, 0],
      [1, 0],
      [1, 1],
    ]);
    expect(await statsOf('wide')).toMatchObject({ partitions: 25, messages: 50, pending: 50 });
  });

  it('shows nothing of a walk that has not ended', async () => {
    const queueId = await makeQueue(db, 'wide');
    await makePartitions(db, queueId, numbered('p', 25));
    await prepare();
    await step('count', 11, await takeTurn(0));
    expect(await statsOf('wide')).toMatchObject({ partitions: 0, is_counted: false });
  });

  it('visits small queues in every run, however large another one is', async () => {
    const queueId = await makeQueue(db, 'large');
    await makePartitions(db, queueId, numbered('p', 100));
    for (const queue of numbered('small', 5)) await pushMessages(db, queue, 'p', ['m']);
    await prepare();
    for (let k = 1; k <= 2; k++) {
      const runAt = await takeTurn(0);
      // What one run may cost: two steps of twenty.
      await step('count', 20, runAt);
      await step('count', 20, runAt);
      for (const queue of numbered('small', 5)) {
        const { rows } = await db.query<{ fresh: boolean }>(
          `select s.counted_at >= $2 as fresh from queen.queue_stats s
           where s.queue_id = (select id from queen.queues where name = $1)`,
          [queue, runAt],
        );
        expect(rows).toEqual([{ fresh: true }]);
      }
    }
  });

  it('is shared by two who run at once, without one doing what the other does', async () => {
    for (const queue of numbered('q', 4)) await pushMessages(db, queue, 'p', ['m']);
    await prepare();
    const runAt = await takeTurn(0);
    const { s1, s2 } = await openSessions(db, ['s1', 's2']);
    const call = 'select r_visits as visits, r_done as done from queen.stats_count_v1($1, $2)';
    await s1.begin();
    expect(await s1.run(call, [5, runAt])).toEqual([{ visits: 2, done: false }]);
    const second = s2.start(call, [100, runAt]);
    expect(await second.finishedWithin(2000)).toBe(true);
    expect(await second.result()).toEqual([{ visits: 2, done: true }]);
    await s1.commit();
    expect(await step('count', 100, runAt)).toEqual({ visits: 0, finished: 0, done: true });
  });

  it('does not keep a queue from being deleted, and forgets it with it', async () => {
    await pushMessages(db, 'q', 'p', ['m']);
    await run('count');
    await scalar(db, [`select queen.delete_queue_v1('q')`, []]);
    expect((await db.query('select 1 from queen.queue_stats')).rowCount).toBe(0);
    expect(await run('count')).toEqual([{ visits: 0, finished: 0, done: true }]);
  });

  it('and a delete of the queue it counts wait for each other, never in a circle', async () => {
    await pushMessages(db, 'q', 'p', ['m']);
    await prepare();
    const runAt = await takeTurn(0);
    const { s1, s2, s3 } = await openSessions(db, ['s1', 's2', 's3']);
    await s1.begin();
    await s1.run('select * from queen.stats_count_v1(100, $1)', [runAt]);
    const deletion = s2.start(`select queen.delete_queue_v1('q') ->> 'deleted' as deleted`, []);
    expect(await deletion.isBlocked(s1)).toBe(true);
    // The step holds its walk and asks for no queue; one that adds queues asks for them and holds no walk.
    const preparation = s3.start('select queen.stats_prepare_v1(90, 1000) as added', []);
    expect(await preparation.finishedWithin(2000)).toBe(true);
    await s1.run('select * from queen.stats_count_v1(100, $1)', [runAt]);
    await s1.commit();
    expect(await deletion.result()).toEqual([{ deleted: 'true' }]);
  });

  it('adds up what happened since the last count to the minute; what was there before is of no minute', async () => {
    await pushMessages(db, 'old', 'p', numbered('m', 9));
    await db.query(`update queen.queues set created_at = now() - interval '1 day'`);
    await pushMessages(db, 'new', 'p', numbered('m', 4));
    await run('count');
    await pushMessages(db, 'old', 'p', numbered('n', 2));
    await popSpecific(db, 'old', 'p', { budget: 7, autoAck: true });
    await run('count');
    await run('count');
    const { rows } = await db.query<Row>(
      `select q.name::text, sum(m.pushed)::int as pushed, sum(m.consumed)::int as consumed
       from queen.queue_minutes m join queen.queues q on q.id = m.queue_id group by 1 order by 1`,
    );
    expect(rows).toEqual([
      { name: 'new', pushed: 4, consumed: 0 },
      { name: 'old', pushed: 2, consumed: 7 },
    ]);
  });

  it('forgets minutes that are too old', async () => {
    const insert = (table: string, key: string) =>
      db.query(
        `insert into queen.${table} (minute, ${key}) values (now() - interval '91 days', $1), (now(), $1)`,
        ['00000000-0000-0000-0000-00000000000a'],
      );
    await insert('queue_minutes', 'queue_id');
    await insert('broker_minutes', 'broker');
    await prepare();
    for (const table of ['queue_minutes', 'broker_minutes']) {
      expect((await db.query(`select 1 from queen.${table}`)).rowCount).toBe(1);
    }
  });
});

describe('weighing', () => {
  const stored = async (queue: string) => {
    const { rows } = await db.query<{ segments: number; bytes: number }>(
      `select count(*)::int as segments, coalesce(sum(octet_length(s.blob)), 0)::int as bytes
       from queen.log_segments s join queen.log_partitions p on p.id = s.partition_id
       join queen.queues q on q.id = p.queue_id where q.name = $1`,
      [queue],
    );
    return { segments: rows[0].segments, retained_bytes: rows[0].bytes };
  };

  it.each([10_000, 7, 4])('sums up segments and their bytes, in steps of %d', async (budget) => {
    await pushBacklog(db, 'q', 'a', 12, 1);
    await pushBacklog(db, 'q', 'b', 3, 2);
    await makePartitions(db, (await db.query<{ id: string }>('select id from queen.queues')).rows[0].id, [
      'empty',
    ]);
    await pushMessages(db, 'r', 'a', ['m']);
    const steps = await run('weigh', budget);
    expect(steps.reduce((sum, { finished }) => sum + finished, 0)).toBe(2);
    for (const queue of ['q', 'r']) expect(await statsOf(queue)).toMatchObject(await stored(queue));
    expect((await stored('q')).segments).toBe(15);
  });

  it('goes on with the next partition when the one in the middle is gone', async () => {
    await pushBacklog(db, 'q', 'a', 9, 1);
    await pushBacklog(db, 'q', 'b', 3, 1);
    await prepare();
    const runAt = await takeTurn(0);
    expect((await step('weigh', 6, runAt)).done).toBe(false);
    await db.query(`delete from queen.log_partitions where name = 'a'`);
    for (let done = false; !done;) ({ done } = await step('weigh', 6, runAt));
    expect((await statsOf('q')).segments).toBeGreaterThanOrEqual(3);
    await run('weigh');
    expect(await statsOf('q')).toMatchObject(await stored('q'));
  });
});

describe('the views', () => {
  const views = {
    queues: () => scalar<{ queues: Row[] }>(db, ['select queen.get_queues_v2()', []]),
    overview: () => scalar<Row>(db, ['select queen.get_system_overview_v3()', []]),
    status: (queue: string | null = null) =>
      scalar<Row>(db, ['select queen.get_status_v3(null, null, $1, null, null)', [queue]]),
    analytics: (interval: string) =>
      scalar<{ dataPoints: Row[] }>(db, [
        'select queen.get_analytics_v1(null, null, $1, null, null, null)',
        [interval],
      ]),
  };

  it('of all queues count partitions and messages at once, the rest when it was counted', async () => {
    await pushMessages(db, 'q', 'p', numbered('m', 5));
    await popSpecific(db, 'q', 'p', { budget: 2, autoAck: true });
    const messages = async () => (await views.queues()).queues[0].messages;
    expect(await messages()).toEqual({ total: 5, pending: 5, processing: 0 });
    await run('count');
    expect(await messages()).toEqual({ total: 5, pending: 3, processing: 0 });
    await pushMessages(db, 'q', 'p', ['n']);
    expect(await messages()).toEqual({ total: 6, pending: 3, processing: 0 });
  });

  it('say how old the oldest count is, -1 before the first', async () => {
    await pushMessages(db, 'q', 'p', ['m']);
    expect(await views.overview()).toMatchObject({ statsAge: -1 });
    await run('count');
    await db.query(`update queen.queue_stats set counted_at = counted_at - interval '70 seconds'`);
    const { statsAge } = await views.overview();
    expect([70, 71]).toContain(statsAge);
    expect((await views.status()).statsAge).toBeGreaterThanOrEqual(70);
  });

  it('take the lag over the queues that have one', async () => {
    for (const [queue, count] of [
      ['a', 2],
      ['b', 4],
      ['c', 1],
    ] as const) {
      await pushMessages(db, queue, 'p', numbered('m', count));
    }
    await popSpecific(db, 'c', 'p', { autoAck: true });
    await ageSegments(db, 'a', 'p', 100);
    await run('count');
    const { lag } = (await views.overview()) as { lag: Record<'time' | 'offset', Record<string, number>> };
    expect(lag.offset).toEqual({ avg: 3, median: 3, min: 2, max: 4 });
    expect(Math.round(lag.time.max / 10)).toBe(10);
    expect(lag.time.min).toBeLessThan(10);
  });

  it('show throughput and points of what was counted', async () => {
    await pushMessages(db, 'q', 'p', numbered('m', 30));
    await popSpecific(db, 'q', 'p', { budget: 15, autoAck: true });
    await run('count');
    expect((await views.overview()).throughput).toEqual({ ingestedPerSecond: 0.1, processedPerSecond: 0.05 });
    expect(await views.status()).toMatchObject({
      ...{ bucketMinutes: 1, pointCount: 1 },
      throughput: [{ ingested: 30, processed: 15, ingestedPerSecond: 0.5, processedPerSecond: 0.25 }],
    });
    for (const interval of ['minute', 'hour', 'day']) {
      expect((await views.analytics(interval)).dataPoints).toMatchObject([{ messages: 30 }]);
    }
  });

  it("speak of the queues that match, and of nobody else's", async () => {
    for (const queue of ['a', 'b']) await pushMessages(db, queue, 'p', [queue]);
    await pushMessages(db, 'c', 'p', ['c'], { tenant: OTHER_TENANT });
    await run('count');
    const ofQueue = async (queue: string | null) =>
      ((await views.status(queue)).queues as { name: string }[]).map(({ name }) => name).sort();
    expect(await ofQueue(null)).toEqual(['a', 'b']);
    expect(await ofQueue('b')).toEqual(['b']);
    expect(await ofQueue('c')).toEqual([]);
    expect((await views.queues()).queues).toHaveLength(2);
  });

  it('count the commonest reasons of dead letters', async () => {
    await pushMessages(db, 'q', 'p', ['m']);
    const insert = `insert into queen.log_dlq (partition_id, consumer_group, "offset", error)
      select p.id, 'g', n, case when n < 3 then 'rare' else 'common' end
      from queen.log_partitions p cross join generate_series(1, 7) n`;
    await db.query(insert);
    await run('count');
    expect((await views.status()).deadLetterQueue).toEqual({
      ...{ totalMessages: 7, currentMessages: 7, affectedPartitions: 1 },
      topErrors: [
        { error: 'common', count: 5 },
        { error: 'rare', count: 2 },
      ],
    });
  });

  it('add up what the brokers said they did', async () => {
    const note = (broker: string, ...counts: number[]) =>
      db.query('select queen.stats_note_broker_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)', [
        broker,
        ...counts,
      ]);
    await inTurn(['b1', 'b2', 'b1'], (broker) => note(broker, 2, 20, 4, 10, 1, 5, 3, 2, 1));
    expect(await views.status()).toMatchObject({
      messages: {
        requests: { push: 6, pop: 12, ack: 3 },
        batchEfficiency: { push: 10, pop: 2.5, ack: 5 },
      },
      errors: { dbErrors: 3, ackFailed: 9, dlqMessages: 6 },
      workers: [
        { broker: 'b1', pushMessages: 40 },
        { broker: 'b2', pushMessages: 20 },
      ],
    });
  });
});
