import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  countRows,
  inTurn,
  OTHER_TENANT,
  partitionId,
  pushMessages,
  run,
  scalar,
  TENANT,
  type Row,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface Trace {
  pid: string;
  text?: string;
  group?: string;
  type?: string;
  data?: string;
  names?: string[];
  tenant?: string;
}

async function record({ pid, tenant = TENANT, ...trace }: Trace): Promise<string> {
  const { text = 't', group = 'g', type = 'info', data = '{}', names = [] } = trace;
  const call = 'select queen.record_trace_v1($1, $2, $3, $4, $5, $6, $7, $8) as result';
  const id = randomUUID();
  const values = [id, pid, text, group, type, data, names, tenant];
  expect(await scalar(db, [call, values])).toEqual({ success: true, traceId: id });
  return id;
}

function ofMessage(pid: string, text = 't', { tenant = TENANT, bytesMax = 1e9 } = {}): Promise<Row[]> {
  const call = 'select * from queen.get_message_traces_v1($1, $2, null, null, 100, $3, $4)';
  return run(db, [call, [pid, text, bytesMax, tenant]]);
}

function byName(name: string, { tenant = TENANT, limit = 100, offset = 0, bytesMax = 1e9 } = {}) {
  const call = 'select * from queen.get_traces_by_name_v1($1, null, null, $2, $3, $4, $5)';
  return run(db, [call, [name, limit, offset, bytesMax, tenant]]);
}

const ids = (rows: readonly Row[]) => rows.map(({ r_id }) => r_id);

async function makePartition(queue: string, tenant = TENANT): Promise<string> {
  await pushMessages(db, queue, 'p', ['t'], { tenant });
  if (tenant === TENANT) return partitionId(db, queue, 'p');
  const own = `select p.id from queen.log_partitions p join queen.queues q on q.id = p.queue_id
    where q.tenant_id = $1 and q.name = $2`;
  return scalar<string>(db, [own, [tenant, queue]]);
}

describe('the traces of a message', () => {
  it('are listed oldest first, as they were recorded', async () => {
    const pid = await makePartition('message');
    const data = ['{"b": 1.0, "a":1, "a":2}', '"\\u0000"', '12345678901234567890'];
    const made = await inTurn(data, (text) => record({ pid, data: text, names: ['n2', 'n1', 'n2'] }));
    const rows = await ofMessage(pid);
    expect(ids(rows)).toEqual(made);
    expect(rows.map(({ r_data }) => r_data)).toEqual(data);
    expect(rows[0]).toEqual({
      ...{ r_id: made[0], r_created_at: expect.any(Date), r_event_type: 'info', r_data: data[0] },
      ...{ r_group: 'g', r_worker_id: null, r_names: ['n1', 'n2'] },
    });
  });

  it('come in pieces that end with the trace that fills them', async () => {
    const pid = await makePartition('pieces');
    await inTurn([1, 2, 3], () => record({ pid, data: '"12345678"' }));
    expect(await ofMessage(pid, 't', { bytesMax: 1 })).toHaveLength(1);
    expect(await ofMessage(pid, 't', { bytesMax: 11 })).toHaveLength(2);
  });

  it('are found under the whole id, however long, and only there', async () => {
    const pid = await makePartition('long');
    const long = 'x'.repeat(65_535);
    const id = await record({ pid, text: long });
    expect(ids(await ofMessage(pid, long))).toEqual([id]);
    expect(await ofMessage(pid, `${long.slice(1)}y`)).toEqual([]);
    expect(await ofMessage(pid, 'x'.repeat(255))).toEqual([]);
  });

  it('outlive the queue, but then have no name to be found by', async () => {
    const pid = await makePartition('gone');
    const id = await record({ pid, names: ['of the gone'] });
    expect(ids(await byName('of the gone'))).toEqual([id]);
    await run(db, ['select queen.delete_queue_v1($1)', ['gone']]);
    expect(ids(await ofMessage(pid))).toEqual([id]);
    expect(await byName('of the gone')).toEqual([]);
  });

  it('of another tenant are neither recorded nor read', async () => {
    const pid = await makePartition('tenant', OTHER_TENANT);
    const id = await record({ pid, names: ['theirs'], tenant: OTHER_TENANT });
    const call = 'select queen.record_trace_v1($1, $2, $3, $4, $5, $6, $7, $8) as result';
    const foreign = [randomUUID(), pid, 't', 'g', 'info', '{}', [], TENANT];
    const refused = { success: false, error: 'Message not found' };
    expect(await scalar(db, [call, foreign])).toEqual(refused);
    // Nor can it be told from one that does not exist, which without tenancy may still get a trace.
    const nobodys = [randomUUID(), randomUUID(), 't', 'g', 'info', '{}', []];
    expect(await scalar(db, [call, [...nobodys, TENANT]])).toEqual(refused);
    expect(await scalar(db, [call, [...nobodys, null]])).toMatchObject({ success: true });
    expect(await countRows(db, 'message_traces', 'partition_id = $1', [pid])).toBe(1);
    expect(await ofMessage(pid)).toEqual([]);
    expect(await byName('theirs')).toEqual([]);
    expect(ids(await ofMessage(pid, 't', { tenant: OTHER_TENANT }))).toEqual([id]);
    expect(ids(await byName('theirs', { tenant: OTHER_TENANT }))).toEqual([id]);
  });
});

describe('traces by name', () => {
  it('are newest first, in pages, with the address of their message', async () => {
    const pid = await makePartition('named');
    const made = await inTurn([1, 2, 3], (n) => record({ pid, text: `t${n}`, names: ['checkout'] }));
    made.reverse();
    const rows = await byName('checkout');
    expect(ids(rows)).toEqual(made);
    expect(rows[0]).toMatchObject({
      ...{ r_transaction_id: 't3', r_partition_id: pid, r_queue: 'named', r_partition: 'p' },
      r_names: ['checkout'],
    });
    expect(ids(await byName('checkout', { limit: 1, offset: 1 }))).toEqual([made[1]]);
    expect(ids(await byName('checkout', { bytesMax: 1 }))).toEqual([made[0]]);
    expect(await scalar(db, ['select queen.count_traces_by_name_v1($1, $2)', ['checkout', TENANT]])).toBe(
      '3',
    );
    expect(await scalar(db, ['select queen.count_traces_by_name_v1($1, $2)', ['other', TENANT]])).toBe('0');
  });

  it('are counted by name, the one used last first', async () => {
    const other = await createTestDatabase();
    try {
      await pushMessages(other, 'q', 'p', ['t']);
      const pid = await partitionId(other, 'q', 'p');
      const insert = `select queen.record_trace_v1($1, $2, $3, 'g', 'info', '{}', $4, $5)`;
      const add = (text: string, names: string[]) =>
        other.query(insert, [randomUUID(), pid, text, names, TENANT]);
      await add('t1', ['a', 'b']);
      await add('t1', ['a']);
      await add('t2', ['a']);
      await add('t2', ['c']);
      const names = (limit: number, offset: number, tenant = TENANT) =>
        scalar<{ trace_names: Row[]; total: number }>(other, [
          'select queen.get_available_trace_names_v1($1, $2, $3)',
          [limit, offset, tenant],
        ]);
      const seen = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(await names(10, 0)).toEqual({
        trace_names: [
          { trace_name: 'c', trace_count: 1, message_count: 1, last_seen: seen },
          { trace_name: 'a', trace_count: 3, message_count: 2, last_seen: seen },
          { trace_name: 'b', trace_count: 1, message_count: 1, last_seen: seen },
        ],
        total: 3,
      });
      expect((await names(1, 1)).trace_names.map(({ trace_name }) => trace_name)).toEqual(['a']);
      expect(await names(10, 5)).toEqual({ trace_names: [], total: 3 });
      expect(await names(10, 0, OTHER_TENANT)).toEqual({ trace_names: [], total: 0 });
    } finally {
      await other.drop();
    }
  });
});
