const SIZE = 1024;

/** The last values of something measured, for quantiles at scrape time; adding one costs a store. */
export class RecentValues {
  private readonly values: Float64Array;
  private next = 0;
  private count = 0;

  constructor(size = SIZE) {
    this.values = new Float64Array(size);
  }

  add(value: number): void {
    this.values[this.next] = value;
    this.next = (this.next + 1) % this.values.length;
    if (this.count < this.values.length) this.count += 1;
  }

  /** @param q from 0 to 1. Nearest rank; 0 while nothing was measured */
  quantile(q: number): number {
    if (this.count === 0) return 0;
    const sorted = this.values.slice(0, this.count).sort();
    return sorted[Math.max(0, Math.ceil(q * this.count) - 1)];
  }
}
