import { beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '../base/clock/manual-clock.js';
import { decodeSegment, encodeSegment } from '../segment/segment.js';
import { mintUuid } from '../segment/uuid-v7.js';
import type { Frame } from '../segment/frame.js';
import { AckRegistry } from './ack-registry.js';
import { fingerprintOf } from './fingerprint.js';
import { IdHashes } from './id-hashes.js';
import { PartitionMemo } from './partition-memo.js';

const P1 = '00000000-0000-7000-8000-000000000001';
const P2 = '00000000-0000-7000-8000-000000000002';
const terms = { group: 'g', worker: 'w1', leaseMs: 30_000 };

let registry: AckRegistry;

function framesOf(ids: readonly string[]): Frame[] {
  const frames = ids.map((id) => ({
    messageId: mintUuid(1),
    transactionId: Buffer.from(id),
    payload: Buffer.from('{}'),
    encrypted: false,
  }));
  return decodeSegment(encodeSegment(frames), ids.length).frames();
}

function head(partitionId: string, batchEnd: number, messages: number) {
  return { partitionId, partition: 'eu', key: 'tenant\u001forders', batchEnd, messages };
}

function take(partitionId: string, ids: readonly string[]) {
  const hashes = new IdHashes(ids.length);
  for (const id of ids) hashes.addText(id);
  return registry.take(partitionId, 'g', 'w1', fingerprintOf(hashes.view));
}

beforeEach(() => {
  registry = new AckRegistry({ enabled: true, bytesMax: 1_000_000 }, new ManualClock(), new PartitionMemo());
});

describe('LeaseCollector', () => {
  it('registers each partition with what was written of it', () => {
    const collector = registry.collect(terms);
    collector.begin(head(P1, 6, 3));
    // A batch may be cut from several segments.
    for (const frame of framesOf(['a', 'bé'])) collector.onFrame!(frame);
    for (const frame of framesOf(['c'])) collector.onFrame!(frame);
    collector.begin(head(P2, 0, 1));
    for (const frame of framesOf(['d'])) collector.onFrame!(frame);
    collector.finish();

    expect(take(P1, ['c', 'bé', 'a'])).toEqual({ batchEnd: 6, count: 3 });
    expect(take(P2, ['d'])).toEqual({ batchEnd: 0, count: 1 });
  });

  it('never lets a batch be completed as one that was not written in full', () => {
    const collector = registry.collect(terms);
    collector.begin(head(P1, 6, 3));
    for (const frame of framesOf(['a', 'b'])) collector.onFrame!(frame);
    collector.finish();

    expect(take(P1, ['a', 'b'])).toBeNull();
    expect(registry.partitionsOf('w1')).toEqual([P1]);
  });

  it('registers once, however often it is finished', () => {
    const collector = registry.collect(terms);
    collector.begin(head(P1, 0, 1));
    for (const frame of framesOf(['a'])) collector.onFrame!(frame);
    collector.finish();
    registry.drop(P1, 'g', 'w1');
    collector.finish();
    expect(registry.stats().entries).toBe(0);
  });

  it('asks for no frame when the registry is off, and still names partitions for renewals', () => {
    registry = new AckRegistry(
      { enabled: false, bytesMax: 1_000_000 },
      new ManualClock(),
      new PartitionMemo(),
    );
    const collector = registry.collect(terms);
    expect(collector.onFrame).toBeUndefined();
    collector.begin(head(P1, 0, 1));
    collector.finish();
    expect(take(P1, ['a'])).toBeNull();
    expect(registry.partitionsOf('w1')).toEqual([P1]);
  });
});
