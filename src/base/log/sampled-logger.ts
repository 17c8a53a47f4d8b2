import { Logger } from '@nestjs/common';
import { LogSampler } from './log-sampler.js';

/** A logger for hot paths: of each kind of line, one in ten seconds and the number of those held back. */
export class SampledLogger {
  private readonly logger: Logger;
  private readonly sampler: LogSampler;

  /** @param nowMs a monotonic clock, in milliseconds */
  constructor(context: string, nowMs?: () => number) {
    this.logger = new Logger(context);
    this.sampler = new LogSampler(nowMs);
  }

  /** @param kind what is counted together; a word, or a word with a code or an id */
  warn(kind: string, line: string): void {
    const passed = this.sampler.pass(kind, line);
    if (passed !== null) this.logger.warn(passed);
  }

  error(kind: string, line: string, stack?: string): void {
    const passed = this.sampler.pass(kind, line);
    if (passed !== null) this.logger.error(passed, stack);
  }
}
