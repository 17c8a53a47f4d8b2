import { beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { HotlistService } from '../hotlist/hotlist.service.js';
import type { SqlConnection } from '../raw-sql/connection-lease.js';
import { encodeSegment } from '../segment/segment.js';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import type { ClaimedPartition } from './claim.js';
import type { PutAsideArgs } from './pop.procedures.js';
import { PopRequestParser } from './pop.request.js';
import { PutAside } from './put-aside.js';

Logger.overrideLogger(false);

const request = new PopRequestParser(1000).parse({ scope: 'queue', queue: 'q' }, 'consumerGroup=g');
const [messageId, traceId] = [mintUuid(1), mintUuid(2)];
const blob = encodeSegment([
  {
    messageId: mintUuid(3),
    transactionId: Buffer.from('before'),
    payload: Buffer.from('1'),
    encrypted: false,
  },
  {
    ...{ messageId, traceId, transactionId: Buffer.from('poison'), payload: Buffer.from('{"n":1.0}') },
    ...{ headers: Buffer.from('{"a": "b"}'), producerSub: Buffer.from('sub'), encrypted: true },
  },
]);

const claimed = (attempt: number, partition = 'p', from = blob): ClaimedPartition => ({
  ...{ queue: 'q', partition, partitionId: `id of ${partition}`, attempt },
  segments: [{ base: 10, startIdx: 1, take: 1, messageCount: 2, createdAtMicros: 0, blob: from }],
});

describe('messages without deliveries left', () => {
  let claims: ClaimedPartition[][];
  let filed: PutAsideArgs[];
  let answer: () => unknown;
  let promoted: unknown[][];
  let putAside: PutAside;

  beforeEach(() => {
    filed = [];
    promoted = [];
    answer = () => ({ ok: true, id: 'x' });
    putAside = new PutAside({
      promote: (...args: unknown[]) => promoted.push(args),
    } as unknown as HotlistService);
  });

  const connection = {
    callOne: (procedure: { name: string }, args: PutAsideArgs) => {
      expect(procedure.name).toBe('log_put_aside_v1');
      filed.push(args);
      return Promise.resolve(answer());
    },
  } as unknown as SqlConnection;

  const pop = (...answers: ClaimedPartition[][]) => {
    claims = answers;
    return putAside.claim(connection, request, () => Promise.resolve(claims.shift() ?? []));
  };

  it('are no concern of a claim without any', async () => {
    const all = [claimed(1), claimed(7, 'q')];
    expect(await pop(all)).toBe(all);
    expect([filed, putAside.stats()]).toEqual([[], { filed: 0, failed: 0 }]);
  });

  it('are put aside as they are, and the rest is delivered', async () => {
    const rest = claimed(1, 'q');
    expect(await pop([claimed(0), rest])).toEqual([rest]);
    expect(filed).toEqual([
      {
        ...{ partitionId: 'id of p', group: 'g', worker: request.workerId, offset: 11 },
        ...{ messageId: uuidText(messageId), transactionId: 'poison', payload: '{"n":1.0}' },
        ...{ headers: '{"a": "b"}', traceId: uuidText(traceId), producerSub: 'sub', encrypted: true },
      },
    ]);
    expect(promoted).toEqual([[request.key, 'g', { name: 'p' }, false]]);
    expect(putAside.stats()).toEqual({ filed: 1, failed: 0 });
  });

  it('are not the end of a claim that brought nothing else: what lies behind them is claimed', async () => {
    const behind = claimed(1);
    expect(await pop([claimed(0)], [claimed(0)], [behind])).toEqual([behind]);
    expect(filed).toHaveLength(2);
  });

  it('keep one pop no longer than a few claims', async () => {
    const many = Array.from({ length: 50 }, () => [claimed(0)]);
    expect(await pop(...many)).toEqual([]);
    expect(claims).toHaveLength(42);
  });

  it.each([
    ['the lease was lost', () => ({ ok: false, error: 'invalid or expired lease' })],
    [
      'the statement fails',
      () => {
        throw new Error('away');
      },
    ],
  ])('are left to the next pop when %s; nobody else suffers', async (_, failing) => {
    answer = failing;
    const rest = claimed(1, 'q');
    expect(await pop([claimed(0), rest])).toEqual([rest]);
    expect([promoted, putAside.stats()]).toEqual([[], { filed: 0, failed: 1 }]);
  });

  it('are put aside without content when their segment is damaged', async () => {
    const damaged = Buffer.from(blob);
    damaged[damaged.length - 1] ^= 1;
    await pop([claimed(0, 'p', damaged)]);
    expect(filed).toMatchObject([
      { offset: 11, messageId: null, transactionId: null, payload: null, encrypted: false },
    ]);
  });
});
