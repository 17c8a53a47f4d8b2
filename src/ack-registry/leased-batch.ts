import { FifoItem } from '../base/fifo.js';

/** One worker's lease, as handed out: all partitions of one pop. Evicted as a whole, so its partitions are all or none. */
export class WorkerLease extends FifoItem<WorkerLease> {
  readonly batches: LeasedBatch[] = [];

  constructor(
    readonly worker: string,
    /** Monotonic; a margin behind the lease's end in the database, since only memory depends on it. */
    public expiresAtMs: number,
  ) {
    super();
  }
}

/** The part of a lease in one partition. */
export interface LeasedBatch {
  readonly lease: WorkerLease;
  readonly slot: string;
  readonly partitionId: string;
  /** Offset of the last message handed out. */
  readonly batchEnd: number;
  /** Messages handed out, repeated transactionIds included. */
  readonly messages: number;
  /** Fingerprint of the transactionIds; '' once no ack can complete the batch by itself any more. */
  digest: string;
}

/** A batch is found by partition and group, for which there is at most one lease. Ids have one length: no separator. */
export function slotOf(partitionId: string, group: string): string {
  return partitionId + group;
}

/** Measured heap of an entry, without the texts whose length varies. */
const LEASE_BYTES = 330;
const BATCH_BYTES = 220;

export function leaseBytes(worker: string): number {
  return LEASE_BYTES + worker.length;
}

export function batchBytes(slot: string): number {
  return BATCH_BYTES + slot.length;
}
