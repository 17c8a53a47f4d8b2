import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  acksFor,
  partitionPath,
  queuePath,
  startBroker,
  type Message,
  type TestBroker,
} from '../support/broker.js';
import { candidatePaths, SOON } from '../support/candidate-paths.js';
import { consumerRow, countRows, expireLease, numbered, partitionRow, run } from '../support/make.js';
import { waitFor } from '../support/wait-for.js';

interface Outcome {
  success: boolean;
  error?: string;
  results: { success: boolean; transactionId: string; messageId?: string; dlq?: boolean }[];
}

async function transact(on: TestBroker, operations: unknown[], requiredLeases?: string[]): Promise<Outcome> {
  const answer = await on.post('/api/v1/transaction', { operations, requiredLeases });
  expect(answer.status).toBe(200);
  return answer.body as Outcome;
}

const ackOf = ({ transactionId, partitionId, consumerGroup }: Message, over = {}) => ({
  ...{ type: 'ack', transactionId, partitionId, consumerGroup },
  ...over,
});

const pushOf = (
  queue: string,
  partition: string,
  transactionId: string,
  payload: unknown = transactionId,
) => ({
  ...{ type: 'push', queue, partition, transactionId, payload },
});

describe.each(candidatePaths)('a transaction, %s', (_, settings) => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker(settings);
  });
  afterAll(() => broker.stop());

  const pop = async (queue: string, query = {}): Promise<Message[]> => {
    const { status, body } = await broker.pop(queuePath(queue), { consumerGroup: 'g', ...query });
    return status === 204 ? [] : body.messages;
  };

  it('moves messages from one queue to the next: all is there for the very next pop', async () => {
    for (const partition of ['a', 'b'])
      await broker.push(
        numbered('m', 2).map((id) => ({ queue: 'from', partition, transactionId: id, payload: id })),
      );
    const messages = await pop('from', { partitions: 2 });
    expect(messages).toHaveLength(4);
    expect(await pop('to')).toEqual([]);

    const { success } = await transact(
      broker,
      [...messages.map((message) => ackOf(message)), pushOf('to', 'x', 't0'), pushOf('to', 'y', 't0')],
      [messages[0].leaseId],
    );
    expect(success).toBe(true);
    expect((await pop('to', { partitions: 2 })).map(({ partition }) => partition).sort()).toEqual(['x', 'y']);
    expect(await pop('from', { partitions: 2 })).toEqual([]);

    // The partitions are free: what comes is handed out at once.
    await broker.push([{ queue: 'from', partition: 'a', payload: 'more' }]);
    expect((await pop('from')).map(({ data }) => data)).toEqual(['more']);
  });

  it('wakes pops that wait for what it stores', async () => {
    await pop('woken');
    const waiting = broker.pop(queuePath('woken'), { consumerGroup: 'g', ...SOON });
    await transact(broker, [pushOf('woken', 'p', 't0', { n: 1.0 })]);
    expect((await waiting).body.messages).toMatchObject([{ transactionId: 't0' }]);
  });

  it('that refuses a message brings the batch back at once', async () => {
    await broker.push(numbered('m', 3).map((id) => ({ queue: 'refusing', transactionId: id, payload: id })));
    const messages = await pop('refusing');
    const { success } = await transact(
      broker,
      [ackOf(messages[0]), ackOf(messages[1], { status: 'retry' })],
      [messages[0].leaseId],
    );
    expect(success).toBe(true);
    expect((await pop('refusing')).map(({ transactionId }) => transactionId)).toEqual(['m1', 'm2']);
  });

  it('that gives up a message puts it aside, and the rest comes at once', async () => {
    await broker.configure('giving up', { retryLimit: 0 });
    await broker.push(
      numbered('m', 3).map((id) => ({ queue: 'giving up', transactionId: id, payload: { id } })),
    );
    const messages = await pop('giving up');
    const { results } = await transact(
      broker,
      [
        ackOf(messages[0]),
        ackOf(messages[1], { status: 'failed', error: 'poison' }),
        pushOf('sink', 'p', 't0'),
      ],
      [messages[0].leaseId],
    );
    expect(results.map(({ dlq }) => dlq)).toEqual([true, true, undefined]);
    expect(
      await run(broker.database, [
        "select transaction_id, payload, error from queen.log_dlq where error = 'poison'",
        [],
      ]),
    ).toEqual([{ transaction_id: 'm1', payload: '{"id":"m1"}', error: 'poison' }]);
    expect((await pop('giving up')).map(({ transactionId }) => transactionId)).toEqual(['m2']);
    expect(await pop('sink')).toHaveLength(1);
  });

  it('that is rolled back leaves the lease, the messages and the queues as they were', async () => {
    await broker.push(numbered('m', 2).map((id) => ({ queue: 'kept', transactionId: id, payload: id })));
    const messages = await pop('kept');
    const leases = [messages[0].leaseId];
    const outcome = await transact(
      broker,
      [pushOf('never made', 'p', 't0'), ackOf(messages[0]), ackOf(messages[1], { transactionId: 'unknown' })],
      leases,
    );
    expect(outcome).toMatchObject({ success: false, results: [] });
    expect(await countRows(broker.database, 'queues', "name = 'never made'")).toBe(0);
    expect(await pop('kept')).toEqual([]);
    const acked = await broker.ackBatch(acksFor(messages));
    expect(acked.body.map(({ success }) => success)).toEqual([true, true]);
  });
});

describe('a transaction', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  const pop = async (queue: string, query = {}): Promise<Message[]> => {
    const { status, body } = await broker.pop(queuePath(queue), { consumerGroup: 'g', ...query });
    return status === 204 ? [] : body.messages;
  };

  it('keeps the bytes of a payload, its trace id and its headers', async () => {
    const traceId = '0198f000-0000-7000-8000-000000000001';
    const body = `{"operations":[{"items":[{"queue":"bytes","payload":{"n": 1.0,"big":9007199254740993,"n":2},
      "traceId":"${traceId}","headers":{"a":"b"}},{"queue":"bytes","data":[1 ,2]},{"queue":"bytes"},
      {"queue":"bytes","payload":null,"data":7,"transactionId":""}],"type":"push"}]}`;
    expect((await broker.post('/api/v1/transaction', body)).status).toBe(200);
    const answer = await broker.pop(queuePath('bytes'));
    expect(answer.text).toContain('"data":{"n": 1.0,"big":9007199254740993,"n":2}');
    expect(answer.text).toContain('"data":[1 ,2]');
    const { messages } = answer.body;
    expect(messages.map(({ data }) => data).slice(2)).toEqual([{}, null]);
    expect(messages[0]).toMatchObject({ traceId, headers: { a: 'b' } });
    expect(messages[3].transactionId).toBe(messages[3].id);
  });

  it('stores what no single segment holds, in order', async () => {
    const items = numbered('m', 11_000).map((id) => ({ queue: 'many', transactionId: id, payload: 0 }));
    const { results } = await transact(broker, [{ type: 'push', items }]);
    expect(results).toHaveLength(11_000);
    expect((await partitionRow(broker.database, 'many', 'Default'))!.lastOffset).toBe(10_999);
    const messages = await pop('many', { batch: 10_000 });
    expect(messages.map(({ transactionId }) => transactionId)).toEqual(numbered('m', 10_000));
  });

  it('acks over several partitions and queues, for one group only', async () => {
    for (const queue of ['wide a', 'wide b'])
      for (const partition of ['p', 'q']) await broker.push([{ queue, partition, payload: 1 }]);
    const messages = [
      ...(await pop('wide a', { partitions: 2 })),
      ...(await pop('wide b', { partitions: 2 })),
    ];
    await pop('wide a', { consumerGroup: 'h' });
    const { success } = await transact(
      broker,
      messages.map((message) => ackOf(message)),
      messages.map(({ leaseId }) => leaseId),
    );
    expect(success).toBe(true);
    for (const queue of ['wide a', 'wide b'])
      for (const partition of ['p', 'q'])
        expect(await consumerRow(broker.database, queue, partition)).toMatchObject({
          committed: 0,
          workerId: null,
        });
    const others = await countRows(
      broker.database,
      'log_consumers',
      "consumer_group = 'h' and committed = 0",
    );
    expect(others).toBe(0);
  });

  it('that acks part of a batch leaves the rest leased, and the rest can be acked', async () => {
    await broker.push(numbered('m', 3).map((id) => ({ queue: 'part', transactionId: id, payload: id })));
    const messages = await pop('part');
    await transact(broker, [ackOf(messages[0])], [messages[0].leaseId]);
    expect(await pop('part')).toEqual([]);
    const acked = await broker.ackBatch(acksFor(messages.slice(1)));
    expect(acked.body.map(({ success }) => success)).toEqual([true, true]);
    expect(await consumerRow(broker.database, 'part', 'Default')).toMatchObject({
      committed: 2,
      workerId: null,
    });
  });

  it('with a lease that ran out fails; without any it is taken', async () => {
    await broker.push([{ queue: 'late', transactionId: 'm0', payload: 1 }]);
    const [message] = await pop('late');
    await expireLease(broker.database, 'late', 'Default');
    const late = await transact(broker, [ackOf(message)], [message.leaseId]);
    expect(late).toMatchObject({
      success: false,
      error: expect.stringContaining('invalid or expired lease'),
    });
    expect((await transact(broker, [ackOf(message)], ['', ''])).success).toBe(true);
  });

  it('in queue mode acks as nobody in particular', async () => {
    await broker.push([{ queue: 'nobody', transactionId: 'm0', payload: 1 }]);
    const { messages } = (await broker.pop(queuePath('nobody'))).body;
    const { transactionId, partitionId, leaseId } = messages[0];
    for (const consumerGroup of [null, '']) {
      const operations = [{ type: 'ack', transactionId, partitionId, consumerGroup }];
      const { success } = await transact(broker, operations, consumerGroup === null ? [leaseId] : []);
      expect(success).toBe(true);
    }
  });

  it('sent again after its answer was lost changes nothing', async () => {
    const operations = [pushOf('again', 'p', 't0')];
    await transact(broker, operations);
    expect(await transact(broker, operations)).toMatchObject({
      success: false,
      error: expect.stringMatching(/^QDUP /),
    });
    expect((await partitionRow(broker.database, 'again', 'p'))!.lastOffset).toBe(0);
  });

  it('that fails half-way because its connection is killed leaves nothing, and succeeds when sent again', async () => {
    await broker.push([{ queue: 'cut', transactionId: 'm0', payload: 1 }]);
    const [message] = await pop('cut');
    const blocker = await broker.database.connect();
    await blocker.query('begin');
    await blocker.query('select from queen.log_consumers where partition_id = $1 for update', [
      message.partitionId,
    ]);

    const operations = [pushOf('cut out', 'p', 't0'), ackOf(message)];
    const sent = broker.post('/api/v1/transaction', { operations, requiredLeases: [message.leaseId] });
    const blocked = async () => {
      const { rows } = await broker.database.query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
           and query like '%log_transaction_wire_v1%'`,
      );
      return rows[0]?.pid;
    };
    const pid = await waitFor(blocked, { within: 5000, what: 'the transaction to wait for the cursor' });
    await broker.database.query('select pg_terminate_backend($1)', [pid]);
    const answer = await sent;
    expect([answer.status, answer.body]).toEqual([
      503,
      expect.objectContaining({ code: 'database_unavailable' }),
    ]);
    await blocker.query('rollback');

    expect(await countRows(broker.database, 'queues', "name = 'cut out'")).toBe(0);
    expect(await pop('cut out')).toEqual([]);
    expect((await transact(broker, operations, [message.leaseId])).success).toBe(true);
    expect(await pop('cut out')).toHaveLength(1);
  });

  it('that cannot get a connection says so', async () => {
    const small = await startBroker({ DB_POOL_SIZE: 4, QUEEN_POOL_RESERVE: 2, DB_POOL_WAIT_MS: 1000 });
    try {
      const blocker = await small.database.connect();
      await blocker.query('begin');
      await blocker.query('lock table queen.queues in access exclusive mode');
      // Administration takes connections without a permit: four of them empty the pool.
      const stuck = [1, 2, 3, 4].map(() => small.get('/api/v1/consumer-groups'));
      const waiting = async () => {
        const { rows } = await small.database.query<{ count: number }>(
          `select count(*)::int from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return rows[0].count === 4;
      };
      await waitFor(waiting, { within: 5000, what: 'four statements to wait for the table' });
      const operations = [pushOf('held', 'p', 't0')];
      const answer = await small.post('/api/v1/transaction', { operations });
      await blocker.query('rollback');
      await Promise.all(stuck);
      expect([answer.status, answer.body]).toEqual([500, { error: 'pool', code: 'pool' }]);
      expect((await transact(small, operations)).success).toBe(true);
    } finally {
      await small.stop();
    }
  }, 20_000);
});

describe('two brokers on one database', () => {
  let a: TestBroker;
  let b: TestBroker;
  beforeAll(async () => {
    a = await startBroker();
    b = await startBroker({ database: a.database, QUEEN_HOTLIST_REVISIT_CAP_MS: 50 });
  });
  afterAll(async () => {
    await b.stop();
    await a.stop();
  });

  it('a transaction on one acks what the other handed out', async () => {
    await a.push(numbered('m', 2).map((id) => ({ queue: 'shared', transactionId: id, payload: id })));
    const { messages } = (await a.pop(queuePath('shared'), { consumerGroup: 'g' })).body;
    const { success } = await transact(
      b,
      [...messages.map((message) => ackOf(message)), pushOf('shared', 'Default', 'next')],
      [messages[0].leaseId],
    );
    expect(success).toBe(true);
    const { body } = await a.pop(partitionPath('shared', 'Default'), { consumerGroup: 'g' });
    expect(body.messages.map(({ transactionId }) => transactionId)).toEqual(['next']);
  });
});
