import { describe, expect, it } from '@jest/globals';
import type { QueueEncryption } from '../encryption/queue-encryption.js';
import type { PushItem } from '../push/push-item.js';
import { decodeSegment } from '../segment/segment.js';
import { hashTransactionIds } from '../segment/transaction-hash.js';
import { uuidText } from '../segment/uuid-v7.js';
import { packPushes } from './pack-pushes.js';

function item(partition: string, transactionId: string | null, payload = '1'): PushItem {
  const bytes = Buffer.from(payload);
  return {
    queue: 'q',
    partition,
    transactionId,
    traceId: null,
    headers: null,
    payload: bytes,
    problem: null,
  };
}

const plain = { seals: () => false } as unknown as QueueEncryption;

const pack = (items: PushItem[], encryption = plain) => packPushes('t', items, 1000, encryption, null);

const idsIn = (blob: Buffer, count: number) =>
  decodeSegment(blob, count)
    .frames()
    .map(({ transactionId }) => transactionId.toString());

describe('packing pushes', () => {
  it('makes one segment per partition, in the order of first items', async () => {
    const { segments } = await pack([item('a', 't1'), item('b', 't1'), item('a', 't2')]);
    expect(segments.map(({ target, count, blob }) => [target.partition, idsIn(blob, count)])).toEqual([
      ['a', ['t1', 't2']],
      ['b', ['t1']],
    ]);
    expect(segments[0].hashes).toEqual(hashTransactionIds(['t1', 't2']));
  });

  it('leaves out repetitions inside a partition; they get the id of the first', async () => {
    const { segments, items } = await pack([item('a', 't'), item('a', 't'), item('b', 't')]);
    expect(segments.map(({ count }) => count)).toEqual([1, 1]);
    expect(items.map(({ isRepetition }) => isRepetition)).toEqual([false, true, false]);
    expect(items[1].messageId).toBe(items[0].messageId);
    expect(items[2].messageId).not.toEqual(items[0].messageId);
  });

  it('takes the message id for an id that is absent or empty, and asks nobody for those', async () => {
    const { segments, items } = await pack([
      item('a', null),
      item('a', ''),
      item('b', 'given'),
      item('b', null),
    ]);
    for (const at of [0, 1, 3]) expect(items[at].transactionId).toBe(uuidText(items[at].messageId));
    expect(segments.map(({ verified }) => verified)).toEqual([Number.MAX_SAFE_INTEGER, -1]);
  });

  it('goes on in the next segment by number and by size', async () => {
    const many = Array.from({ length: 12_001 }, (_, i) => item('a', `t${i}`));
    const { segments } = await pack(many);
    expect(segments.map(({ count }) => count)).toEqual([5000, 5000, 2001]);
    expect(segments.flatMap(({ blob, count }) => idsIn(blob, count))).toEqual(
      many.map((one) => one.transactionId),
    );

    const big = `"${'x'.repeat(3 * 1024 * 1024)}"`;
    const bySize = await pack([item('a', '1', big), item('a', '2', big), item('a', '3')]);
    expect(bySize.segments.map(({ count }) => count)).toEqual([1, 2]);
  });

  it('seals the payloads of encrypted queues, and marks them', async () => {
    const encryption = {
      seals: (tenant: string, queue: string) => tenant === 't' && queue === 'secret',
      seal: (payload: Buffer) => Buffer.from(`sealed ${payload}`),
    } as unknown as QueueEncryption;
    const secret = { ...item('a', 't2', '2'), queue: 'secret' };
    const { segments } = await pack([item('a', 't1', '1'), secret], encryption);
    const frames = segments.map(({ blob }) => decodeSegment(blob, 1).frames()[0]);
    expect(frames.map(({ payload, encrypted }) => [payload.toString(), encrypted])).toEqual([
      ['1', false],
      ['sealed 2', true],
    ]);
  });

  it('of nothing is nothing', async () => {
    expect(await pack([])).toEqual({ segments: [], items: [] });
  });
});
