import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import { renderPushResults } from './push.reply.js';
import type { PushResult, PushStatus } from './push-message.js';

const id = mintUuid(1_700_000_000_000);

function result(values: Partial<PushResult> = {}): PushResult {
  return {
    queue: 'orders',
    status: 'queued',
    resultId: id,
    transactionId: Buffer.from('t'),
    failure: null,
    ...values,
  };
}

async function rendered(results: PushResult[]): Promise<unknown> {
  return JSON.parse((await renderPushResults(results)).toString());
}

describe('renderPushResults', () => {
  it('writes an empty list', async () => {
    expect((await renderPushResults([])).toString()).toBe('[]');
  });

  it('writes exactly the keys clients read, in a stable order', async () => {
    const bytes = await renderPushResults([result(), result({ status: 'duplicate', queue: 'other' })]);
    expect(bytes.toString()).toBe(
      `[{"index":0,"message_id":"${uuidText(id)}","transaction_id":"t","queueName":"orders","status":"queued"},` +
        `{"index":1,"message_id":"${uuidText(id)}","transaction_id":"t","queueName":"other","status":"duplicate"}]`,
    );
  });

  it('adds error and code to failed items only', async () => {
    const failure = { code: 'bad_name', message: 'queue must not hold "x"' };
    expect(await rendered([result({ status: 'failed', failure }), result()])).toEqual([
      {
        index: 0,
        message_id: uuidText(id),
        transaction_id: 't',
        queueName: 'orders',
        status: 'failed',
        error: failure.message,
        code: 'bad_name',
      },
      expect.not.objectContaining({ error: expect.anything() }),
    ]);
  });

  it('gives back every text, whatever is in it, as bytes and as text', async () => {
    const status = fc.constantFrom<PushStatus>('queued', 'duplicate', 'failed');
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('"', '\\', '\n', '\u0000'),
    );
    const anything = fc.record({
      queue: text,
      transactionId: text,
      asText: fc.boolean(),
      status,
      message: text,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { maxLength: 30 }), async (all) => {
        const results = all.map(({ queue, transactionId, asText, status, message }) =>
          result({
            queue,
            status,
            transactionId: asText ? transactionId : Buffer.from(transactionId),
            failure: { code: 'internal', message },
          }),
        );
        expect(await rendered(results)).toEqual(
          all.map(({ queue, transactionId, status, message }, index) => ({
            index,
            message_id: uuidText(id),
            transaction_id: transactionId,
            queueName: queue,
            status,
            ...(status === 'failed' ? { error: message, code: 'internal' } : {}),
          })),
        );
      }),
    );
  });

  it('shows the text of an item that UTF-8 cannot hold', async () => {
    const failed = { status: 'failed', failure: { code: 'bad_body', message: 'm' } } as const;
    expect(await rendered([result({ ...failed, transactionId: '\ud83d', queue: '\ud83d' })])).toMatchObject([
      { transaction_id: '\ud83d', queueName: '\ud83d' },
    ]);
  });

  it('cuts long lists into slices without a seam', async () => {
    const results = Array.from({ length: 3_456 }, (_, n) => result({ transactionId: Buffer.from(`t${n}`) }));
    const list = (await rendered(results)) as { index: number; transaction_id: string }[];
    expect(list.map(({ index }) => index)).toEqual(results.map((_, n) => n));
    expect(list.map(({ transaction_id }) => transaction_id)).toEqual(results.map((_, n) => `t${n}`));
    expect(JSON.parse((await renderPushResults(results.slice(0, 1_000))).toString())).toHaveLength(1_000);
  });
});
