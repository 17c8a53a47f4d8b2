/** What became of one acknowledgement. */
export interface AckResult {
  readonly success: boolean;
  readonly error: string | null;
  /** It was completed before. */
  readonly noop: boolean;
  /** The head of its group was put aside as a dead letter. */
  readonly dlq: boolean;
}

export const DONE: AckResult = { success: true, error: null, noop: false, dlq: false };
export const DONE_BEFORE: AckResult = { success: true, error: null, noop: true, dlq: false };

export function refused(error: string): AckResult {
  return { success: false, error, noop: false, dlq: false };
}

export const STALE_ERROR = 'already committed: the cursor moved past this message before this ack';
/** Of a partition that does not exist just as of another tenant's: whether it exists is not this tenant's to know. */
export const NOT_OWNED_ERROR = 'partition not owned by tenant';
export const FLUSH_FAILED_ERROR = 'ack flush failed; lease will expire and redeliver';
