import { BrokerError } from '../base/errors/broker-error.js';
import { byteaArray, int4Array, int8Array, textArray, uuidArray } from '../raw-sql/binary-array.js';
import { procedure, scalarProcedure } from '../raw-sql/procedure.js';
import type { DedupPromise, Suspect } from './dedup/dedup-promise.js';
import type { PartitionTarget } from './partition-target.js';

/** Messages of one partition that are stored together. */
export interface SegmentArgs {
  readonly target: PartitionTarget;
  /** Messages in the blob. */
  readonly count: number;
  /** 16 bytes per message, in frame order. */
  readonly hashes: Buffer;
  readonly blob: Buffer;
}

/** One segment as log_push_multi_v1 takes it. */
export interface PushSegmentArgs extends SegmentArgs {
  /** None of the hashes exists at or below this offset; -1 promises nothing. */
  readonly verified: number;
}

/** One segment as log_push_multi_v2 takes it. */
export interface VouchedSegmentArgs extends SegmentArgs {
  readonly promise: DedupPromise;
}

export type PushVerdict = (
  | { readonly status: 'queued'; readonly baseOffset: number; readonly createdAt: string }
  /**
   * Nothing was written. Frame `i` is known since offset `off`; at least one, ascending by `i`. When suspects were named,
   * the others have not been looked at.
   */
  | { readonly status: 'duplicate'; readonly dups: readonly { readonly i: number; readonly off: number }[] }
) & {
  /** Told when the promise was put aside, and when none was made: the partition, and its dedup window in seconds. */
  readonly partitionId?: string;
  readonly window?: number;
};

const NIL_ID = '00000000-0000-0000-0000-000000000000';

/** All segments in one transaction; one verdict per segment, in the order given. */
export const logPushMultiV2 = scalarProcedure<readonly VouchedSegmentArgs[], PushVerdict[]>({
  name: 'log_push_multi_v2',
  parameterTypes: [
    ...['text[]', 'text[]', 'int[]', 'bytea[]', 'bigint[]', 'bytea[]', 'uuid[]'],
    ...['uuid[]', 'bigint[]', 'jsonb'],
  ],
  values: (segments) => [
    textArray(segments.map(({ target }) => target.queue)),
    textArray(segments.map(({ target }) => target.partition)),
    int4Array(segments.map(({ count }) => count)),
    byteaArray(segments.map(({ hashes }) => hashes)),
    int8Array(segments.map(({ promise }) => promise.verified)),
    byteaArray(segments.map(({ blob }) => blob)),
    uuidArray(segments.map(({ target }) => target.tenant)),
    uuidArray(segments.map(({ promise }) => (promise.isBound ? (promise.partitionId ?? NIL_ID) : NIL_ID))),
    int8Array(segments.map(({ promise }) => promise.sinceMicros)),
    suspectsText(segments),
  ],
});

/** By place of the segment; null when there are none, which is usual. */
function suspectsText(segments: readonly VouchedSegmentArgs[]): string | null {
  let byPlace: Record<string, readonly Suspect[]> | null = null;
  for (const [place, { promise }] of segments.entries()) {
    if (promise.suspects.length > 0) (byPlace ??= {})[place] = promise.suspects;
  }
  return byPlace && JSON.stringify(byPlace);
}

/** Verdicts that do not fit the segments would be handed to the wrong clients, so they are refused as a whole. */
export function checkVerdicts(verdicts: PushVerdict[], segments: readonly SegmentArgs[]): PushVerdict[] {
  if (!Array.isArray(verdicts) || verdicts.length !== segments.length) {
    throw new BrokerError('internal', 'the push procedure answered for another number of segments');
  }
  verdicts.forEach((verdict, k) => {
    if (verdict.status === 'queued') return;
    const { count } = segments[k];
    const fits = verdict.dups?.length > 0 && verdict.dups.every(({ i }) => i >= 0 && i < count);
    if (verdict.status !== 'duplicate' || !fits) {
      throw new BrokerError('internal', 'the push procedure gave a verdict that does not fit its segment');
    }
  });
  return verdicts;
}

export interface OriginalsArgs {
  readonly partitions: readonly {
    readonly target: PartitionTarget;
    /** Ascending. */
    readonly offsets: readonly number[];
  }[];
  /** Stop after the segment that brings the blobs to this size. */
  readonly bytesMax: number;
}

export interface StoredSegment {
  /** Which of the partitions asked for. */
  readonly index: number;
  readonly base: number;
  readonly end: number;
  readonly blob: Buffer;
}

/** Each stored segment that holds at least one of the offsets, once, in the order asked for. */
export const logOriginalsV1 = procedure<OriginalsArgs, StoredSegment>({
  name: 'log_originals_v1',
  parameterTypes: ['text[]', 'text[]', 'uuid[]', 'int[]', 'bigint[]', 'bigint'],
  values: ({ partitions, bytesMax }) => [
    textArray(partitions.map(({ target }) => target.queue)),
    textArray(partitions.map(({ target }) => target.partition)),
    uuidArray(partitions.map(({ target }) => target.tenant)),
    int4Array(partitions.map(({ offsets }) => offsets.length)),
    int8Array(partitions.flatMap(({ offsets }) => offsets)),
    bytesMax,
  ],
  row: ([index, base, end, blob]) => ({
    index: index as number,
    base: base as number,
    end: end as number,
    blob: blob as Buffer,
  }),
});
