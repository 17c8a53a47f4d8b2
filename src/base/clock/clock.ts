/**
 * Two clocks, never compared. `monoMs` orders waits and deadlines inside this process and never jumps;
 * `wallMs` is only for times that arrive from the database as wall time (lease expiries, revisit times).
 * Everything that waits takes a Clock, so that a unit spec runs without real time.
 */
export interface Clock {
  /** Milliseconds on a clock that never goes back. Only differences mean anything. */
  monoMs(): number;
  /** Milliseconds since the epoch, as this machine believes. */
  wallMs(): number;
  /** Calls back once after `delayMs`; the result cancels it. The timer never keeps the process alive. */
  after(delayMs: number, callback: () => void): CancelTimer;
}

export type CancelTimer = () => void;

export const CLOCK = Symbol('Clock');

export class SystemClock implements Clock {
  monoMs(): number {
    return performance.now();
  }

  wallMs(): number {
    return Date.now();
  }

  after(delayMs: number, callback: () => void): CancelTimer {
    const timer = setTimeout(callback, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  }
}
