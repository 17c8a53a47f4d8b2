import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';

const RESOLUTION_MS = 20;
const NANOS_PER_MS = 1e6;

export interface EventLoopDelay {
  avgMs: number;
  p99Ms: number;
  maxMs: number;
}

/** How late the event loop turns. Reading it starts a new window, so it has exactly one reader: the scrape. */
@Injectable()
export class EventLoop implements OnApplicationShutdown {
  private readonly histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.histogram.enable();
  }

  take(): EventLoopDelay {
    const { mean, max } = this.histogram;
    // The histogram measures whole intervals: what is above the resolution is the delay. Empty, its mean is NaN.
    const above = (nanos: number) =>
      Number.isFinite(nanos) ? Math.max(0, nanos / NANOS_PER_MS - RESOLUTION_MS) : 0;
    const delay = { avgMs: above(mean), p99Ms: above(this.histogram.percentile(99)), maxMs: above(max) };
    this.histogram.reset();
    return delay;
  }

  onApplicationShutdown(): void {
    this.histogram.disable();
  }
}
