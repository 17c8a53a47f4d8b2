import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { run, THIS_PARTITION } from '../support/make.js';

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

const GROUP = { consumerGroup: 'g' };

/** The four bytes at `at` in place of those that are there. */
const with4 = (at: number, hex: string) => `overlay(blob placing '\\x${hex}'::bytea from ${at + 1} for 4)`;

describe('a stored segment that was damaged (A26)', () => {
  it.each([
    ['by a flipped bit', 'set_byte(blob, length(blob) - 9, get_byte(blob, length(blob) - 9) # 1)'],
    ['by the loss of its end', 'substring(blob from 1 for length(blob) - 7)'],
    ['by the loss of nearly everything', 'substring(blob from 1 for 5)'],
    ['so that nothing is left of it', `''::bytea`],
    ['by more bytes at its end', `blob || '\\x00'::bytea`],
    ['in its codec', 'set_byte(blob, 1, 9)'],
    ['in its version', 'set_byte(blob, 0, 2)'],
    ['so that it claims 2 GiB', with4(6, '00000080')],
    ['so that it claims four thousand million messages', with4(2, 'ffffffff')],
  ])('%s is named; its neighbours are served, and an operator can step over it', async (how, damage) => {
    const queue = `damaged ${how}`;
    const push = (partition: string, text: string) =>
      broker.push([{ queue, partition, payload: text.repeat(300) }]);
    for (const partition of ['before', 'hit', 'behind']) await push(partition, 'x');
    const spoil = `update queen.log_segments set blob = ${damage} where partition_id = ${THIS_PARTITION}`;
    await run(broker.database, [spoil, [queue, 'hit']]);

    const together = await broker.pop(queuePath(queue), { ...GROUP, partitions: 3 });
    expect(together.body.messages.map(({ partition }) => partition).sort()).toEqual(['before', 'behind']);
    const acked = await broker.ackBatch(acksFor(together.body.messages));
    expect(acked.body.every(({ success }) => success)).toBe(true);

    const alone = await broker.pop(partitionPath(queue, 'hit'), { consumerGroup: 'other' });
    expect(alone).toMatchObject({
      status: 500,
      body: { code: 'segment_damaged', error: expect.stringMatching(/partition [0-9a-f-]{36} offset 0/) },
    });

    const hit = `/api/v1/consumer-groups/g/queues/${encodeURIComponent(queue)}/partitions/hit/seek`;
    expect(await broker.post(hit, { toEnd: true })).toMatchObject({ status: 200 });
    await push('hit', 'y');
    const next = await broker.pop(partitionPath(queue, 'hit'), GROUP);
    expect(next.body.messages).toMatchObject([{ data: 'y'.repeat(300) }]);
  });
});
