/** A queue's settings as last read from the database. */
export interface QueueConfig {
  readonly id: string;
  readonly leaseSeconds: number;
  readonly delayedMs: number;
  readonly windowMs: number;
  readonly minPopWaitMs: number;
  readonly encryptionEnabled: boolean;
}
