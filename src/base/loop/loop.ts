import { Logger } from '@nestjs/common';

/**
 * A background loop: never overlaps itself, survives its own errors, knows the age of its last good run, and stops
 * on shutdown after the run under way. The pause is counted from the end of a run.
 */
export class Loop {
  private readonly logger: Logger;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private stopping = false;
  private isDueAgain = false;
  private lastGoodMs = performance.now();
  private failures = 0;

  constructor(
    readonly name: string,
    private readonly periodMs: number,
    private readonly run: () => Promise<void>,
    private readonly firstDelayMs = periodMs,
  ) {
    this.logger = new Logger(`Loop ${name}`);
  }

  get isStopping(): boolean {
    return this.stopping;
  }

  /** Milliseconds since the last run that ended well (or since the start). */
  get ageMs(): number {
    return performance.now() - this.lastGoodMs;
  }

  start(): void {
    if (!this.timer && !this.stopping) this.schedule(this.firstDelayMs);
  }

  /** Runs now, or joins the run under way. */
  runNow(): Promise<void> {
    clearTimeout(this.timer);
    this.running ??= this.once();
    return this.running;
  }

  /** There is news: runs now, and once more when a run is under way, whose reading may be older than the news. */
  nudge(): void {
    if (this.stopping) return;
    if (this.running) this.isDueAgain = true;
    else void this.runNow();
  }

  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private schedule(delayMs: number): void {
    this.timer = setTimeout(() => void this.runNow(), delayMs);
    this.timer.unref();
  }

  private async once(): Promise<void> {
    try {
      await this.run();
      this.lastGoodMs = performance.now();
      this.failures = 0;
    } catch (error) {
      this.failures++;
      // Third failure, then powers of two: an outage of hours must not fill the log.
      if (this.failures === 1 || (this.failures & (this.failures - 1)) === 0) {
        this.logger.warn(`failed ${this.failures} times: ${(error as Error).message}`);
      }
    } finally {
      this.running = undefined;
      const delayMs = this.isDueAgain ? 0 : this.periodMs;
      this.isDueAgain = false;
      if (!this.stopping) this.schedule(delayMs);
    }
  }
}
