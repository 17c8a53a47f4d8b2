import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  ageSegments,
  consumerRow,
  countRows,
  dropBelow,
  inTurn,
  makePartitions,
  makeQueue,
  numbered,
  OTHER_TENANT,
  partitionId,
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

/** Three segments of two messages, 300, 200 and 100 seconds old. */
async function threeAges(queue: string, partition = 'p'): Promise<void> {
  await inTurn([0, 1, 2], async (k) => {
    await pushMessages(db, queue, partition, numbered('m', 2, 2 * k));
    await ageSegments(db, queue, partition, 300 - 100 * k, { from: 2 * k });
  });
}

/** A point in time so many seconds ago, as a client would write it. */
const ago = (seconds: number) =>
  scalar<string>(db, [
    `select to_char((clock_timestamp() - make_interval(secs => $1)) at time zone 'UTC',
                    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    [seconds],
  ]);

interface Marker {
  subscription_mode: string;
  seconds_ago: number;
}

async function marker(queueId: string, group: string): Promise<Marker | undefined> {
  const select = `
    select subscription_mode, extract(epoch from clock_timestamp() - subscription_timestamp)::float8 as seconds_ago
    from queen.consumer_groups_metadata where queue_id = $1 and consumer_group = $2`;
  return (await run(db, [select, [queueId, group]]))[0] as unknown as Marker | undefined;
}

describe('the text of a timestamp', () => {
  it.each<[string, string | null]>([
    ['2024-03-01T12:00:00Z', '2024-03-01 12:00:00+00'],
    ['2024-03-01T12:00:00+02:00', '2024-03-01 10:00:00+00'],
    ['2024-03-01T12:00:00.123456Z', '2024-03-01 12:00:00.123456+00'],
    ['2024-03-01T12:00:00', '2024-03-01 12:00:00+00'],
    ['2024-03-01', '2024-03-01 00:00:00+00'],
    ['  2024-03-01 12:00', '2024-03-01 12:00:00+00'],
    ['2024-02-30T00:00:00Z', null],
    ['2024-03-01T25:00:00Z', null],
    ['now', null],
    ['today', null],
    ['infinity', null],
    ['yesterday', null],
    ['', null],
    ['1709294400', null],
    ['03/01/2024', null],
    [`2024-03-01'; drop table queen.queues; --`, null],
  ])('%s means %s', async (text, expected) => {
    const client = await db.connect();
    await client.query(`set timezone = 'Asia/Tokyo'`);
    const parsed = await scalar<string | null>(client, [
      `select (queen.log_parse_timestamp_v1($1) at time zone 'UTC')::text || '+00'`,
      [text],
    ]);
    expect(parsed).toBe(expected);
    await client.end();
  });

  it('that is missing means nothing', async () => {
    expect(await scalar(db, ['select queen.log_parse_timestamp_v1(null)', []])).toBeNull();
  });
});

describe('what a registration means', () => {
  it.each<[string, string | null, string | null, string, number | null]>([
    // group, subscriptionMode, subscriptionFrom → mode, seconds ago (null: the epoch)
    [QUEUE_MODE, 'new', '', 'all', null],
    [QUEUE_MODE, 'all', 'now', 'all', null],
    [QUEUE_MODE, 'all', '2024-03-01T00:00:00Z', 'all', null],
    ['g', 'all', '', 'all', null],
    ['g', 'all', null, 'all', null],
    ['g', null, null, 'all', null],
    ['g', 'something', '', 'all', null],
    ['g', 'new', '', 'new', 0],
    ['g', 'all', 'now', 'new', 0],
    ['g', 'all', 'no timestamp', 'new', 0],
    ['g', 'all', '2024-13-01T00:00:00Z', 'new', 0],
  ])('group %s, mode %s, from %s is %s', async (group, mode, from, expectedMode, secondsAgo) => {
    const [row] = await run(db, [
      `select r_mode, r_at = 'epoch' as epoch, extract(epoch from clock_timestamp() - r_at)::float8 as seconds
       from queen.log_registration_v1($1, $2, $3)`,
      [group, mode, from],
    ]);
    expect([row.r_mode, row.epoch]).toEqual([expectedMode, secondsAgo === null]);
    if (secondsAgo !== null) expect(row.seconds).toBeLessThan(5);
  });

  it.each(['all', 'new'])('with a timestamp is that time, whatever the mode (%s)', async (mode) => {
    const [row] = await run(db, [
      `select r_mode, r_at::text from queen.log_registration_v1('g', $1, '2024-03-01T00:00:00Z')`,
      [mode],
    ]);
    expect(row.r_mode).toBe('timestamp');
    expect(new Date(row.r_at as string).toISOString()).toBe('2024-03-01T00:00:00.000Z');
  });
});

describe('the cursor before a point in time', () => {
  const before = async (seconds: number, logStart = 0) => {
    const call = `select queen.log_cursor_before_v1($1, $2, 5, clock_timestamp() - make_interval(secs => $3))`;
    return Number(await scalar(db, [call, [await partitionId(db, 'ages', 'p'), logStart, seconds]]));
  };

  it('is just before the first segment from then on, else at the end', async () => {
    await threeAges('ages');
    expect(await inTurn([1000, 250, 150, 50], (seconds) => before(seconds))).toEqual([-1, 1, 3, 5]);
  });

  it('is never before what retention has left', async () => {
    expect(await before(1000, 2)).toBe(1);
    expect(await before(1000, 4)).toBe(3);
  });
});

describe('the first cursor of a group', () => {
  const first = async (queue: string, group: string, mode: string, from: string) => {
    const call =
      'select queen.log_first_cursor_v1(p.id, p.queue_id, $3, p.log_start, p.last_offset, $4, $5, $6)';
    return Number(
      await scalar(db, [
        `${call} from queen.log_partitions p join queen.queues q on q.id = p.queue_id
         where q.name = $1 and p.name = $2`,
        [queue, 'p', group, mode, from, TENANT],
      ]),
    );
  };
  const register = async (queue: string, group: string, secondsAgo: number) => {
    await db.query(
      `insert into queen.consumer_groups_metadata
         (tenant_id, consumer_group, queue_id, subscription_mode, subscription_timestamp)
       select tenant_id, $2, id, 'timestamp', clock_timestamp() - make_interval(secs => $3)
       from queen.queues where name = $1`,
      [queue, group, secondsAgo],
    );
  };

  it.each<[string, number | null, string, number | null, number]>([
    // what, registered … seconds ago, mode, from … seconds ago → cursor
    ['is at its subscription', 250, 'all', null, 1],
    ['is at its subscription, whatever the pop wishes', 250, 'new', 50, 1],
    ['is at the end when nothing came since its subscription', 50, 'all', null, 5],
    ['is where the pop wishes, without a subscription', null, 'all', 150, 3],
    ['is at the end when nothing came since the time wished', null, 'all', 50, 5],
    ['is at the end for a pop that wants only what is new', null, 'new', null, 5],
    ['is before everything otherwise', null, 'all', null, -1],
  ])('%s', async (what, registered, mode, from, expected) => {
    const queue = `first ${what}`;
    await threeAges(queue);
    if (registered !== null) await register(queue, 'g', registered);
    expect(await first(queue, 'g', mode, from === null ? '' : await ago(from))).toBe(expected);
  });

  it('is at the end for "now", and before everything for a time that cannot be read', async () => {
    await threeAges('wishes');
    expect(await first('wishes', 'g', 'all', 'now')).toBe(5);
    expect(await first('wishes', 'g', 'all', 'soon')).toBe(-1);
    expect(await first('wishes', 'g', 'new', 'soon')).toBe(5);
  });

  it('is before everything in queue mode, whatever is wished or registered', async () => {
    await threeAges('sentinel');
    await register('sentinel', QUEUE_MODE, 50);
    expect(await first('sentinel', QUEUE_MODE, 'new', 'now')).toBe(-1);
  });
});

describe('registering a group', () => {
  const register = (queueId: string, group: string, mode: string, secondsAgo: number | null) =>
    db.query(
      `select queen.log_register_group_v1($1, $2, $3,
         coalesce(clock_timestamp() - make_interval(secs => $4), 'epoch'), $5)`,
      [queueId, group, mode, secondsAgo, TENANT],
    );

  it.each<[string, number | null, number[]]>([
    // p: three ages; cut: the same without its first segment; none: no segment
    ['all', null, [-1, 1, -1]],
    ['new', 0, [5, 5, -1]],
    ['timestamp', 150, [3, 3, -1]],
    ['timestamp', 1000, [-1, 1, -1]],
  ])('in mode %s (%s s ago) seeds every partition', async (mode, secondsAgo, expected) => {
    const queue = `seeded ${mode} ${secondsAgo}`;
    const queueId = await makeQueue(db, queue);
    await threeAges(queue, 'p');
    await threeAges(queue, 'cut');
    await dropBelow(db, queue, 'cut', 2);
    await makePartitions(db, queueId, ['none']);
    await register(queueId, 'g', mode, secondsAgo);

    const cursors = await inTurn(['p', 'cut', 'none'], (name) => consumerRow(db, queue, name));
    expect(cursors.map((row) => row?.committed)).toEqual(expected);
    expect(cursors[0]).toMatchObject({ workerId: null, batchEnd: null, attemptCount: 0, totalConsumed: 0 });
    expect((await marker(queueId, 'g'))?.subscription_mode).toBe(mode);
    expect(await countRows(db, 'consumer_watermarks', 'queue_id = $1', [queueId])).toBe(1);
  });

  it('a second time changes neither its subscription nor a cursor', async () => {
    const queueId = await makeQueue(db, 'again');
    await threeAges('again');
    await register(queueId, 'g', 'all', null);
    await pushMessages(db, 'again', 'later', ['x']);
    await register(queueId, 'g', 'new', 0);
    expect((await marker(queueId, 'g'))?.subscription_mode).toBe('all');
    expect((await consumerRow(db, 'again', 'p'))?.committed).toBe(-1);
    expect(await consumerRow(db, 'again', 'later')).toBeNull();
  });

  it('never moves a cursor that exists', async () => {
    const queueId = await makeQueue(db, 'existing');
    await threeAges('existing');
    const pid = await partitionId(db, 'existing', 'p');
    await db.query(
      `insert into queen.log_consumers (partition_id, consumer_group, committed) values ($1, 'g', 3)`,
      [pid],
    );
    await register(queueId, 'g', 'all', null);
    expect((await consumerRow(db, 'existing', 'p'))?.committed).toBe(3);
  });

  it('with a queue that does not exist does nothing', async () => {
    const nowhere = '00000000-0000-0000-0000-0000000000ff';
    await register(nowhere, 'lost', 'all', null);
    expect(await countRows(db, 'consumer_groups_metadata', `consumer_group = 'lost'`)).toBe(0);
  });

  it('is known afterwards, to its own tenant', async () => {
    const seeded = (queue: string, group: string, tenant = TENANT) =>
      scalar<boolean>(db, ['select queen.log_group_seeded_v1($1, $2, $3)', [queue, group, tenant]]);
    const queueId = await makeQueue(db, 'seen');
    expect(await seeded('seen', 'g')).toBe(false);
    await register(queueId, 'g', 'all', null);
    expect(await seeded('seen', 'g')).toBe(true);
    expect(await seeded('seen', 'h')).toBe(false);
    expect(await seeded('seen', 'g', OTHER_TENANT)).toBe(false);
    expect(await seeded('nowhere', 'g')).toBe(false);
  });
});

describe('creating a missing cursor', () => {
  const create = (pid: string, queueId: string, last: number) =>
    scalar<boolean>(db, [
      `select queen.log_create_cursor_v1($1, $2, 'g', 0, $3, 'new', '', $4)`,
      [pid, queueId, last, TENANT],
    ]);

  it('seeds it, and leaves one alone that has come to exist meanwhile', async () => {
    const queueId = await makeQueue(db, 'creating');
    await pushMessages(db, 'creating', 'p', ['a', 'b']);
    const pid = await partitionId(db, 'creating', 'p');
    expect(await create(pid, queueId, 1)).toBe(true);
    expect(await consumerRow(db, 'creating', 'p')).toMatchObject({ committed: 1, workerId: null });
    expect(await create(pid, queueId, 7)).toBe(true);
    expect((await consumerRow(db, 'creating', 'p'))?.committed).toBe(1);
  });

  it('on a partition that is gone gives up without an error', async () => {
    const queueId = await makeQueue(db, 'deleted under it');
    expect(await create('00000000-0000-0000-0000-0000000000ff', queueId, 1)).toBe(false);
  });
});

describe('an empty scan', () => {
  const secondsAgo = (column: string) =>
    `case when ${column} = 'epoch' then null else extract(epoch from clock_timestamp() - ${column})::float8 end`;

  const watermark = async (queueId: string) => {
    const select = `select ${secondsAgo('last_empty_scan_at')} as floor, ${secondsAgo('updated_at')} as checked
      from queen.consumer_watermarks where queue_id = $1 and consumer_group = 'g'`;
    return (await run(db, [select, [queueId]]))[0] as { floor: number | null; checked: number | null };
  };
  const note = (...queueIds: string[]) =>
    db.query(`select queen.log_note_empty_scan_v1($1, 'g')`, [queueIds]);

  /** A registered queue whose watermark says: floor and last check so many seconds ago (null: epoch). */
  const registered = async (queue: string, floor: number | null, checked: number | null) => {
    const queueId = await makeQueue(db, queue);
    await db.query(
      `insert into queen.consumer_watermarks (queue_id, consumer_group, last_empty_scan_at, updated_at)
       values ($1, 'g', coalesce(clock_timestamp() - make_interval(secs => $2), 'epoch'),
                        coalesce(clock_timestamp() - make_interval(secs => $3), 'epoch'))`,
      [queueId, floor, checked],
    );
    return queueId;
  };

  it('moves the floor to now when nothing is pending', async () => {
    const queueId = await registered('truly empty', null, null);
    await note(queueId);
    const { floor, checked } = await watermark(queueId);
    expect(floor).toBeLessThan(5);
    expect(checked).toBeLessThan(5);
  });

  it('only notes the time of the check when something is pending', async () => {
    const queueId = await registered('not empty', 500, 500);
    await pushMessages(db, 'not empty', 'p', ['a']);
    await note(queueId);
    const { floor, checked } = await watermark(queueId);
    expect(floor).toBeGreaterThanOrEqual(500);
    expect(checked).toBeLessThan(5);
  });

  it('is looked into at most every 30 seconds', async () => {
    const recent = await registered('recent check', 500, 29);
    await note(recent);
    expect(await watermark(recent)).toMatchObject({ floor: expect.closeTo(500, -1) });
    const due = await registered('due check', 500, 31);
    await note(due);
    expect((await watermark(due)).floor).toBeLessThan(5);
  });

  it('of many queues moves none of them while one holds something', async () => {
    const empty = await registered('of many: empty', 500, 500);
    const full = await registered('of many: full', 500, 500);
    await pushMessages(db, 'of many: full', 'p', ['a']);
    await note(empty, full);
    expect([(await watermark(empty)).floor, (await watermark(full)).floor]).toEqual([
      expect.closeTo(500, -1),
      expect.closeTo(500, -1),
    ]);
  });

  it('without a watermark row does nothing', async () => {
    const queueId = await makeQueue(db, 'no watermark');
    await note(queueId);
    expect(await watermark(queueId)).toBeUndefined();
  });
});
