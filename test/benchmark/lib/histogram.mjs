/** Latencies in microseconds, in logarithmic buckets of about 2 %: any number of samples in fixed memory. */
const PER_DOUBLING = 32;

export class Histogram {
  constructor() {
    this.buckets = new Float64Array(PER_DOUBLING * 40);
    this.count = 0;
    this.max = 0;
  }

  record(micros) {
    const value = Math.max(1, micros);
    this.buckets[Math.min(this.buckets.length - 1, Math.floor(Math.log2(value) * PER_DOUBLING))]++;
    this.count++;
    if (value > this.max) this.max = value;
  }

  add(other) {
    for (let i = 0; i < this.buckets.length; i++) this.buckets[i] += other.buckets[i];
    this.count += other.count;
    this.max = Math.max(this.max, other.max);
  }

  /** The buckets that are not empty, for another process to merge: [[index, count], …], and the maximum. */
  sparse() {
    const filled = [];
    this.buckets.forEach((count, index) => count > 0 && filled.push([index, count]));
    return { filled, max: this.max };
  }

  static from({ filled, max }) {
    const histogram = new Histogram();
    for (const [index, count] of filled) {
      histogram.buckets[index] = count;
      histogram.count += count;
    }
    histogram.max = max;
    return histogram;
  }

  /** Milliseconds, two decimals; null without samples. */
  quantile(q) {
    if (this.count === 0) return null;
    let left = Math.ceil(this.count * q);
    for (let i = 0; i < this.buckets.length; i++) {
      left -= this.buckets[i];
      if (left <= 0) return round(Math.min(2 ** ((i + 0.5) / PER_DOUBLING), this.max) / 1000);
    }
    return round(this.max / 1000);
  }

  summary() {
    return {
      p50: this.quantile(0.5),
      p99: this.quantile(0.99),
      p999: this.quantile(0.999),
      max: this.count ? round(this.max / 1000) : null,
    };
  }
}

const round = (ms) => Math.round(ms * 100) / 100;
