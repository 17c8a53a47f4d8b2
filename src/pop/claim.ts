/** One claimed slice of a stored segment: frames [startIdx, startIdx + take) of the blob based at `base`. */
export interface ClaimedSegment {
  readonly base: number;
  readonly startIdx: number;
  readonly take: number;
  readonly messageCount: number;
  readonly createdAtMicros: number;
  readonly blob: Buffer;
}

/** What one pop claimed of one partition, segments in offset order. */
export interface ClaimedPartition {
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  /**
   * How often this batch's first message was handed out, this time included. 0: this is no delivery, the one message
   * has used up its deliveries and is leased to be put aside.
   */
  readonly attempt: number;
  readonly segments: ClaimedSegment[];
}

/** The last offset of a claim; the lease covers (committed, batchEnd]. */
export function batchEndOf(claimed: ClaimedPartition): number {
  const last = claimed.segments.at(-1)!;
  return last.base + last.startIdx + last.take - 1;
}
