import type { BrokerError } from '../base/errors/broker-error.js';
import { frameSize, type FrameInput } from '../segment/frame.js';
import type { Countdown } from './countdown.js';
import type { PartitionTarget } from './partition-target.js';

/** `buffered`: on the broker's disk, to be stored when the database is back (or push maintenance ends). */
export type PushStatus = 'queued' | 'duplicate' | 'buffered' | 'failed';

/** What the client is told about one item of its push. */
export interface PushResult {
  readonly queue: string;
  /** Null only while the verdict is still out. */
  readonly status: PushStatus | null;
  /** 16 bytes: the id of the stored message, which for a duplicate is the original's. */
  readonly resultId: Buffer;
  /** UTF-8; as text for an item that could not be stored, which UTF-8 may be unable to hold. */
  readonly transactionId: Buffer | string;
  readonly failure: { readonly code: string; readonly message: string } | null;
}

export interface MessageTraits {
  /** The payload is an envelope. */
  readonly encrypted?: boolean;
  /** The authenticated producer's `sub`, UTF-8. */
  readonly producerSub?: Buffer | null;
  /** Out of the spool: it goes to the database or back to whoever replays it, never into the spool again. */
  readonly isReplay?: boolean;
}

/**
 * One message between the request that brought it and its verdict. A follower has the transactionId of an earlier
 * message on its way to the same partition (its leader): it is not stored and gets the leader's verdict.
 */
export class PushMessage implements FrameInput, PushResult {
  readonly encrypted: boolean;
  readonly producerSub: Buffer | null;
  readonly isReplay: boolean;
  /** In the segment, before compression. */
  readonly bytes: number;
  status: PushStatus | null = null;
  resultId: Buffer;
  failure: BrokerError | null = null;
  private followers: PushMessage[] | null = null;

  constructor(
    readonly target: PartitionTarget,
    /** Everything of one HTTP request waits for the same countdown. */
    readonly request: Countdown,
    readonly messageId: Buffer,
    readonly transactionId: Buffer,
    /** The broker made the transactionId, so nobody can have sent it before. */
    readonly isMinted: boolean,
    readonly traceId: Buffer | null,
    readonly headers: Buffer | null,
    readonly payload: Buffer,
    { encrypted = false, producerSub = null, isReplay = false }: MessageTraits = {},
  ) {
    this.encrypted = encrypted;
    this.producerSub = producerSub;
    this.isReplay = isReplay;
    this.resultId = messageId;
    this.bytes = frameSize(this);
    request.add();
  }

  get queue(): string {
    return this.target.queue;
  }

  lead(follower: PushMessage): void {
    (this.followers ??= []).push(follower);
  }

  queued(): void {
    this.settle('queued', this.messageId, null);
  }

  /** `originalId`: 16 bytes, nil when the original is gone. */
  duplicateOf(originalId: Buffer): void {
    this.settle('duplicate', originalId, null);
  }

  buffered(): void {
    this.settle('buffered', this.messageId, null);
  }

  failed(error: BrokerError): void {
    this.settle('failed', this.messageId, error);
  }

  /** The first verdict stands: a fault while verdicts are handed out fails only those that have none yet. */
  private settle(status: PushStatus, resultId: Buffer, failure: BrokerError | null): void {
    if (this.status !== null) return;
    this.status = status;
    this.resultId = resultId;
    this.failure = failure;
    if (this.followers) {
      const inherited = status === 'queued' ? 'duplicate' : status;
      for (const follower of this.followers) follower.settle(inherited, resultId, failure);
    }
    this.request.takeOff();
  }
}

/** An item of the right shape that cannot be stored. */
export class RefusedItem implements PushResult {
  readonly status = 'failed';

  constructor(
    readonly queue: string,
    readonly resultId: Buffer,
    readonly transactionId: string,
    readonly failure: { readonly code: string; readonly message: string },
  ) {}
}
