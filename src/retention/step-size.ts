/** A push to the partition waits this long for a step, so steps aim below it. */
const TARGET_MS = 100;

/**
 * How many rows a step takes on. It shrinks when a step took long or ran into the statement timeout, and grows back
 * while steps are quick: a job that never fits into the timeout would never be done (field case A19). Pure.
 */
export class StepSize {
  private rows: number;

  constructor(private readonly max: number) {
    this.rows = max;
  }

  get value(): number {
    return this.rows;
  }

  took(ms: number): void {
    if (ms > TARGET_MS) this.rows = Math.max(1, this.rows >> 1);
    else if (ms < TARGET_MS / 4) this.rows = Math.min(this.max, this.rows * 2);
  }

  /** False when it cannot become smaller. */
  timedOut(): boolean {
    if (this.rows === 1) return false;
    this.rows = Math.max(1, this.rows >> 3);
    return true;
  }
}
