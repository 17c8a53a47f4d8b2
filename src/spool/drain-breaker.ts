const FAILURES_MAX = 10;
const PAUSE_MS = 5000;

/**
 * How often a database that is away is asked: ten failures in a row, then once in five seconds. A push that the
 * database stores meanwhile ends the pause. Pure.
 */
export class DrainBreaker {
  private failures = 0;
  private closedUntilMs = -Infinity;

  mayTry(nowMs: number): boolean {
    return nowMs >= this.closedUntilMs;
  }

  failed(nowMs: number): void {
    this.failures += 1;
    if (this.failures >= FAILURES_MAX) this.closedUntilMs = nowMs + PAUSE_MS;
  }

  succeeded(): void {
    this.failures = 0;
    this.closedUntilMs = -Infinity;
  }
}
