import type { CancelTimer } from '../base/clock/clock.js';
import { AbortedError } from '../base/errors/aborted-error.js';
import { FifoItem } from '../base/fifo.js';
import type { Permit } from './permit.js';
import type { Queued } from './fair-queue.js';

/**
 * One wait for a permit. It ends once: granted, refused (time is up), or the client left. Every end cancels the
 * timer and takes the abort listener off; `leave` takes it out of the queue before anybody is told, so an
 * aborted waiter can never be handed a grant (L3).
 */
export class PermitWaiter extends FifoItem<PermitWaiter> implements Queued {
  cancelTimer: CancelTimer | null = null;

  constructor(
    readonly order: number,
    readonly key: string | null,
    readonly sinceMs: number,
    private readonly gone: AbortSignal | null,
    private readonly leave: (waiter: PermitWaiter) => void,
    private readonly resolve: (permit: Permit) => void,
    private readonly reject: (error: Error) => void,
  ) {
    super();
    gone?.addEventListener('abort', this);
  }

  grant(permit: Permit): void {
    this.end();
    this.resolve(permit);
  }

  refuse(error: Error): void {
    this.end();
    this.reject(error);
  }

  /** The listener is the waiter itself: no closure for each of thousands of waiters. */
  handleEvent(): void {
    this.refuse(new AbortedError());
  }

  private end(): void {
    this.leave(this);
    this.cancelTimer?.();
    this.gone?.removeEventListener('abort', this);
  }
}
