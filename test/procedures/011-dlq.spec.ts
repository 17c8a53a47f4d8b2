import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  consumerRow,
  countRows,
  dlqHeadCall,
  inTurn,
  makeLease,
  makeQueue,
  OTHER_TENANT,
  partitionRow,
  pushMessages,
  run,
  scalar,
  segmentRows,
  TENANT,
  type DeadLetterInput,
  type Row,
} from '../support/make.js';
import { listLettersCall, makeLetter, moveCall, type LetterFilter, type Moved } from '../support/letters.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

const list = (filter: LetterFilter = {}) => run(db, listLettersCall(filter));
const ids = (rows: readonly Row[]) => rows.map(({ r_id }) => r_id as string);
const move = (id: string, queue: string, partition: string, tenant?: string) =>
  scalar<Moved>(db, moveCall(id, queue, partition, tenant));

/** With all six digits, which a Date has not. */
const failedAt = (id: string) =>
  scalar<string>(db, ['select failed_at::text from queen.log_dlq where id = $1', [id]]);

describe('putting a message aside', () => {
  const extras: DeadLetterInput = {
    headers: '{"traceparent": "00-1",  "a":"\\u0000"}',
    traceId: '01890000-0000-7000-8000-000000000002',
    producerSub: 'someone',
    encrypted: true,
  };

  it('keeps headers, trace id, producer and the mark of an encrypted payload', async () => {
    const id = await makeLetter(db, 'kept', 'p', { ...extras, payload: '{"encrypted":"…"}' });
    const [letter] = await run(db, ['select * from queen.log_dlq where id = $1', [id]]);
    expect(letter).toMatchObject({
      headers: extras.headers,
      trace_id: extras.traceId,
      producer_sub: 'someone',
      encrypted: true,
      payload: '{"encrypted":"…"}',
    });
  });

  it('works without them, as a broker of the version before calls it', async () => {
    await pushMessages(db, 'old caller', 'p', ['a']);
    const { partitionId } = await makeLease(db, 'old caller', 'p');
    const [text, values] = dlqHeadCall(partitionId, 0);
    const call = text.replace('v2', 'v1').replace(', $9, $10, $11, $12', '');
    expect(await scalar(db, [call, values.slice(0, 8)])).toEqual({ ok: true, id: expect.any(String) });
    const [letter] = await run(db, ['select * from queen.log_dlq where partition_id = $1', [partitionId]]);
    expect(letter).toMatchObject({ headers: null, trace_id: null, producer_sub: null, encrypted: false });
  });
});

describe('the list of dead letters', () => {
  it('is newest first, in pages, and a piece goes on behind a letter', async () => {
    const made = await inTurn([1, 2, 3, 4, 5], (n) => makeLetter(db, 'pages', `p${n}`));
    made.reverse();
    expect(ids(await list({ queue: 'pages' }))).toEqual(made);
    expect(ids(await list({ queue: 'pages', limit: 2, offset: 1 }))).toEqual(made.slice(1, 3));
    const before = { beforeAt: await failedAt(made[1]), beforeId: made[1] };
    expect(ids(await list({ queue: 'pages', ...before, limit: 2 }))).toEqual(made.slice(2, 4));
    expect(ids(await list({ queue: 'pages', offset: 5 }))).toEqual([]);
  });

  it('ends a piece with the letter that fills it', async () => {
    await inTurn([1, 2, 3], (n) => makeLetter(db, 'bytes', `p${n}`, { payload: '"12345678"' }));
    expect(await list({ queue: 'bytes', bytesMax: 1 })).toHaveLength(1);
    expect(await list({ queue: 'bytes', bytesMax: 11 })).toHaveLength(2);
    expect(await list({ queue: 'bytes', bytesMax: 31 })).toHaveLength(3);
  });

  it('has every field of a letter', async () => {
    const id = await makeLetter(db, 'fields', 'p', {
      ...{ group: 'g1', text: 't', payload: '{"a": 1.0}', error: 'why', headers: '{"h":"1"}' },
      ...{ messageId: '01890000-0000-7000-8000-000000000001', producerSub: 's' },
      ...{ traceId: '01890000-0000-7000-8000-000000000002', encrypted: true },
    });
    const { id: partitionId } = (await partitionRow(db, 'fields', 'p'))!;
    expect(await list({ queue: 'fields' })).toEqual([
      {
        r_id: id,
        r_failed_at: expect.any(Date),
        r_partition_id: partitionId,
        r_queue: 'fields',
        r_partition: 'p',
        r_group: 'g1',
        r_offset: '0',
        r_message_id: '01890000-0000-7000-8000-000000000001',
        r_transaction_id: 't',
        r_error: 'why',
        r_retry_count: 0,
        r_payload: '{"a": 1.0}',
        r_headers: '{"h":"1"}',
        r_trace_id: '01890000-0000-7000-8000-000000000002',
        r_producer_sub: 's',
        r_encrypted: true,
      },
    ]);
  });

  describe('by filter', () => {
    let letters: Record<'a' | 'b' | 'c', string>;
    beforeAll(async () => {
      letters = {
        a: await makeLetter(db, 'filter 1', 'p1', { group: 'g' }),
        b: await makeLetter(db, 'filter 1', 'p2', { group: 'h' }),
        c: await makeLetter(db, 'filter 2', 'p1', { group: 'h' }),
      };
      const age = `update queen.log_dlq set failed_at = $2 where id = $1`;
      await db.query(age, [letters.a, '2020-01-01T00:00:00Z']);
      await db.query(age, [letters.b, '2020-01-02T00:00:00Z']);
      await db.query(age, [letters.c, '2020-01-03T00:00:00Z']);
    });

    it.each<[string, LetterFilter, ('a' | 'b' | 'c')[]]>([
      ['queue', { queue: 'filter 1' }, ['b', 'a']],
      ['queue and partition', { queue: 'filter 1', partition: 'p1' }, ['a']],
      ['partition', { partition: 'p1', to: '2020-02-01' }, ['c', 'a']],
      ['group', { group: 'h', to: '2020-02-01' }, ['c', 'b']],
      ['time: from counts, to does not', { from: '2020-01-01', to: '2020-01-03' }, ['b', 'a']],
      [
        'one microsecond more',
        { from: '2020-01-01T00:00:00.000001Z', to: '2020-01-03T00:00:00.000001Z' },
        ['c', 'b'],
      ],
      ['a queue that is not there', { queue: 'filter' }, []],
      ['another tenant', { queue: 'filter 1', tenant: OTHER_TENANT }, []],
    ])('%s', async (_, filter, expected) => {
      expect(ids(await list(filter))).toEqual(expected.map((name) => letters[name]));
    });
  });

  it('does not show letters of a queue that was deleted behind our back', async () => {
    await makeLetter(db, 'vanished', 'p');
    await db.query(`delete from queen.queues where name = 'vanished'`);
    expect(await list({ queue: 'vanished' })).toEqual([]);
  });
});

describe('moving a dead letter', () => {
  it('pushes its message at the tail and deletes the letter', async () => {
    const id = await makeLetter(db, 'move', 'p');
    await pushMessages(db, 'move', 'p', ['later']);
    const { id: partitionId } = (await partitionRow(db, 'move', 'p'))!;
    expect(await move(id, 'move', 'p')).toEqual({ result: 'moved', partitionId, baseOffset: 2 });
    expect(await countRows(db, 'log_dlq', 'id = $1', [id])).toBe(0);
    expect((await segmentRows(db, 'move', 'p')).at(-1)).toMatchObject({ base: 2, end: 2 });
    expect((await segmentRows(db, 'move', 'p', 'log_txns')).at(-1)).toMatchObject({ base: 2, end: 2 });
  });

  it('a second time finds it gone, and writes nothing', async () => {
    const id = await makeLetter(db, 'twice', 'p');
    await move(id, 'twice', 'p');
    expect(await move(id, 'twice', 'p')).toEqual({ result: 'gone' });
    expect(await move(id, 'never made', 'p')).toEqual({ result: 'gone' });
    expect((await partitionRow(db, 'twice', 'p'))?.lastOffset).toBe(1);
    expect(await countRows(db, 'queues', `name = 'never made'`)).toBe(0);
  });

  it('leaves the letter that another group has of the same message', async () => {
    const first = await makeLetter(db, 'both', 'p');
    await makeLease(db, 'both', 'p', { group: 'h', worker: 'v' });
    const { id: partitionId } = (await partitionRow(db, 'both', 'p'))!;
    const call = dlqHeadCall(partitionId, 0, { group: 'h', worker: 'v' });
    const { id: second } = await scalar<{ id: string }>(db, call);
    await move(first, 'both', 'p');
    expect(ids(await list({ queue: 'both' }))).toEqual([second]);
  });

  it('goes to a queue that is not there yet', async () => {
    const id = await makeLetter(db, 'from', 'p');
    expect(await move(id, 'to', 'elsewhere')).toMatchObject({ result: 'moved', baseOffset: 0 });
    expect((await partitionRow(db, 'to', 'elsewhere'))?.lastOffset).toBe(0);
  });

  it('is a duplicate where a client pushed that id already; the letter stays', async () => {
    const id = await makeLetter(db, 'known', 'p');
    await pushMessages(db, 'known', 'p', [`dlq:${id}`]);
    expect(await move(id, 'known', 'p')).toEqual({ result: 'duplicate' });
    expect(await countRows(db, 'log_dlq', 'id = $1', [id])).toBe(1);
    expect((await partitionRow(db, 'known', 'p'))?.lastOffset).toBe(1);
  });

  it('looks for no duplicate in a queue without a dedup window', async () => {
    await makeQueue(db, 'no window', { dedupWindowSeconds: 0 });
    const id = await makeLetter(db, 'no window', 'p');
    await pushMessages(db, 'no window', 'p', [`dlq:${id}`]);
    expect(await move(id, 'no window', 'p')).toMatchObject({ result: 'moved' });
  });

  it('waits for the end of push maintenance', async () => {
    const id = await makeLetter(db, 'maintained', 'p');
    const set = `insert into queen.system_state (key, value) values ('maintenance_mode', $1)
      on conflict (key) do update set value = excluded.value`;
    await db.query(set, ['{"enabled":true}']);
    expect(await move(id, 'maintained', 'p')).toEqual({ result: 'maintenance' });
    await db.query(set, ['{"enabled":false}']);
    expect(await move(id, 'maintained', 'p')).toMatchObject({ result: 'moved' });
  });

  it('finds nothing of another tenant', async () => {
    const id = await makeLetter(db, 'foreign', 'p');
    expect(await move(id, 'foreign', 'p', OTHER_TENANT)).toEqual({ result: 'gone' });
    const letter = 'select * from queen.log_dlq_letter_v1($1, $2)';
    expect(await run(db, [letter, [id, OTHER_TENANT]])).toEqual([]);
    expect(await run(db, [letter, [id, TENANT]])).toHaveLength(1);
  });
});

describe('a purge', () => {
  const purge = async (filter: LetterFilter, limit = 100) => {
    const call = 'select * from queen.log_dlq_purge_v1($1, $2, $3, $4, $5, $6, $7)';
    const { queue = null, partition = null, group = null, from = null, to = null, tenant = TENANT } = filter;
    const [row] = await run(db, [call, [queue, partition, group, from, to, limit, tenant]]);
    return { deleted: row.r_deleted as number, until: row.r_until as Date };
  };

  it('deletes the oldest letters of its filter, as many as it may', async () => {
    const made = await inTurn([1, 2, 3], (n) => makeLetter(db, 'purged', `p${n}`));
    const other = await makeLetter(db, 'not purged', 'p');
    expect((await purge({ queue: 'purged' }, 2)).deleted).toBe(2);
    expect(ids(await list({ queue: 'purged' }))).toEqual([made[2]]);
    expect((await purge({ queue: 'purged' })).deleted).toBe(1);
    expect((await purge({ queue: 'purged' })).deleted).toBe(0);
    expect(ids(await list({ queue: 'not purged' }))).toEqual([other]);
  });

  it('leaves what fails after its end', async () => {
    await makeLetter(db, 'end', 'p1');
    const { until } = await purge({ queue: 'end' });
    const later = await makeLetter(db, 'end', 'p2');
    expect((await purge({ queue: 'end', to: until })).deleted).toBe(0);
    expect(ids(await list({ queue: 'end' }))).toEqual([later]);
  });

  it('of another tenant deletes nothing', async () => {
    await makeLetter(db, 'purge foreign', 'p');
    expect((await purge({ queue: 'purge foreign', tenant: OTHER_TENANT })).deleted).toBe(0);
  });
});

describe('deleting by address', () => {
  const remove = (pid: string, text: string, tenant = TENANT) =>
    scalar<Row>(db, ['select queen.delete_message_v1($1, $2, $3)', [pid, text, tenant]]);

  it('takes the letters of all groups, and no others', async () => {
    await makeLetter(db, 'address', 'p', { text: 'x' });
    await makeLetter(db, 'address', 'p', { text: 'y' });
    await makeLetter(db, 'address', 'p', { text: 'x', group: 'h' });
    const { id: pid } = (await partitionRow(db, 'address', 'p'))!;
    expect(await remove(pid, 'x', OTHER_TENANT)).toMatchObject({ success: false });
    expect(await remove(pid, 'x')).toEqual({
      ...{ success: true, partitionId: pid, transactionId: 'x', message: 'Message deleted successfully' },
    });
    expect((await list({ queue: 'address' })).map(({ r_transaction_id }) => r_transaction_id)).toEqual(['y']);
    expect(await remove(pid, 'x')).toMatchObject({
      ...{ success: false, partitionId: pid, transactionId: 'x', error: 'Message not found' },
    });
  });

  it('never takes a message out of the log', async () => {
    await pushMessages(db, 'log', 'p', ['live']);
    const { id: pid } = (await partitionRow(db, 'log', 'p'))!;
    expect(await remove(pid, 'live')).toMatchObject({ success: false });
    expect(await segmentRows(db, 'log', 'p')).toHaveLength(1);
  });
});

it('the newest letter of an address is the one that failed last', async () => {
  await makeLetter(db, 'newest', 'p', { text: 'x' });
  const last = await makeLetter(db, 'newest', 'p', { text: 'x', group: 'h' });
  const { id: pid } = (await partitionRow(db, 'newest', 'p'))!;
  const newest = (tenant: string, text = 'x') =>
    scalar(db, ['select queen.log_dlq_newest_v1($1, $2, $3)', [pid, text, tenant]]);
  expect(await newest(TENANT)).toBe(last);
  expect(await newest(TENANT, 'z')).toBeNull();
  expect(await newest(OTHER_TENANT)).toBeNull();
});

it('a count says how many letters have no payload, and between which times they failed', async () => {
  await makeLetter(db, 'counted', 'p1', { payload: null });
  const middle = await makeLetter(db, 'counted', 'p2');
  await makeLetter(db, 'counted', 'p3');
  const summary = async (afterAt: unknown, afterId: unknown) => {
    const call = 'select * from queen.log_dlq_summary_v1($1, null, null, null, null, $2, $3, $4)';
    return (await run(db, [call, ['counted', afterAt, afterId, TENANT]]))[0];
  };
  expect(await summary(null, null)).toMatchObject({ r_matched: '3', r_without_payload: '1' });
  expect(await summary(await failedAt(middle), middle)).toMatchObject({
    r_matched: '1',
    r_without_payload: '0',
  });
  const { r_oldest, r_newest } = await summary(null, null);
  expect((r_oldest as Date) < (r_newest as Date)).toBe(true);
});

it('a group goes on behind the letter it made, and its cursor never comes back for the replay', async () => {
  const id = await makeLetter(db, 'cursor', 'p');
  await move(id, 'cursor', 'p');
  expect((await consumerRow(db, 'cursor', 'p'))?.committed).toBe(0);
  expect((await makeLease(db, 'cursor', 'p', { worker: 'w2' })).slices[0].base).toBe(1);
});
