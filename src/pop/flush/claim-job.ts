import type { CancelTimer } from '../../base/clock/clock.js';
import { AbortedError } from '../../base/errors/aborted-error.js';
import { FifoItem } from '../../base/fifo.js';
import type { ClaimedPartition } from '../claim.js';
import type { PopRequest } from '../pop.request.js';

/** What a pop asks for when it shares its claim with others. */
export interface SharedClaim {
  readonly request: PopRequest;
  readonly gone: AbortSignal;
  /** How long it may wait for its turn; undefined: as long as anybody. */
  readonly waitMs: number | undefined;
  /** Asked in the turn in which its claim would begin: nothing to be had any more, so it costs no connection. */
  isMoot(): boolean;
}

/**
 * One pop between asking for its claim and having it. It ends once: claimed, failed, its time up, or its client gone.
 * The end leaves the line, cancels the timer and takes the abort listener off; the listener is the job itself, so that a
 * waiting pop costs no closure for it.
 */
export class ClaimJob extends FifoItem<ClaimJob> {
  cancelTimer: CancelTimer | null = null;
  hasEnded = false;

  /** @param namesLeft candidates it may still ask for; a small batch takes few at a time, and all may be in vain */
  constructor(
    readonly claim: SharedClaim,
    public namesLeft: number,
    private readonly resolve: (claimed: ClaimedPartition[]) => void,
    private readonly reject: (error: Error) => void,
  ) {
    super();
    claim.gone.addEventListener('abort', this);
  }

  get request(): PopRequest {
    return this.claim.request;
  }

  deliver(claimed: readonly ClaimedPartition[]): void {
    if (this.end()) this.resolve([...claimed]);
  }

  fail(error: Error): void {
    if (this.end()) this.reject(error);
  }

  /** The client left. */
  handleEvent(): void {
    this.fail(new AbortedError());
  }

  private end(): boolean {
    if (this.hasEnded) return false;
    this.hasEnded = true;
    this.line?.remove(this);
    this.cancelTimer?.();
    this.claim.gone.removeEventListener('abort', this);
    return true;
  }
}
