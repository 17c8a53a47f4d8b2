import type { Frame } from '../segment/frame.js';
import { IdHashes } from './id-hashes.js';
import type { AckRegistry } from './ack-registry.js';

/** What all partitions of one leased pop share. */
export interface LeaseTerms {
  readonly group: string;
  /** The pop's worker id, which clients see as leaseId. */
  readonly worker: string;
  /** Null when the length is not known. */
  readonly leaseMs: number | null;
}

/** One partition of the pop, before its frames are written. */
export interface BatchHead {
  readonly partitionId: string;
  readonly partition: string;
  /** queueKey(tenant, queue) */
  readonly key: string;
  /** The last offset of the lease. */
  readonly batchEnd: number;
  /** Messages of the lease. */
  readonly messages: number;
}

/**
 * Gathers what a leased pop hands out while its answer is written, and tells the registry:
 * `begin()` each partition, `onFrame` each frame, `finish()` after the last.
 *
 * A partition with fewer frames than its lease has messages (a damaged segment) is registered as one that no ack
 * completes: acking it by position would step over what the client never saw.
 */
export class LeaseCollector {
  private head: BatchHead | null = null;
  private hashes: IdHashes | null = null;

  /** Undefined where nothing is fingerprinted, so that writing a frame costs nothing more. */
  readonly onFrame: ((frame: Frame) => void) | undefined;

  constructor(
    private readonly registry: AckRegistry,
    private readonly terms: LeaseTerms,
    fingerprints: boolean,
  ) {
    if (!fingerprints) return;
    this.onFrame = (frame) =>
      this.hashes!.addBytes(frame.buffer, frame.transactionIdStart, frame.transactionIdEnd);
  }

  begin(head: BatchHead): void {
    this.finish();
    this.head = head;
    this.hashes = this.onFrame ? new IdHashes(head.messages) : null;
  }

  finish(): void {
    const { head, hashes } = this;
    if (!head) return;
    this.head = null;
    const complete = hashes?.size === head.messages ? hashes : null;
    this.registry.register({ ...head, ...this.terms, hashes: complete });
  }
}
