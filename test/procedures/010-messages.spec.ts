import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ackAtCall,
  ageLastWrite,
  ageSegments,
  dropBelow,
  expireLease,
  inTurn,
  makeLease,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionId,
  pushBacklog,
  pushMessages,
  QUEUE_MODE,
  run,
  TENANT,
  type Row,
} from '../support/make.js';
import { hashTransactionId } from '../../src/segment/transaction-hash.js';
import { makeLetter } from '../support/letters.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface Filter {
  queue?: string;
  partition?: string;
  namespace?: string;
  task?: string;
  status?: string;
  from?: string;
  to?: string;
  limit?: number;
  offset?: number;
  tenant?: string;
}

function list(filter: Filter): Promise<Row[]> {
  const { queue = null, partition = null, namespace = null, task = null, status = null } = filter;
  const { from = null, to = null, limit = 200, offset = 0, tenant = TENANT } = filter;
  const call = 'select * from queen.list_messages_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)';
  return run(db, [call, [queue, partition, namespace, task, status, from, to, limit, offset, tenant]]);
}

/** `partition/offset` of each, in the order of the list. */
const places = (rows: readonly Row[]) => rows.map((row) => `${String(row.r_partition)}/${String(row.r_off)}`);
const listed = async (filter: Filter) => places(await list(filter));

/** By the clock of the database. */
const ago = async (seconds: number) =>
  (await run(db, ['select (now() - make_interval(secs => $1))::text as at', [seconds]]))[0].at as string;

describe('the list of messages', () => {
  it('has one row per message, newest first, with its place and hash', async () => {
    await makeQueue(db, 'rows', { namespace: 'ns', task: 'tk' });
    await pushMessages(db, 'rows', 'p', ['a', 'b']);
    await pushMessages(db, 'rows', 'p', ['c']);
    const rows = await list({ queue: 'rows' });
    expect(places(rows)).toEqual(['p/2', 'p/1', 'p/0']);
    expect(rows[1]).toEqual({
      ...{ r_partition_id: await partitionId(db, 'rows', 'p'), r_queue: 'rows', r_partition: 'p' },
      ...{ r_namespace: 'ns', r_task: 'tk', r_priority: 0, r_base: '0', r_end: '1', r_off: '1' },
      ...{ r_created_at: expect.any(Date), r_hash: hashTransactionId('b'), r_status: 'pending' },
      ...{ r_consumed_by: 0, r_groups: 0, r_lease_expires_at: null },
    });
  });

  it('merges partitions by time and pages through them without a gap', async () => {
    for (const [partition, text] of [
      ...(['x', 'y', 'x', 'z', 'y', 'x'] as const).map((name, i) => [name, `m${i}`] as const),
    ]) {
      await pushMessages(db, 'merged', partition, [text]);
    }
    const all = ['x/2', 'y/1', 'z/0', 'x/1', 'y/0', 'x/0'];
    expect(await listed({ queue: 'merged' })).toEqual(all);
    for (const limit of [1, 2, 4]) {
      const pages = await inTurn([0, 1, 2, 3, 4, 5], (n) =>
        listed({ queue: 'merged', limit, offset: n * limit }),
      );
      expect(pages.flat()).toEqual(all);
    }
  });

  it('does not stop at a partition whose last write is noted a second late', async () => {
    // Two pushes within a second: the note stays at the first, the second is newer than all of the other partition.
    await pushMessages(db, 'late note', 'x', ['x0']);
    await pushMessages(db, 'late note', 'y', ['y0']);
    await pushMessages(db, 'late note', 'x', ['x1']);
    expect(await listed({ queue: 'late note', limit: 1 })).toEqual(['x/1']);
  });

  it('takes a page out of the middle of a long segment', async () => {
    await pushMessages(db, 'long', 'p', numbered('m', 500));
    expect(await listed({ queue: 'long', limit: 2, offset: 100 })).toEqual(['p/399', 'p/398']);
  });

  it('knows offsets beyond 32 bits', async () => {
    await pushMessages(db, 'wide', 'p', ['a']);
    await db.query('update queen.log_partitions set last_offset = 4294967295 where id = $1', [
      await partitionId(db, 'wide', 'p'),
    ]);
    await pushMessages(db, 'wide', 'p', ['b', 'c']);
    expect(await listed({ queue: 'wide' })).toEqual(['p/4294967297', 'p/4294967296', 'p/0']);
  });

  it('leaves out what retention took', async () => {
    await pushBacklog(db, 'retained', 'p', 4);
    await dropBelow(db, 'retained', 'p', 2);
    expect(await listed({ queue: 'retained' })).toEqual(['p/3', 'p/2']);
  });

  describe('by name', () => {
    beforeAll(async () => {
      await makeQueue(db, 'names 1', { namespace: 'n1', task: 't1' });
      await makeQueue(db, 'names 2', { namespace: 'n1', task: 't2' });
      await pushMessages(db, 'names 1', 'a', ['m']);
      await pushMessages(db, 'names 1', 'b', ['m']);
      await pushMessages(db, 'names 2', 'a', ['m']);
    });

    it.each<[string, Filter, string[]]>([
      ['queue', { queue: 'names 1' }, ['b/0', 'a/0']],
      ['queue and partition', { queue: 'names 1', partition: 'a' }, ['a/0']],
      ['namespace', { namespace: 'n1' }, ['a/0', 'b/0', 'a/0']],
      ['task', { task: 't2' }, ['a/0']],
      ['namespace and task', { namespace: 'n1', task: 't1' }, ['b/0', 'a/0']],
      ['nothing that exists', { queue: 'names' }, []],
      ['another tenant', { queue: 'names 1', tenant: OTHER_TENANT }, []],
    ])('%s', async (_, filter, expected) => {
      expect(await listed(filter)).toEqual(expected);
    });
  });

  describe('by time', () => {
    beforeAll(async () => {
      await pushBacklog(db, 'times', 'p', 4, 2);
      // Segments 0-1, 2-3, 4-5, 6-7: two hours, fifty minutes, ten minutes and no time ago.
      await ageSegments(db, 'times', 'p', 7200, { to: 0 });
      await ageSegments(db, 'times', 'p', 3000, { from: 2, to: 2 });
      await ageSegments(db, 'times', 'p', 600, { from: 4, to: 4 });
      await pushMessages(db, 'times', 'old', ['m']);
      await ageSegments(db, 'times', 'old', 7200);
      await ageLastWrite(db, 'times', 'old', 7200);
    });

    it('the last hour counts when nothing is said', async () => {
      expect(await listed({ queue: 'times' })).toEqual(['p/7', 'p/6', 'p/5', 'p/4', 'p/3', 'p/2']);
    });

    it('from an earlier time on', async () => {
      const from = await ago(10_000);
      expect(await listed({ queue: 'times', from, limit: 3, offset: 6 })).toEqual(
        expect.arrayContaining(['p/1', 'p/0', 'old/0']),
      );
      expect(await listed({ queue: 'times', partition: 'old', from })).toEqual(['old/0']);
    });

    it('up to the end of the minute of an earlier time', async () => {
      expect(await listed({ queue: 'times', to: await ago(1000) })).toEqual(['p/3', 'p/2']);
      const [{ at }] = await run(db, [
        `select date_trunc('minute', created_at)::text as at from queen.log_txns
         where partition_id = $1 and base_offset = 4`,
        [await partitionId(db, 'times', 'p')],
      ]);
      expect(await listed({ queue: 'times', to: at as string })).toEqual(['p/5', 'p/4', 'p/3', 'p/2']);
    });

    it('a range without messages is empty', async () => {
      expect(await listed({ queue: 'times', from: await ago(6000), to: await ago(4000) })).toEqual([]);
    });
  });

  describe('by status', () => {
    const statuses = async (queue: string) =>
      Object.fromEntries((await list({ queue })).map((row) => [row.r_off, row.r_status]));

    beforeAll(async () => {
      // Of queue mode: 0-3 done, 4-6 leased, the rest waits. 1, 5 and 8 are dead letters of some group.
      await pushBacklog(db, 'status', 'p', 5, 2);
      const first = await makeLease(db, 'status', 'p', { group: QUEUE_MODE, budget: 4 });
      await run(db, ackAtCall(first.partitionId, 3, { group: QUEUE_MODE }));
      await makeLease(db, 'status', 'p', { group: QUEUE_MODE, budget: 3 });
      const aside = `insert into queen.log_dlq (partition_id, consumer_group, "offset") values ($1, 'g', $2)`;
      for (const offset of [1, 5, 8, 8]) await db.query(aside, [first.partitionId, offset]);
    });

    it('each message has one', async () => {
      expect(await statuses('status')).toEqual({
        ...{ 0: 'completed', 1: 'dead_letter', 2: 'completed', 3: 'completed' },
        ...{ 4: 'processing', 5: 'dead_letter', 6: 'processing' },
        ...{ 7: 'pending', 8: 'dead_letter', 9: 'pending' },
      });
    });

    it.each([
      ['completed', ['p/3', 'p/2', 'p/0']],
      ['processing', ['p/6', 'p/4']],
      ['pending', ['p/9', 'p/7']],
      ['dead_letter', ['p/8', 'p/5', 'p/1']],
    ])('%s ones alone, and in pages', async (status, expected) => {
      expect(await listed({ queue: 'status', status })).toEqual(expected);
      expect(await listed({ queue: 'status', status, limit: 1, offset: 1 })).toEqual([expected[1]]);
    });

    it('a lease shows until when, and only while the message is in its batch', async () => {
      const rows = await list({ queue: 'status' });
      const leased = rows.filter(({ r_lease_expires_at }) => r_lease_expires_at !== null);
      expect(places(leased)).toEqual(['p/6', 'p/5', 'p/4']);
    });

    it('a lease that ran out leaves its messages pending', async () => {
      await pushMessages(db, 'expired', 'p', ['a']);
      await makeLease(db, 'expired', 'p', { group: QUEUE_MODE });
      expect(await statuses('expired')).toEqual({ 0: 'processing' });
      await expireLease(db, 'expired', 'p', QUEUE_MODE);
      expect(await statuses('expired')).toEqual({ 0: 'pending' });
      expect(await listed({ queue: 'expired', status: 'pending' })).toEqual(['p/0']);
      expect(await listed({ queue: 'expired', status: 'processing' })).toEqual([]);
    });

    it('named groups are counted beside it', async () => {
      await pushMessages(db, 'bus', 'p', ['a', 'b']);
      const { partitionId: pid } = await makeLease(db, 'bus', 'p', { group: 'g' });
      await makeLease(db, 'bus', 'p', { group: 'h' });
      await run(db, ackAtCall(pid, 0, { group: 'g' }));
      const counts = (await list({ queue: 'bus' })).map((row) => [row.r_consumed_by, row.r_groups]);
      expect(counts).toEqual([
        [0, 2],
        [1, 2],
      ]);
      expect(await statuses('bus')).toEqual({ 0: 'pending', 1: 'pending' });
    });
  });
});

it('the mode of partitions says who consumes them', async () => {
  await pushMessages(db, 'mode 1', 'p', ['a']);
  await pushMessages(db, 'mode 2', 'p', ['a']);
  await makeLease(db, 'mode 1', 'p', { group: 'g' });
  await makeLease(db, 'mode 1', 'p', { group: QUEUE_MODE });
  await makeLease(db, 'mode 2', 'p', { group: 'g' });
  await makeLease(db, 'mode 2', 'p', { group: 'h' });
  const mode = async (...queues: string[]) => {
    const pids = await inTurn(queues, (queue) => partitionId(db, queue, 'p'));
    const [row] = await run(db, ['select * from queen.log_group_mode_v1($1)', [pids]]);
    return [row.r_queue_mode, row.r_groups];
  };
  expect(await mode()).toEqual([false, 0]);
  expect(await mode('mode 1')).toEqual([true, 1]);
  expect(await mode('mode 1', 'mode 2')).toEqual([true, 2]);
});

describe('one message', () => {
  const get = async (queue: string, text: string, tenant = TENANT): Promise<Row | undefined> => {
    const call = 'select * from queen.get_message_v1($1, $2, $3, $4)';
    const pid = await partitionId(db, queue, 'p');
    return (await run(db, [call, [pid, text, hashTransactionId(text), tenant]]))[0];
  };

  it('comes with its segment, its queue and its consumers', async () => {
    await makeQueue(db, 'one', { namespace: 'ns', task: 'tk', leaseTime: 30, retryLimit: 7 });
    await pushMessages(db, 'one', 'p', ['a', 'b', 'c']);
    expect(await get('one', 'b')).toMatchObject({
      ...{ r_queue: 'one', r_partition: 'p', r_namespace: 'ns', r_task: 'tk', r_lease_time: 30 },
      ...{ r_retry_limit: 7, r_base: '0', r_end: '2', r_off: '1', r_created_at: expect.any(Date) },
      ...{ r_blob: expect.any(Buffer), r_letter_id: null, r_status: 'pending', r_lease_expires_at: null },
      ...{ r_queue_mode: false, r_group_count: 0, r_groups: [] },
    });
  });

  it.each([
    ['is not there', 'z', TENANT],
    ['belongs to another tenant', 'a', OTHER_TENANT],
  ])('that %s has no row', async (what, text, tenant) => {
    await pushMessages(db, `absent ${what}`, 'p', ['a']);
    expect(await get(`absent ${what}`, text, tenant)).toBeUndefined();
  });

  it('of an id that occurs twice is the newer one', async () => {
    await makeQueue(db, 'again', { dedupWindowSeconds: 0 });
    await pushMessages(db, 'again', 'p', ['a', 'b']);
    await pushMessages(db, 'again', 'p', ['a']);
    expect((await get('again', 'a'))?.r_off).toBe('2');
  });

  it('is completed when every named group has passed it', async () => {
    await pushMessages(db, 'groups', 'p', ['a']);
    const { partitionId: pid } = await makeLease(db, 'groups', 'p', { group: 'g' });
    await makeLease(db, 'groups', 'p', { group: 'h' });
    await run(db, ackAtCall(pid, 0, { group: 'g' }));
    const zoned = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
    expect(await get('groups', 'a')).toMatchObject({
      r_status: 'processing',
      r_lease_expires_at: expect.any(Date),
      r_group_count: 2,
      r_groups: [
        { name: 'g', group: 'g', consumed: true, leaseExpiresAt: null },
        { name: 'h', group: 'h', consumed: false, leaseExpiresAt: zoned },
      ],
    });
    await run(db, ackAtCall(pid, 0, { group: 'h' }));
    expect(await get('groups', 'a')).toMatchObject({ r_status: 'completed', r_lease_expires_at: null });
  });

  it('without named groups is completed when queue mode has passed it', async () => {
    await pushMessages(db, 'queue mode', 'p', ['a', 'b']);
    const { partitionId: pid } = await makeLease(db, 'queue mode', 'p', { group: QUEUE_MODE, budget: 1 });
    expect((await get('queue mode', 'a'))?.r_status).toBe('processing');
    expect((await get('queue mode', 'b'))?.r_status).toBe('pending');
    await run(db, ackAtCall(pid, 0, { group: QUEUE_MODE }));
    expect(await get('queue mode', 'a')).toMatchObject({
      ...{ r_status: 'completed', r_queue_mode: true, r_group_count: 0, r_groups: [] },
    });
  });

  it('that was put aside shows why, and is still read from the log', async () => {
    await makeLetter(db, 'aside', 'p', { text: 'a', error: 'why', payload: '{"of":"letter"}' });
    expect(await get('aside', 'a')).toMatchObject({
      ...{ r_status: 'dead_letter', r_off: '0', r_blob: expect.any(Buffer) },
      ...{ r_letter_error: 'why', r_letter_retry_count: 0, r_letter_payload: '{"of":"letter"}' },
    });
  });

  it('that the log lost is found through its dead letter', async () => {
    await makeLetter(db, 'letter only', 'p', { text: 'a', headers: '{"h":"1"}' });
    await pushMessages(db, 'letter only', 'p', ['b']);
    await dropBelow(db, 'letter only', 'p', 1);
    expect(await get('letter only', 'a')).toMatchObject({
      ...{ r_status: 'dead_letter', r_off: '0', r_blob: null, r_created_at: null },
      ...{ r_letter_payload: '{"n":1}', r_letter_headers: '{"h":"1"}' },
    });
  });

  it('pushed anew under the id of a dead letter is the live one', async () => {
    await makeQueue(db, 'anew', { dedupWindowSeconds: 0 });
    await makeLetter(db, 'anew', 'p', { text: 'a' });
    await pushMessages(db, 'anew', 'p', ['a']);
    expect(await get('anew', 'a')).toMatchObject({ r_off: '1', r_status: 'pending', r_letter_id: null });
  });
});
