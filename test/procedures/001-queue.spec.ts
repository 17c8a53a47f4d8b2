import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  countRows,
  makeQueue,
  OTHER_TENANT,
  partitionId,
  popWildcard,
  pushMessages,
  run,
  scalar,
  TENANT,
} from '../support/make.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});

afterAll(() => db.drop());

interface Configured {
  configured: boolean;
  queueId: string;
  namespace: string;
  task: string;
  options: Record<string, unknown>;
}

function configure(name: string | null, options: unknown = {}, tenant = TENANT): Promise<Configured> {
  const call = 'select queen.configure_queue_v1($1, $2, $3) as result';
  return scalar<Configured>(db, [call, [name, JSON.stringify(options), tenant]]);
}

const defaults = {
  priority: 0,
  leaseTime: 300,
  retryLimit: 3,
  retryDelay: 0,
  maxSize: 0,
  ttl: 0,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionEnabled: false,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0,
  encryptionEnabled: false,
  minPopWaitTime: 0,
  dedupWindowSeconds: 3600,
  maxDeliveries: 0,
};

const chosen = {
  leaseTime: 10,
  retryLimit: 0,
  deadLetterQueue: false,
  dlqAfterMaxRetries: false,
  delayedProcessing: 2,
  windowBuffer: 3,
  retentionEnabled: true,
  retentionSeconds: 4,
  completedRetentionSeconds: 5,
  maxWaitTimeSeconds: 6,
  encryptionEnabled: true,
  minPopWaitTime: 7,
  dedupWindowSeconds: 0,
  priority: -8,
  retryDelay: 9,
  ttl: 10,
  maxSize: 11,
  maxDeliveries: 12,
};

describe('configuring a queue', () => {
  it('that does not exist creates it with every default, and no partition', async () => {
    const result = await configure('new');
    expect(result).toEqual({
      configured: true,
      queueId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      partitionId: null,
      queue: 'new',
      namespace: '',
      task: '',
      storage: 'segments',
      options: defaults,
    });
    expect(await countRows(db, 'log_partitions', 'queue_id = $1', [result.queueId])).toBe(0);
  });

  it('stores every option that acts, and answers with what is stored', async () => {
    const result = await configure('all options', { ...chosen, namespace: 'shop', task: 'mail' });
    expect(result.options).toEqual({ ...defaults, ...chosen });
    expect([result.namespace, result.task]).toEqual(['shop', 'mail']);

    const [row] = await run(db, ['select * from queen.queue_config_v1($1)', ['all options']]);
    expect(row).toEqual({
      r_id: result.queueId,
      r_lease_seconds: 10,
      r_delayed_seconds: 2,
      r_window_seconds: 3,
      r_min_pop_wait_ms: 7,
      r_encryption_enabled: true,
    });
  });

  it('leaves what is not mentioned, or null, as it was', async () => {
    const first = await configure('merged', { ...chosen, namespace: 'shop', task: 'mail' });
    const second = await configure('merged', { retryLimit: 9, leaseTime: null, namespace: null });
    expect(second.queueId).toBe(first.queueId);
    expect(second.options).toEqual({ ...defaults, ...chosen, retryLimit: 9 });
    expect([second.namespace, second.task]).toEqual(['shop', 'mail']);
  });

  it('with mode "replace" sets what is not mentioned back to its default', async () => {
    await configure('replaced', { ...chosen, namespace: 'shop', task: 'mail' });
    const result = await configure('replaced', { mode: 'replace', retryLimit: 9 });
    expect(result.options).toEqual({ ...defaults, retryLimit: 9 });
    expect([result.namespace, result.task]).toEqual(['', '']);
  });

  it('that a push created keeps its lease time and derived namespace until they are set', async () => {
    await pushMessages(db, 'shop.mail.eu', 'p', ['a']);
    const kept = await configure('shop.mail.eu', { retryLimit: 5 });
    expect([kept.namespace, kept.task, kept.options.leaseTime]).toEqual(['shop', 'mail', 60]);
    const set = await configure('shop.mail.eu', { namespace: 'other', leaseTime: 30 });
    expect([set.namespace, set.task, set.options.leaseTime]).toEqual(['other', 'mail', 30]);
  });

  it('of the same name in another tenant is another queue', async () => {
    const ours = await configure('shared name', { leaseTime: 11 });
    const theirs = await configure('shared name', { leaseTime: 22 }, OTHER_TENANT);
    expect(theirs.queueId).not.toBe(ours.queueId);
    expect((await configure('shared name')).options.leaseTime).toBe(11);
  });

  it.each([
    ['minPopWaitTime', -5, 0],
    ['minPopWaitTime', 60_000, 60_000],
    ['minPopWaitTime', 90_000, 60_000],
    ['dedupWindowSeconds', -1, 0],
  ])('brings %s %d to the nearest value allowed, %d, and shows it', async (name, given, stored) => {
    expect((await configure('clamped', { [name]: given })).options[name]).toBe(stored);
  });

  it.each(['retryDelay', 'ttl', 'maxSize', 'maxDeliveries'])('refuses a negative %s', async (name) => {
    await expect(configure('positive', { [name]: -1 })).rejects.toMatchObject({
      code: 'QCONF',
      message: `QCONF: option "${name}" must be a whole number between 0 and 2147483647`,
    });
  });

  it('leaves a pause as it is, also with mode "replace"', async () => {
    await configure('resting');
    await scalar(db, ['select queen.set_queue_pause_v1($1, true, true)', ['resting']]);
    await configure('resting', { mode: 'replace' });
    expect(await countRows(db, 'queues', `name = 'resting' and pops_paused and pushes_paused`)).toBe(1);
  });

  it.each<[string, unknown, string]>([
    ['an unknown option', { leaseTimes: 5 }, 'option "leaseTimes" is unknown'],
    ['another mode', { mode: 'patch' }, 'option "mode" must be "merge" or "replace"'],
    ['options that are no object', [1], 'options must be a JSON object'],
    ['a number as text', { leaseTime: '10' }, 'option "leaseTime" must be a whole number between 1'],
    ['a fraction', { leaseTime: 1.5 }, 'option "leaseTime" must be a whole number'],
    ['a lease of no length', { leaseTime: 0 }, 'option "leaseTime" must be a whole number'],
    ['a number beyond int4', { retentionSeconds: 2_147_483_648 }, 'option "retentionSeconds" must be'],
    ['a negative delay', { delayedProcessing: -1 }, 'option "delayedProcessing" must be a whole number'],
    ['a boolean as text', { retentionEnabled: 'true' }, 'option "retentionEnabled" must be true or false'],
    ['a boolean as number', { deadLetterQueue: 1 }, 'option "deadLetterQueue" must be true or false'],
    ['a namespace that is no text', { namespace: 7 }, 'option "namespace" must be a text'],
    ['a namespace of 256 characters', { namespace: 'n'.repeat(256) }, 'option "namespace" must be a text'],
  ])('refuses %s, names it, and changes nothing', async (_, options, message) => {
    await configure('unharmed', { leaseTime: 42 });
    const given = Array.isArray(options) ? options : { retryLimit: 8, ...(options as object) };
    await expect(configure('unharmed', given)).rejects.toMatchObject({
      code: 'QCONF',
      message: expect.stringContaining(message),
    });
    expect((await configure('unharmed')).options).toEqual({ ...defaults, leaseTime: 42 });
  });

  it.each([
    ['no name', null],
    ['a name of 256 characters', 'q'.repeat(256)],
  ])('refuses %s', async (_, name) => {
    await expect(configure(name)).rejects.toMatchObject({ code: 'QCONF' });
  });

  it('takes a name of 255 characters outside ASCII', async () => {
    expect((await configure('ü'.repeat(255))).configured).toBe(true);
  });
});

describe('the settings of a queue', () => {
  it('that does not exist are no row', async () => {
    expect(await run(db, ['select * from queen.queue_config_v1($1)', ['nowhere']])).toEqual([]);
  });

  it('read 60 seconds and no delay where the row holds nulls', async () => {
    const nulls = 'lease_time, delayed_processing, window_buffer, min_pop_wait_time, encryption_enabled';
    await db.query(
      `insert into queen.queues (name, ${nulls}) values ('nulls', null, null, null, null, null)`,
    );
    const [row] = await run(db, ['select * from queen.queue_config_v1($1)', ['nulls']]);
    expect(row).toMatchObject({
      r_lease_seconds: 60,
      r_delayed_seconds: 0,
      r_window_seconds: 0,
      r_min_pop_wait_ms: 0,
      r_encryption_enabled: false,
    });
  });
});

describe('the encrypted queues', () => {
  it('are those of every tenant whose payloads are to be encrypted, and no others', async () => {
    const configure = (queue: string, encryptionEnabled: boolean, tenant = TENANT) =>
      run(db, ['select queen.configure_queue_v1($1, $2, $3)', [queue, { encryptionEnabled }, tenant]]);
    await configure('secret', true);
    await configure('secret', true, OTHER_TENANT);
    await configure('plain', false);
    await configure('secret no more', true);
    await configure('secret no more', false);
    const rows = await run(db, [
      `select * from queen.encrypted_queues_v1() where r_queue in ('secret', 'plain', 'secret no more')
        order by r_tenant`,
      [],
    ]);
    expect(rows).toEqual([TENANT, OTHER_TENANT].sort().map((r_tenant) => ({ r_tenant, r_queue: 'secret' })));
  });

  it('are found without a look at the others', async () => {
    await db.query('begin');
    try {
      await db.query(`insert into queen.queues (name) select 'plain ' || n from generate_series(1, 5000) n`);
      await db.query('analyze queen.queues');
      const { rows } = await db.query(
        'explain select tenant_id, name from queen.queues where encryption_enabled',
      );
      expect(JSON.stringify(rows)).toContain('idx_queues_encrypted');
    } finally {
      await db.query('rollback');
    }
  });
});

describe('providing a queue that may be missing', () => {
  const provision = (name: string, tenant = TENANT) =>
    scalar<string | null>(db, ['select queen.provision_queue_v1($1, $2)', [name, tenant]]);

  it.each([
    ['orders', 'orders', ''],
    ['billing.invoice', 'billing', 'invoice'],
    ['a.b.c', 'a', 'b'],
    ['.x', '', 'x'],
  ])('derives from %s the namespace "%s" and the task "%s"', async (name, namespace, task) => {
    const id = await provision(name);
    const select = 'select namespace, task, lease_time, dedup_window_seconds from queen.queues where id = $1';
    expect(await run(db, [select, [id]])).toEqual([
      { namespace, task, lease_time: 60, dedup_window_seconds: 3600 },
    ]);
  });

  it('gives the id of one that exists, per tenant', async () => {
    const id = await makeQueue(db, 'there');
    expect(await provision('there')).toBe(id);
    expect(await provision('there', OTHER_TENANT)).not.toBe(id);
  });

  it('never creates the queue without a name', async () => {
    expect(await provision('')).toBeNull();
    expect(await countRows(db, 'queues', `name = ''`)).toBe(0);
  });
});

describe('deleting a queue', () => {
  const remove = (name: string, tenant = TENANT) =>
    scalar<Record<string, unknown>>(db, ['select queen.delete_queue_v1($1, $2)', [name, tenant]]);

  const leftOf = async (pid: string, queueId: string) => {
    const ofPartition = ['log_segments', 'log_txns', 'log_consumers', 'log_dlq', 'message_traces'];
    const ofQueue = ['log_partitions', 'consumer_groups_metadata', 'consumer_watermarks'];
    const counts: Record<string, number> = {};
    for (const table of ofPartition) counts[table] = await countRows(db, table, 'partition_id = $1', [pid]);
    for (const table of ofQueue) counts[table] = await countRows(db, table, 'queue_id = $1', [queueId]);
    return counts;
  };

  const fill = async (queue: string, tenant = TENANT) => {
    const queueId = await makeQueue(db, queue, {}, tenant);
    await pushMessages(db, queue, 'p', ['a', 'b'], { tenant });
    await popWildcard(db, queue, { tenant });
    const [{ id }] = await run(db, ['select id from queen.log_partitions where queue_id = $1', [queueId]]);
    await db.query(`insert into queen.log_dlq (partition_id, consumer_group, "offset") values ($1, 'g', 0)`, [
      id,
    ]);
    await db.query(
      `insert into queen.message_traces (partition_id, transaction_id, data) values ($1, 'a', '{}')`,
      [id],
    );
    return { queueId, pid: id as string };
  };

  it('removes all it holds but traces', async () => {
    const { queueId, pid } = await fill('doomed');
    for (const count of Object.values(await leftOf(pid, queueId))) expect(count).toBeGreaterThan(0);

    expect(await remove('doomed')).toEqual({ deleted: true, queue: 'doomed', existed: true });
    expect(await leftOf(pid, queueId)).toEqual({
      log_segments: 0,
      log_txns: 0,
      log_consumers: 0,
      log_dlq: 0,
      message_traces: 1,
      log_partitions: 0,
      consumer_groups_metadata: 0,
      consumer_watermarks: 0,
    });
    expect(await countRows(db, 'queues', 'id = $1', [queueId])).toBe(0);
  });

  it('leaves other queues, and the queue of that name in another tenant, alone', async () => {
    await fill('twin');
    const theirs = await fill('twin', OTHER_TENANT);
    const other = await fill('bystander');
    const before = [await leftOf(theirs.pid, theirs.queueId), await leftOf(other.pid, other.queueId)];
    await remove('twin');
    expect([await leftOf(theirs.pid, theirs.queueId), await leftOf(other.pid, other.queueId)]).toEqual(
      before,
    );
  });

  it('that does not exist says so and is no error', async () => {
    expect(await remove('never was')).toEqual({
      deleted: false,
      queue: 'never was',
      existed: false,
      message: 'Queue not found, nothing was deleted',
    });
  });

  it('lets a push create it anew, from offset 0', async () => {
    await pushMessages(db, 'reborn', 'p', ['a', 'b']);
    const old = await partitionId(db, 'reborn', 'p');
    await remove('reborn');
    expect(await pushMessages(db, 'reborn', 'p', ['a'])).toMatchObject({ status: 'queued', baseOffset: 0 });
    expect(await partitionId(db, 'reborn', 'p')).not.toBe(old);
  });
});
