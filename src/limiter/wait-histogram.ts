/** Upper bounds in milliseconds; longer waits count in `count` only, as in a Prometheus histogram. */
export const waitBucketsMs = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000] as const;

export interface WaitHistogramStats {
  count: number;
  sumMs: number;
  /** Cumulative: `buckets[i]` waits took at most `waitBucketsMs[i]`. */
  buckets: number[];
}

/** How long permits were waited for. Exported, and never an input of the control law. */
export class WaitHistogram {
  private readonly counts = new Array<number>(waitBucketsMs.length).fill(0);
  private count = 0;
  private sumMs = 0;

  record(waitMs: number): void {
    this.count += 1;
    this.sumMs += waitMs;
    const bucket = waitBucketsMs.findIndex((upperMs) => waitMs <= upperMs);
    if (bucket >= 0) this.counts[bucket] += 1;
  }

  stats(): WaitHistogramStats {
    let sum = 0;
    return { count: this.count, sumMs: this.sumMs, buckets: this.counts.map((count) => (sum += count)) };
  }
}
