import type { CancelTimer } from '../base/clock/clock.js';
import { FifoItem } from '../base/fifo.js';
import type { WakeTicket } from './wake-ticket.js';

/** Does memory say that a look would find nothing? Undefined when nothing in memory speaks for this pop. */
export type StillQuiet = () => boolean | undefined;

/**
 * One parked pop. It ends once: woken, timed out, or the client left. Every end leaves the line, cancels the timer
 * and takes the abort listener off; the listener is the waiter itself, so that a parked pop costs no closure for it.
 */
export class Waiter extends FifoItem<Waiter> {
  /** Number of its list when it lined up: only later openings are meant for it. */
  since = 0;
  cancelTimer: CancelTimer | null = null;
  private ended = false;

  constructor(
    readonly ticket: WakeTicket,
    readonly untilMs: number,
    readonly stillQuiet: StillQuiet | null,
    private readonly gone: AbortSignal,
    private readonly leave: (woken: boolean) => void,
  ) {
    super();
    gone.addEventListener('abort', this);
  }

  /** The client left. */
  handleEvent(): void {
    this.end(false);
  }

  end(woken: boolean): void {
    if (this.ended) return;
    this.ended = true;
    this.line?.remove(this);
    this.cancelTimer?.();
    this.gone.removeEventListener('abort', this);
    this.leave(woken);
  }
}
