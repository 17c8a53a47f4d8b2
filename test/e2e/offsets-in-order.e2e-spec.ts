import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, startBroker, type TestBroker } from '../support/broker.js';
import { numbered } from '../support/make.js';

/*
 * Field case A09: PostgreSQL hands 64-bit numbers out as text, and as text 9 comes after 10. Where the digits of an offset
 * grow, and where 32 bits and the doubles end, order, depth and lag stay exact.
 */

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const PUSHED = 6;

async function pushOneByOne(queue: string, names: readonly string[]): Promise<void> {
  for (const payload of names) {
    const { body } = await broker.push([{ queue, partition: 'p', payload }]);
    expect(body).toMatchObject([{ status: 'queued' }]);
  }
}

describe('offsets around', () => {
  it.each([
    ['9 and 10', 6],
    ['99 and 100', 96],
    ['31 bits', 2_147_483_644],
    ['32 bits', 4_294_967_292],
    ['the last safe number but a few', 2 ** 53 - 9],
  ])('%s keep their order, and are counted exactly (A09)', async (name, lastOffset) => {
    const queue = `digits ${name}`;
    await pushOneByOne(queue, ['first']);
    await broker.pop(partitionPath(queue, 'p'), { consumerGroup: 'g', autoAck: true });
    await broker.database.query(
      `update queen.log_partitions p set last_offset = $2 from queen.queues q where q.id = p.queue_id and q.name = $1`,
      [queue, lastOffset],
    );
    const names = numbered('m', PUSHED);
    await pushOneByOne(queue, names);

    const depth = await broker.get(`/api/v1/resources/queues/${encodeURIComponent(queue)}`);
    expect(depth.status).toBe(200);
    const { rows } = await broker.database.query<{ last: string; start: string; stop: string }>(
      `select max(p.last_offset)::text as last, min(s.base_offset)::text as start, max(s.end_offset)::text as stop
         from queen.log_partitions p join queen.queues q on q.id = p.queue_id
         join queen.log_segments s on s.partition_id = p.id and s.base_offset > 0 where q.name = $1`,
      [queue],
    );
    expect(rows).toEqual([
      { last: String(lastOffset + PUSHED), start: String(lastOffset + 1), stop: String(lastOffset + PUSHED) },
    ]);

    const got: unknown[] = [];
    for (const batch of [2, 3, 1]) {
      const { body } = await broker.pop(partitionPath(queue, 'p'), { consumerGroup: 'g', batch });
      got.push(...body.messages.map(({ data }) => data));
      for (const { success } of (await broker.ackBatch(acksFor(body.messages))).body)
        expect(success).toBe(true);
    }
    expect(got).toEqual(names);
    expect((await broker.pop(partitionPath(queue, 'p'), { consumerGroup: 'g' })).status).toBe(204);
  });
});
