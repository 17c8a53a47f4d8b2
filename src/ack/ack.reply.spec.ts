import { describe, expect, it } from '@jest/globals';
import type { AckItem } from './ack-item.js';
import { renderAckReply } from './ack.reply.js';
import { type AckResult, DONE, DONE_BEFORE, refused } from './ack-result.js';

function item(transactionId: string): AckItem {
  return {
    transactionId,
    partitionId: '',
    status: 'completed',
    leaseId: '',
    error: null,
    rawStatus: null,
    problem: null,
  };
}

async function render(ids: readonly string[], results: readonly AckResult[]): Promise<unknown> {
  return JSON.parse((await renderAckReply(ids.map(item), results)).toString());
}

describe('renderAckReply', () => {
  it('is an empty array for no acks', async () => {
    expect((await renderAckReply([], [])).toString()).toBe('[]');
  });

  it('has every key on every item, in order', async () => {
    const bytes = await renderAckReply([item('a')], [DONE]);
    expect(bytes.toString()).toBe(
      '[{"index":0,"transactionId":"a","success":true,"error":null,"leaseReleased":true,"dlq":false,"noop":false}]',
    );
    expect(
      await render(['a', 'b', 'c'], [DONE_BEFORE, refused('no "lease"'), { ...DONE, dlq: true }]),
    ).toEqual([
      {
        index: 0,
        transactionId: 'a',
        success: true,
        error: null,
        leaseReleased: true,
        dlq: false,
        noop: true,
      },
      {
        ...{ index: 1, transactionId: 'b', success: false, error: 'no "lease"' },
        ...{ leaseReleased: false, dlq: false, noop: false },
      },
      {
        index: 2,
        transactionId: 'c',
        success: true,
        error: null,
        leaseReleased: true,
        dlq: true,
        noop: false,
      },
    ]);
  });

  it('spells any transactionId so that it comes back', async () => {
    const ids = ['"', '\\', '\n', '\u2028', '😀', '', '{"index":1}'];
    const reply = (await render(
      ids,
      ids.map(() => DONE),
    )) as { transactionId: string }[];
    expect(reply.map(({ transactionId }) => transactionId)).toEqual(ids);
  });

  it('keeps its order over many turns', async () => {
    const ids = Array.from({ length: 20_000 }, (_, i) => `id-${i}`);
    const results = ids.map((_, i) => (i % 3 === 0 ? DONE_BEFORE : DONE));
    const reply = (await render(ids, results)) as { index: number; transactionId: string; noop: boolean }[];
    expect(reply).toHaveLength(20_000);
    expect(
      reply.every(
        ({ index, transactionId, noop }, i) =>
          index === i && transactionId === ids[i] && noop === (i % 3 === 0),
      ),
    ).toBe(true);
  });
});
