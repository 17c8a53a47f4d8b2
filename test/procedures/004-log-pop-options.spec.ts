import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackByHashCall,
  ageSegments,
  claimTexts,
  consumerRow,
  dropBelow,
  expireLease,
  makeLease,
  makeQueue,
  numbered,
  partitionId,
  popDiscover,
  popList,
  popSpecific,
  popWildcard,
  pushBacklog,
  pushMessages,
  run,
  scalar,
  type PopOptions,
  type Row,
} from '../support/make.js';
import { THIS_PARTITION } from '../support/rows.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

/** The columns of a cursor that only the options of this file use. */
async function optionColumns(queue: string): Promise<Row> {
  const columns = `lost_offset::int, lost_end::int, lost_count, total_expired::int,
    (extract(epoch from hold_until - clock_timestamp()) * 1000)::float8 as hold_ms`;
  const [row] = await run(db, [
    `select ${columns} from queen.log_consumers where partition_id = ${THIS_PARTITION} and consumer_group = 'g'`,
    [queue, 'p'],
  ]);
  return row;
}

const nack = async (queue: string, text: string, status = 'failed') =>
  scalar<{ ok: boolean }>(db, ackByHashCall(await partitionId(db, queue, 'p'), [text], [status]));

/** The hold is over. */
const endHold = (queue: string) =>
  db.query(
    `update queen.log_consumers set hold_until = clock_timestamp() - interval '1 millisecond'
     where partition_id = ${THIS_PARTITION}`,
    [queue, 'p'],
  );

describe('retryDelay', () => {
  const start = async (queue: string, options: Record<string, unknown> = {}) => {
    await makeQueue(db, queue, { retryDelay: 10_000, retryLimit: 9, ...options });
    await pushMessages(db, queue, 'p', numbered('m', 4));
    await makeLease(db, queue, 'p', { budget: 2 });
  };

  it('lets a refused batch, and all behind it, rest for the delay and at most a fifth more', async () => {
    await start('rest');
    await nack('rest', 'm0');
    const { hold_ms: holdMs } = await optionColumns('rest');
    expect(holdMs).toBeGreaterThan(9000);
    expect(holdMs).toBeLessThanOrEqual(12_000);
    expect(await claimTexts(db, 'rest', 'p')).toEqual([]);
    expect((await popWildcard(db, 'rest')).texts).toEqual([]);

    await endHold('rest');
    expect(await claimTexts(db, 'rest', 'p')).toEqual(numbered('m', 4));
    expect((await optionColumns('rest')).hold_ms).toBeNull();
  });

  it('keeps what was completed before the refusal, and the order of the rest', async () => {
    await start('order');
    const pid = await partitionId(db, 'order', 'p');
    await scalar(db, ackByHashCall(pid, ['m0', 'm1'], ['completed', 'failed']));
    await endHold('order');
    expect(await claimTexts(db, 'order', 'p')).toEqual(['m1', 'm2', 'm3']);
  });

  it('doubles with every failure, up to an hour', async () => {
    await start('doubles', { retryDelay: 1_000_000 });
    const holds: number[] = [];
    for (let failure = 1; failure <= 4; failure++) {
      await nack('doubles', 'm0');
      holds.push((await optionColumns('doubles')).hold_ms as number);
      await endHold('doubles');
      await makeLease(db, 'doubles', 'p');
    }
    const bases = [1_000_000, 2_000_000, 3_600_000, 3_600_000];
    holds.forEach((holdMs, i) => {
      expect(holdMs).toBeGreaterThan(bases[i] - 1000);
      expect(holdMs).toBeLessThanOrEqual(bases[i] * 1.2);
    });
  });

  it('is different each time, so that what failed together does not come back together', async () => {
    const { rows } = await db.query<{ spread: number }>(
      `select count(distinct queen.log_hold_until_v1(1000000, 1)) as spread from generate_series(1, 20)`,
    );
    expect(Number(rows[0].spread)).toBe(20);
  });

  it('also follows a retry, which charges nothing', async () => {
    await start('free');
    await nack('free', 'm0', 'retry');
    expect((await optionColumns('free')).hold_ms).toBeGreaterThan(9000);
    expect((await consumerRow(db, 'free', 'p'))!.retryCount).toBe(0);
  });

  it('does not follow a lease that ran out, whose time was waited already', async () => {
    await start('expired');
    await expireLease(db, 'expired', 'p');
    expect(await claimTexts(db, 'expired', 'p')).toEqual(numbered('m', 4));
  });

  it('does not hold up auto-ack, which refuses nothing', async () => {
    await start('auto');
    await nack('auto', 'm0');
    expect(await claimTexts(db, 'auto', 'p', { autoAck: true })).toEqual(numbered('m', 4));
    expect((await optionColumns('auto')).hold_ms).toBeNull();
  });

  it('holds one group only', async () => {
    await start('groups');
    await nack('groups', 'm0');
    expect(await claimTexts(db, 'groups', 'p', { group: 'other' })).toEqual(numbered('m', 4));
  });

  it('is a lease with the rest of the wait to the hot-list', async () => {
    await start('verdict');
    await nack('verdict', 'm0');
    const { verdicts } = await popList(db, 'verdict', ['p']);
    expect(verdicts).toMatchObject([{ partition: 'p', state: 'leased' }]);
    expect(verdicts[0].waitMs).toBeGreaterThan(9000);
  });

  it('ends with a seek', async () => {
    await start('seek');
    await nack('seek', 'm0');
    const seek = `select queen.log_move_cursors_v1(array[${THIS_PARTITION}], 'g', false, '-infinity')`;
    await db.query(seek, ['seek', 'p']);
    expect(await claimTexts(db, 'seek', 'p')).toEqual(numbered('m', 4));
  });
});

describe('ttl', () => {
  /** Segments m0 m1 | m2 m3 | m4 m5, the first `old` of them past the ttl of 100 s. */
  const start = async (queue: string, old: number, options: Record<string, unknown> = {}) => {
    await makeQueue(db, queue, { ttl: 100, ...options });
    await pushBacklog(db, queue, 'p', 3, 2);
    if (old > 0) await ageSegments(db, queue, 'p', 200, { to: 2 * old - 1 });
  };

  it.each([
    [0, numbered('m', 6)],
    [1, numbered('m', 4, 2)],
    [2, numbered('m', 2, 4)],
    [3, []],
  ])('steps over %d old segments, counts them, and delivers the rest', async (old, expected) => {
    await start(`ttl ${old}`, old);
    expect(await claimTexts(db, `ttl ${old}`, 'p')).toEqual(expected);
    expect(await optionColumns(`ttl ${old}`)).toMatchObject({ total_expired: 2 * old });
    expect((await consumerRow(db, `ttl ${old}`, 'p'))!.committed).toBe(2 * old - 1);
  });

  it('leaves the messages where they are: another group, or a longer ttl, may still want them', async () => {
    await start('kept', 3);
    expect(await claimTexts(db, 'kept', 'p')).toEqual([]);
    await makeQueue(db, 'kept', { ttl: 0 });
    expect(await claimTexts(db, 'kept', 'p', { group: 'late' })).toEqual(numbered('m', 6));
  });

  it('delivers what comes after all that was there had become too old', async () => {
    await start('after', 3);
    expect(await claimTexts(db, 'after', 'p')).toEqual([]);
    await pushMessages(db, 'after', 'p', ['new']);
    expect(await claimTexts(db, 'after', 'p')).toEqual(['new']);
  });

  it('counts from inside a segment, and leaves a live lease alone', async () => {
    await start('inside', 0);
    await makeLease(db, 'inside', 'p', { budget: 1 });
    await ageSegments(db, 'inside', 'p', 200);
    expect(await claimTexts(db, 'inside', 'p')).toEqual([]);
    await scalar(db, ackByHashCall(await partitionId(db, 'inside', 'p'), ['m0'], null));
    expect(await claimTexts(db, 'inside', 'p')).toEqual([]);
    expect(await optionColumns('inside')).toMatchObject({ total_expired: 5 });
  });

  it('takes over an expired lease of messages that are too old, without failures or attempts', async () => {
    await start('takeover', 0, { retryLimit: 9 });
    await makeLease(db, 'takeover', 'p', { budget: 1 });
    await nack('takeover', 'm0');
    await makeLease(db, 'takeover', 'p', { budget: 2 });
    await expireLease(db, 'takeover', 'p');
    await ageSegments(db, 'takeover', 'p', 200, { to: 1 });
    expect((await popSpecific(db, 'takeover', 'p')).batches).toMatchObject([
      { attempt: 1, texts: numbered('m', 4, 2) },
    ]);
    expect(await consumerRow(db, 'takeover', 'p')).toMatchObject({ committed: 1, retryCount: 0 });
  });

  it('begins behind a gap that retention left', async () => {
    await start('gap', 2);
    await dropBelow(db, 'gap', 'p', 2);
    expect(await claimTexts(db, 'gap', 'p')).toEqual(numbered('m', 2, 4));
    expect(await optionColumns('gap')).toMatchObject({ total_expired: 2 });
  });

  it('of auto-ack as well', async () => {
    await start('auto ttl', 2);
    expect(await claimTexts(db, 'auto ttl', 'p', { autoAck: true })).toEqual(numbered('m', 2, 4));
  });
});

describe('maxDeliveries', () => {
  /** A pop whose worker does not survive `poison`: all it got comes again. Anything else is completed. */
  const work = async (queue: string, poison: string, options: PopOptions = {}) => {
    const { batches } = await popSpecific(db, queue, 'p', options);
    if (batches.length === 0) return null;
    const [batch] = batches;
    if (batch.attempt === 0) {
      const pid = batch.partitionId;
      const call = `select queen.log_put_aside_v1($1, 'g', $2, $3, null, $4, '"x"', null, null, null, false) as r`;
      const put = [pid, options.worker ?? 'w', batch.end, batch.texts[0]];
      expect(await scalar(db, [call, put])).toMatchObject({ ok: true });
      return `aside ${batch.texts.join()}`;
    }
    if (batch.texts.includes(poison)) {
      await expireLease(db, queue, 'p');
      return `lost ${batch.texts.join()}`;
    }
    await scalar(db, ackByHashCall(batch.partitionId, batch.texts, null));
    return `done ${batch.texts.join()}`;
  };

  const drain = async (queue: string, poison: string, options: PopOptions = {}) => {
    const trail: string[] = [];
    for (let step = await work(queue, poison, options); step; step = await work(queue, poison, options)) {
      trail.push(step);
    }
    return trail;
  };

  const letters = async (queue: string) =>
    (
      await db.query<Row>(
        `select transaction_id, error from queen.log_dlq where partition_id = ${THIS_PARTITION} order by "offset"`,
        [queue, 'p'],
      )
    ).rows;

  it('finds the message that ends its workers by handing them out alone, and blames no other', async () => {
    await makeQueue(db, 'culprit', { maxDeliveries: 3 });
    await pushMessages(db, 'culprit', 'p', numbered('m', 5));
    expect(await drain('culprit', 'm2')).toEqual([
      'lost m0,m1,m2,m3,m4',
      'lost m0,m1,m2,m3,m4',
      'done m0',
      'done m1',
      'lost m2',
      'aside m2',
      'done m3,m4',
    ]);
    expect(await letters('culprit')).toEqual([{ transaction_id: 'm2', error: 'max deliveries' }]);
    expect(await optionColumns('culprit')).toMatchObject({
      lost_offset: null,
      lost_end: null,
      lost_count: 0,
    });
  });

  it.each([
    [1, ['lost m0', 'aside m0', 'done m1']],
    [2, ['lost m0', 'lost m0', 'aside m0', 'done m1']],
    [4, ['lost m0', 'lost m0', 'lost m0', 'lost m0', 'aside m0', 'done m1']],
  ])('%d means so many deliveries, one message at a time', async (maxDeliveries, trail) => {
    const queue = `one ${maxDeliveries}`;
    await makeQueue(db, queue, { maxDeliveries });
    await pushMessages(db, queue, 'p', ['m0', 'm1']);
    expect(await drain(queue, 'm0', { budget: 1 })).toEqual(trail);
  });

  it('1 of a larger batch takes one more, since one loss of many says nothing', async () => {
    await makeQueue(db, 'one of many', { maxDeliveries: 1 });
    await pushMessages(db, 'one of many', 'p', numbered('m', 3));
    expect(await drain('one of many', 'm1')).toEqual([
      ...['lost m0,m1,m2', 'done m0', 'lost m1', 'aside m1', 'done m2'],
    ]);
  });

  it('starts to count anew when the worker got further', async () => {
    await makeQueue(db, 'progress', { maxDeliveries: 3 });
    await pushMessages(db, 'progress', 'p', numbered('m', 3));
    const batch = await makeLease(db, 'progress', 'p');
    await expireLease(db, 'progress', 'p');
    await makeLease(db, 'progress', 'p');
    await scalar(db, ackByHashCall(batch.partitionId, ['m0'], null));
    await expireLease(db, 'progress', 'p');
    expect((await makeLease(db, 'progress', 'p')).texts).toEqual(['m1', 'm2']);
    expect(await optionColumns('progress')).toMatchObject({ lost_offset: 1, lost_end: 2, lost_count: 1 });
  });

  it('counts no refusal, however often', async () => {
    await makeQueue(db, 'refused', { maxDeliveries: 2, retryLimit: 99 });
    await pushMessages(db, 'refused', 'p', ['m0', 'm1']);
    for (let i = 0; i < 5; i++) {
      await makeLease(db, 'refused', 'p');
      await nack('refused', 'm0');
    }
    expect((await makeLease(db, 'refused', 'p')).texts).toEqual(['m0', 'm1']);
  });

  it('has no effect on auto-ack, nor when it is off', async () => {
    await makeQueue(db, 'auto lost', { maxDeliveries: 1 });
    await makeQueue(db, 'off', {});
    for (const queue of ['auto lost', 'off']) {
      await pushMessages(db, queue, 'p', ['m0', 'm1']);
      for (let i = 0; i < 3; i++) {
        await makeLease(db, queue, 'p', { budget: 1 });
        await expireLease(db, queue, 'p');
        if (queue === 'auto lost') break;
      }
      const options = queue === 'off' ? {} : { autoAck: true };
      expect((await popSpecific(db, queue, 'p', options)).batches).toMatchObject([{ texts: ['m0', 'm1'] }]);
    }
  });

  it('puts aside again when the broker died over it', async () => {
    await makeQueue(db, 'died', { maxDeliveries: 1 });
    await pushMessages(db, 'died', 'p', ['m0', 'm1']);
    await makeLease(db, 'died', 'p', { budget: 1 });
    for (let i = 0; i < 2; i++) {
      await expireLease(db, 'died', 'p');
      expect((await popSpecific(db, 'died', 'p')).batches).toMatchObject([{ attempt: 0, texts: ['m0'] }]);
    }
    await expireLease(db, 'died', 'p');
    expect(await drain('died', 'none')).toEqual(['aside m0', 'done m1']);
  });

  it('steps over the message where no dead letters are kept', async () => {
    await makeQueue(db, 'dropped', { maxDeliveries: 1, deadLetterQueue: false, dlqAfterMaxRetries: false });
    await pushMessages(db, 'dropped', 'p', ['m0', 'm1']);
    expect(await drain('dropped', 'm0', { budget: 1 })).toEqual(['lost m0', 'aside m0', 'done m1']);
    expect(await letters('dropped')).toEqual([]);
    expect(await consumerRow(db, 'dropped', 'p')).toMatchObject({ committed: 1, totalConsumed: 2 });
  });

  it('puts nothing aside that was not judged, nor for another worker', async () => {
    await makeQueue(db, 'judged', { maxDeliveries: 5 });
    await pushMessages(db, 'judged', 'p', ['m0', 'm1']);
    const { partitionId: pid } = await makeLease(db, 'judged', 'p');
    const put = (worker: string) =>
      scalar(db, [
        `select queen.log_put_aside_v1($1, 'g', $2, 0, null, 'm0', '1', null, null, null, false)`,
        [pid, worker],
      ]);
    expect(await put('w')).toEqual({ ok: false, error: 'not exhausted' });
    expect(await put('v')).toEqual({ ok: false, error: 'invalid or expired lease' });
    expect(await letters('judged')).toEqual([]);
  });
});

describe('a queue that is paused for pops', () => {
  const pause = (queue: string, pops: boolean) =>
    scalar(db, ['select queen.set_queue_pause_v1($1, $2, null)', [queue, pops]]);

  it('delivers nothing on any route, and everything once it is resumed', async () => {
    await makeQueue(db, 'paused', { namespace: 'paused ns' });
    await pushMessages(db, 'paused', 'p', ['m']);
    expect(await pause('paused', true)).toEqual({ queue: 'paused', paused: { pops: true, pushes: false } });
    expect(await claimTexts(db, 'paused', 'p')).toEqual([]);
    expect((await popSpecific(db, 'paused', 'p')).texts).toEqual([]);
    expect((await popWildcard(db, 'paused')).texts).toEqual([]);
    expect((await popDiscover(db, { namespace: 'paused ns' })).texts).toEqual([]);
    const list = await popList(db, 'paused', ['p']);
    expect([list.texts, list.verdicts]).toEqual([
      [],
      [expect.objectContaining({ state: 'leased', waitMs: 250 })],
    ]);

    await pause('paused', false);
    expect((await popDiscover(db, { namespace: 'paused ns' })).texts).toEqual(['m']);
  });

  it('registers groups all the same, so that one that wants only news misses none of the pause', async () => {
    await makeQueue(db, 'news', { namespace: 'news ns' });
    await pushMessages(db, 'news', 'p', ['old']);
    await pause('news', true);
    await popDiscover(db, { namespace: 'news ns' }, { mode: 'new' });
    await popWildcard(db, 'news', { group: 'h', mode: 'new' });
    await pushMessages(db, 'news', 'p', ['new']);
    await pause('news', false);
    expect((await popDiscover(db, { namespace: 'news ns' }, { mode: 'new' })).texts).toEqual(['new']);
    expect((await popWildcard(db, 'news', { group: 'h', mode: 'new' })).texts).toEqual(['new']);
  });

  it('is nothing that a discovery pop would wake for', async () => {
    await makeQueue(db, 'asleep', { namespace: 'asleep ns' });
    await popDiscover(db, { namespace: 'asleep ns' });
    await pushMessages(db, 'asleep', 'p', ['m']);
    const pending = () =>
      scalar<boolean>(db, [`select queen.log_discover_has_pending_v1('asleep ns', '', 'g')`, []]);
    expect(await pending()).toBe(true);
    await pause('asleep', true);
    expect(await pending()).toBe(false);
  });

  it('says what it was asked to, and that a queue is not there', async () => {
    expect(await pause('no such queue', true)).toEqual({ error: 'Queue not found' });
    await makeQueue(db, 'both');
    const set = (pops: boolean | null, pushes: boolean | null) =>
      scalar(db, ['select queen.set_queue_pause_v1($1, $2, $3)', ['both', pops, pushes]]);
    expect(await set(null, true)).toMatchObject({ paused: { pops: false, pushes: true } });
    expect(await set(true, null)).toMatchObject({ paused: { pops: true, pushes: true } });
    expect(await set(null, null)).toMatchObject({ paused: { pops: true, pushes: true } });
    expect(await set(false, false)).toMatchObject({ paused: { pops: false, pushes: false } });
  });
});

describe('priority', () => {
  const fill = async (namespace: string, priorities: Record<string, number>, partitions = 3) => {
    for (const [queue, priority] of Object.entries(priorities)) {
      await makeQueue(db, `${namespace}.${queue}`, { namespace, priority });
      for (const name of numbered('p', partitions))
        await pushMessages(db, `${namespace}.${queue}`, name, [queue]);
    }
  };

  it('decides which queue a discovery pop takes from first', async () => {
    await fill('ranks', { low: -1, high: 5, middle: 0 });
    const order: string[] = [];
    for (let i = 0; i < 9; i++) order.push(...(await popDiscover(db, { namespace: 'ranks' })).texts);
    expect(order).toEqual([...Array(3).fill('high'), ...Array(3).fill('middle'), ...Array(3).fill('low')]);
  });

  it('leaves queues of one priority to chance', async () => {
    await fill('even', { a: 2, b: 2 }, 30);
    const first = new Set<string>();
    for (let i = 0; i < 30; i++) first.add((await popDiscover(db, { namespace: 'even' })).texts[0]);
    expect(first).toEqual(new Set(['a', 'b']));
  });

  it('does not let a queue that holds its messages back keep others from being asked', async () => {
    await fill('held', { high: 9, low: 0 }, 80);
    await makeQueue(db, 'held.high', { delayedProcessing: 1000 });
    expect((await popDiscover(db, { namespace: 'held' })).texts).toEqual(['low']);
  });
});
