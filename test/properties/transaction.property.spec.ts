import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { partitionPath, startBroker, type TestBroker } from '../support/broker.js';
import { run } from '../support/make.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await startBroker();
});

afterAll(() => broker.stop());

/** What a transaction is made of: new messages, one stored before, acks of the leased batch, one of an id never pushed. */
const plan = fc.record({
  pushes: fc.array(fc.constantFrom('a', 'b'), { maxLength: 4 }),
  repeatsStored: fc.boolean(),
  acked: fc.integer({ min: 0, max: 3 }),
  acksUnknown: fc.boolean(),
  leaseIsWrong: fc.boolean(),
});

/** Last offset of each partition and the cursor of the group: everything a transaction may move. */
async function state(queue: string) {
  const rows = await run(broker.database, [
    `select p.name, p.last_offset::int as last, c.committed::int as committed
     from queen.log_partitions p join queen.queues q on q.id = p.queue_id
     left join queen.log_consumers c on c.partition_id = p.id and c.consumer_group = 'g'
     where q.name = $1`,
    [queue],
  ]);
  return Object.fromEntries(rows.map(({ name, last, committed }) => [name as string, { last, committed }]));
}

describe('a transaction (I41)', () => {
  it('leaves all of its pushes and acks, or none', async () => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(plan, async ({ pushes, repeatsStored, acked, acksUnknown, leaseIsWrong }) => {
        const queue = `transaction-${n++}`;
        const source = [0, 1, 2].map((i) => ({
          queue,
          partition: 'in',
          transactionId: `in-${i}`,
          payload: i,
        }));
        const targets = ['a', 'b'].map((partition) => ({
          queue,
          partition,
          transactionId: 'stored',
          payload: 0,
        }));
        await broker.push([...source, ...targets]);
        const { body: batch } = await broker.pop(partitionPath(queue, 'in'), { consumerGroup: 'g' });
        const before = await state(queue);

        const items = pushes.map((partition, i) => ({
          queue,
          partition,
          transactionId: `new-${i}`,
          payload: i,
        }));
        if (repeatsStored) items.push({ queue, partition: 'a', transactionId: 'stored', payload: 0 });
        const ids = batch.messages.slice(0, acked).map(({ transactionId }) => transactionId);
        if (acksUnknown) ids.push('never pushed');
        const operations = [
          ...(items.length > 0 ? [{ type: 'push', items }] : []),
          ...ids.map((transactionId) => ({
            type: 'ack',
            transactionId,
            partitionId: batch.partitionId,
            consumerGroup: 'g',
            status: 'completed',
          })),
        ];
        const lease = leaseIsWrong ? '00000000-0000-7000-8000-000000000000' : batch.leaseId;
        const answer = await broker.post('/api/v1/transaction', { operations, requiredLeases: [lease] });

        const mustFail = repeatsStored || acksUnknown || (leaseIsWrong && ids.length > 0);
        expect([answer.status, (answer.body as { success: boolean }).success]).toEqual([200, !mustFail]);
        const after = await state(queue);
        if (mustFail) {
          expect(after).toEqual(before);
          return;
        }
        const grown = (partition: string) => pushes.filter((one) => one === partition).length;
        expect(after).toEqual({
          in: { last: 2, committed: acked - 1 },
          a: { ...before.a, last: grown('a') },
          b: { ...before.b, last: grown('b') },
        });
      }),
      { numRuns: 60, seed: Number(process.env.QUEEN_TEST_SEED ?? Date.now() % 1_000_000_000) },
    );
  });
});
