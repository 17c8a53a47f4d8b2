import type { BufferStats } from '../buffer-stats.js';
import type { BrokerError } from '../errors/broker-error.js';

/** One message as it goes to the spool and comes back: all that a push stores. */
export interface SpoolMessage {
  readonly target: SpoolTarget;
  /** 16 bytes. */
  readonly messageId: Buffer;
  /** UTF-8; fixed before the message is written, since it is what a replay is recognised by. */
  readonly transactionId: Buffer;
  /** 16 bytes. */
  readonly traceId: Buffer | null;
  /** UTF-8. */
  readonly producerSub: Buffer | null;
  /** Raw JSON text. */
  readonly headers: Buffer | null;
  /** Raw JSON text; an envelope when `encrypted`. */
  readonly payload: Buffer;
  readonly encrypted: boolean;
}

export interface SpoolTarget {
  readonly tenant: string;
  readonly queue: string;
  readonly partition: string;
}

export interface SpoolStats extends BufferStats {
  /** The last write reached the disk. */
  diskHealthy: boolean;
  files: number;
  /** Of all files, those set aside included. */
  bytes: number;
  failedFiles: number;
  failedBytes: number;
  written: number;
  writeFailures: number;
  replayed: number;
  /** Age of the oldest message waiting; null when none is. Beyond a queue's dedup window a replay may repeat messages. */
  oldestAgeMs: number | null;
}

/**
 * Where pushes go while PostgreSQL is away or push maintenance is on (serve-path 10). Push knows this much of it and no
 * more; without anybody who provides it, such pushes fail.
 */
export abstract class PushSpool {
  /** False: nothing may be written, and a push fails with its own error. */
  abstract readonly isEnabled: boolean;

  /** Whether messages for this partition must not go to the database now. */
  abstract diverts(target: SpoolTarget): boolean;

  /**
   * Resolves when all of it is on the disk. Calls are written in their order.
   * @throws BrokerError `spool_failed`: the messages are not accepted
   */
  abstract write(messages: readonly SpoolMessage[]): Promise<void>;

  /** The database failed a push as something that is not there. */
  abstract databaseAway(): void;

  /** The database stored a push. */
  abstract databaseAnswered(): void;

  abstract stats(): SpoolStats;
}

/** The way back, provided by push: what was spooled is stored like any other push, with a full look for duplicates. */
export abstract class PushReplay {
  /** One verdict each, in order: null when it is stored (or was before), else why not. Never rejects. */
  abstract replay(messages: readonly SpoolMessage[]): Promise<(BrokerError | null)[]>;
}
