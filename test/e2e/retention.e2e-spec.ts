import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RetentionLoop } from '../../src/retention/retention.loop.js';
import { acksFor, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { createTestDatabase } from '../support/database.js';
import {
  countRows,
  numbered,
  partitionId,
  partitionRow,
  pushMultiCall,
  run,
  segmentRows,
} from '../support/make.js';
import { abandon, age, history, orphans } from '../support/retention.js';
import { waitFor } from '../support/wait-for.js';

jest.setTimeout(60_000);

const SOON = { within: 20_000 };
const statsOf = (broker: TestBroker) => broker.broker.app.get(RetentionLoop).stats();

describe('retention, as a broker does it by itself', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker({ RETENTION_INTERVAL: 100 });
  });
  afterAll(() => broker.stop());

  const push = (queue: string, ...texts: string[]) =>
    broker.push(texts.map((payload) => ({ queue, partition: 'p', payload, transactionId: payload })));
  const finish = async (queue: string, consumerGroup: string, batch: number) => {
    const { body } = await broker.pop(queuePath(queue), { consumerGroup, batch });
    await broker.ackBatch(acksFor(body.messages));
  };
  const left = async (queue: string) => (await segmentRows(broker.database, queue, 'p')).length;
  /** Until a sweep that began after this call has ended. */
  const nextSweep = async () => {
    const { sweeps } = statsOf(broker);
    await waitFor(() => statsOf(broker).sweeps >= sweeps + 2, { ...SOON, what: 'another sweep' });
  };

  it('deletes by age, and what comes after is delivered', async () => {
    await broker.configure('aged', { retentionEnabled: true, retentionSeconds: 3600 });
    await push('aged', 'm0', 'm1');
    await nextSweep();
    expect(await left('aged')).toBe(1);
    await age(broker.database, 'aged', 'p', 4000);
    await waitFor(async () => (await left('aged')) === 0, { ...SOON, what: 'the old segment to go' });
    await push('aged', 'm2');
    expect((await broker.pop(queuePath('aged'))).body.messages.map(({ data }) => data)).toEqual(['m2']);
  });

  it('removes nothing that an existing group has not read, until a rule says so, and then shows how much (A24)', async () => {
    await broker.configure('a24', { retentionEnabled: true, completedRetentionSeconds: 10 });
    // Both groups register before there is anything, one of them is then away for ten minutes.
    for (const consumerGroup of ['fast', 'away']) await broker.pop(queuePath('a24'), { consumerGroup });
    for (const text of numbered('m', 4)) await push('a24', text);
    await finish('a24', 'fast', 4);
    await age(broker.database, 'a24', 'p', 600);
    await nextSweep();
    expect(await left('a24')).toBe(4);

    await finish('a24', 'away', 2);
    await waitFor(async () => (await left('a24')) === 2, { ...SOON, what: 'what both have read to go' });
    const pid = await partitionId(broker.database, 'a24', 'p');
    const unreadBefore = statsOf(broker).unreadMessages;
    expect(await history(broker.database, pid)).toEqual([
      { type: 'completed_retention', messages: 2, unread: 0 },
    ]);

    // A rule that does not ask who has read.
    await broker.configure('a24', { maxWaitTimeSeconds: 60 });
    await waitFor(async () => (await left('a24')) === 0, { ...SOON, what: 'the eviction' });
    expect(await history(broker.database, pid)).toContainEqual({
      ...{ type: 'max_wait_time_eviction', messages: 2, unread: 2 },
    });
    expect(statsOf(broker).unreadMessages).toBe(unreadBefore + 2);
  });

  it('keeps what a seek has brought back to be read (A24)', async () => {
    await broker.configure('rewind', { retentionEnabled: true, completedRetentionSeconds: 3600 });
    for (const text of numbered('m', 3)) await push('rewind', text);
    await finish('rewind', 'g', 3);
    const seek = await broker.post('/api/v1/consumer-groups/g/queues/rewind/seek', {
      timestamp: '1970-01-01T00:00:00Z',
    });
    expect(seek.status).toBe(200);
    await age(broker.database, 'rewind', 'p', 4000);
    await nextSweep();
    const { body } = await broker.pop(queuePath('rewind'), { consumerGroup: 'g', batch: 10 });
    expect(body.messages.map(({ data }) => data)).toEqual(['m0', 'm1', 'm2']);
  });

  it('lets a message be acked after hours, and keeps the dedup window of one that is gone', async () => {
    await broker.configure('hashes', { dedupWindowSeconds: 3600 });
    await push('hashes', 'late');
    await age(broker.database, 'hashes', 'p', 100_000);
    await nextSweep();
    const { body } = await broker.pop(queuePath('hashes'), { consumerGroup: 'g' });
    const acked = await broker.ackBatch(acksFor(body.messages));
    expect(acked.body).toMatchObject([{ success: true, error: null }]);

    await broker.configure('hashes', { retentionEnabled: true, retentionSeconds: 1 });
    await push('hashes', 'young');
    await age(broker.database, 'hashes', 'p', 600, { from: 1 });
    await waitFor(async () => (await left('hashes')) === 0, { ...SOON, what: 'the segments to go' });
    expect((await push('hashes', 'young')).body).toMatchObject([{ status: 'duplicate' }]);
    const rows = async () => (await segmentRows(broker.database, 'hashes', 'p', 'log_txns')).length;
    await age(broker.database, 'hashes', 'p', 4000);
    await waitFor(async () => (await rows()) === 0, { ...SOON, what: 'the hash rows to go' });
    expect(await partitionRow(broker.database, 'hashes', 'p')).toMatchObject({ txnsStart: 2, logStart: 2 });
    expect((await push('hashes', 'young')).body).toMatchObject([{ status: 'queued' }]);
  });

  it('a slow group under constant load never loses a message to a fast one', async () => {
    await broker.configure('load', { retentionEnabled: true, completedRetentionSeconds: 1 });
    for (const consumerGroup of ['fast', 'slow']) await broker.pop(queuePath('load'), { consumerGroup });
    const read: Record<string, unknown[]> = { fast: [], slow: [] };
    const take = async (consumerGroup: 'fast' | 'slow', batch: number) => {
      const { status, body } = await broker.pop(queuePath('load'), { consumerGroup, batch });
      if (status === 204) return 0;
      read[consumerGroup].push(...body.messages.map(({ data }) => data));
      await broker.ackBatch(acksFor(body.messages));
      return body.messages.length;
    };
    const total = 60;
    for (let i = 0; i < total; i++) {
      await push('load', `m${i}`);
      await age(broker.database, 'load', 'p', 5);
      await take('fast', 10);
      if (i % 3 === 0) await take('slow', 1);
    }
    while ((await take('slow', 7)) > 0);
    expect(read).toEqual({ fast: numbered('m', total), slow: numbered('m', total) });
    await waitFor(async () => (await left('load')) === 0, { ...SOON, what: 'all that was read to go' });
    const pid = await partitionId(broker.database, 'load', 'p');
    const lines = await history(broker.database, pid);
    expect(lines.reduce((sum, { messages }) => sum + messages, 0)).toBe(total);
    expect(lines.every(({ unread }) => unread === 0)).toBe(true);
  });

  it('goes by the clock of the database and no other', async () => {
    await broker.configure('clock', { retentionEnabled: true, retentionSeconds: 3600 });
    await push('clock', 'm');
    const now = Date.now;
    Date.now = () => now() + 10 * 3_600_000;
    try {
      await nextSweep();
      expect(await left('clock')).toBe(1);
    } finally {
      Date.now = now;
    }
  });
});

describe('the cleanup of partitions, as a broker does it', () => {
  it('removes those that nobody has used for so long, once at the start and then every minute', async () => {
    const database = await createTestDatabase();
    let broker = await startBroker({ database, RETENTION_INTERVAL: 100 });
    try {
      // Its first sweep has cleaned up by then; otherwise it, and not the next broker, might remove the partition.
      await waitFor(() => statsOf(broker).sweeps >= 1, { ...SOON, what: 'the first sweep' });
      await broker.configure('idle', { retentionEnabled: true, retentionSeconds: 1 });
      await broker.push([
        { queue: 'idle', partition: 'old', payload: 1 },
        { queue: 'idle', partition: 'young', payload: 1 },
      ]);
      for (const partition of ['old', 'young']) await age(database, 'idle', partition, 60);
      await waitFor(async () => (await countRows(database, 'log_segments')) === 0, {
        ...{ ...SOON, what: 'the messages to go' },
      });
      await abandon(database, 'idle', 'old', 31);
      await abandon(database, 'idle', 'young', 29);
      await broker.stop();
      broker = await startBroker({ database, RETENTION_INTERVAL: 100 });
      await waitFor(() => statsOf(broker).partitions === 1, { ...SOON, what: 'the cleanup' });
      expect(await countRows(database, 'log_partitions', `name = 'young'`)).toBe(1);
      expect(await orphans(database)).toBe(0);
    } finally {
      await broker.stop();
      await database.drop();
    }
  });

  it('is off with PARTITION_CLEANUP_DAYS=0', async () => {
    const broker = await startBroker({ RETENTION_INTERVAL: 100, PARTITION_CLEANUP_DAYS: 0 });
    try {
      await broker.push([{ queue: 'q', partition: 'p', payload: 1 }]);
      await run(broker.database, [`delete from queen.log_segments`, []]);
      await run(broker.database, [`update queen.log_partitions set oldest_live_at = null`, []]);
      await abandon(broker.database, 'q', 'p', 4000);
      await waitFor(() => statsOf(broker).sweeps >= 2, { ...SOON, what: 'two sweeps' });
      expect(await countRows(broker.database, 'log_partitions')).toBe(1);
    } finally {
      await broker.stop();
    }
  });
});

describe('several brokers', () => {
  it('have one leader, and another one as soon as it leaves (A22)', async () => {
    const database = await createTestDatabase();
    const brokers = await Promise.all(
      [1, 2, 3].map(() => startBroker({ database, RETENTION_INTERVAL: 100 })),
    );
    try {
      const leaders = () => brokers.filter((broker) => statsOf(broker).isLeader);
      await waitFor(() => leaders().length > 0, { ...SOON, what: 'a leader' });
      const [leader] = leaders();
      const sweeps = statsOf(leader).sweeps;
      await waitFor(() => statsOf(leader).sweeps > sweeps + 3, { ...SOON, what: 'sweeps' });
      expect(brokers.map((broker) => statsOf(broker).sweeps > 0)).toEqual(
        brokers.map((broker) => broker === leader),
      );
      await leader.stop();
      const others = brokers.filter((broker) => broker !== leader);
      await waitFor(() => others.some((broker) => statsOf(broker).sweeps > 0), {
        ...SOON,
        what: 'a successor',
      });
    } finally {
      for (const broker of brokers) await broker.stop().catch(() => undefined);
      await database.drop();
    }
  });

  it('take over from one that died, by time', async () => {
    const database = await createTestDatabase();
    await database.query(
      `insert into queen.leader_leases values ('retention', 'dead', clock_timestamp() + interval '1 second')`,
    );
    const broker = await startBroker({ database, RETENTION_INTERVAL: 100 });
    try {
      expect(statsOf(broker).isLeader).toBe(false);
      await waitFor(() => statsOf(broker).sweeps > 0, { ...SOON, what: 'the dead leader to be followed' });
    } finally {
      await broker.stop();
      await database.drop();
    }
  });
});

it('fits its steps into the statement timeout, and makes progress with every one (A19)', async () => {
  const broker = await startBroker({
    RETENTION_INTERVAL: 100,
    QUEEN_STMT_TIMEOUT_MS: 50,
    RETENTION_BATCH_SIZE: 100_000,
  });
  try {
    await broker.configure('many', { dedupWindowSeconds: 0 });
    const segments = 20_000;
    await run(broker.database, pushMultiCall([{ queue: 'many', partition: 'p', texts: ['m'] }]));
    for (const table of ['log_segments', 'log_txns']) {
      const column = table === 'log_segments' ? 'blob' : 'hashes';
      await broker.database.query(
        `insert into queen.${table} (partition_id, base_offset, end_offset, created_at, ${column})
         select t.partition_id, n, n, t.created_at, t.${column} from queen.${table} t, generate_series(1, $1) n`,
        [segments - 1],
      );
    }
    await broker.database.query('update queen.log_partitions set last_offset = $1', [segments - 1]);
    await age(broker.database, 'many', 'p', 3000);
    await broker.configure('many', { retentionEnabled: true, retentionSeconds: 1 });
    await waitFor(async () => (await countRows(broker.database, 'log_segments')) === 0, {
      ...{ within: 30_000, what: 'twenty thousand segments to go in steps of 50 ms' },
    });
    // Counted where it is certain: of a step that was cancelled too late the broker does not know that it was done.
    const pid = await partitionId(broker.database, 'many', 'p');
    const messages = (await history(broker.database, pid)).map((line) => line.messages);
    expect(messages.reduce((sum, one) => sum + one, 0)).toBe(segments);
    // With so little time a busy machine may fail a push as well.
    const push = async () =>
      (await broker.push([{ queue: 'many', partition: 'p', payload: 1 }])).status === 201;
    await waitFor(push, { ...SOON, what: 'a push' });
  } finally {
    await broker.stop();
  }
});
