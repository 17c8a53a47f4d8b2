import { describe, expect, it } from '@jest/globals';

/** A soak that cannot fail proves nothing: each of its verdicts is shown what it must refuse. */

interface Table {
  tableBytes: number;
  indexBytes: number;
  dead: number;
  live: number;
  updates: number;
  hot: number;
}

interface Sample {
  atSeconds: number;
  pushed: number;
  consumed: number;
  rssMb: number;
  tables: Record<string, Table>;
}

interface Verdict {
  what: string;
  value: number;
  ok: boolean;
}

const name = './lib/soak-verdicts.mjs';
const { verdictsOf } = (await import(name)) as {
  verdictsOf(samples: Sample[], facts: object): Verdict[];
};

const OFFERED = 1000;
const facts = { settledAfterSeconds: 300, offeredPerSecond: OFFERED, held: null, judgesLevels: true };

/** Half an hour as it should be, with a sample every ten seconds; `change` spoils one. */
function halfHour(change: (sample: Sample, k: number) => void = () => undefined): Sample[] {
  return Array.from({ length: 180 }, (_, k) => {
    const atSeconds = (k + 1) * 10;
    const table = {
      tableBytes: 1e8 + (k % 7) * 1e5,
      indexBytes: 1e7,
      dead: 1000 + (k % 5) * 100,
      live: 10_000,
      updates: atSeconds * 500,
      hot: atSeconds * 495,
    };
    const sample: Sample = {
      atSeconds,
      pushed: atSeconds * OFFERED,
      consumed: atSeconds * OFFERED - 20,
      rssMb: 150 + (k % 9),
      tables: {
        log_partitions: { ...table },
        log_consumers: { ...table },
        log_segments: { ...table },
        log_txns: { ...table },
      },
    };
    change(sample, k);
    return sample;
  });
}

const failed = (samples: Sample[], held: object | null = null) =>
  verdictsOf(samples, { ...facts, held })
    .filter(({ ok }) => !ok)
    .map(({ what }) => what);

describe('the verdicts of a soak', () => {
  it('pass a steady half hour', () => {
    expect(failed(halfHour())).toEqual([]);
  });

  it('refuse a rate that falls', () => {
    const falling = halfHour((sample, k) => {
      if (k > 120) sample.consumed -= (k - 120) * 10 * OFFERED * 0.05;
    });
    expect(failed(falling)).toEqual(['consumed in the last third, share of the offered rate']);
  });

  it('refuse memory that grows, and pass memory that grew before it settled', () => {
    const growing = (from: number, to: number) =>
      halfHour((sample, k) => (sample.rssMb += 0.5 * Math.max(0, Math.min(k, to) - from)));
    expect(failed(growing(0, 180))).toEqual(['memory of the broker, growth over the time in MB']);
    expect(failed(growing(0, 25))).toEqual([]);
  });

  it('refuse a table that grows', () => {
    const growing = halfHour((sample, k) => (sample.tables.log_segments.tableBytes *= 1 + k / 300));
    expect(failed(growing)).toEqual(['log_segments: largest in the second half, ratio to the first']);
  });

  it('pass a table of a few pages that takes some more before vacuum comes, and no more than that', () => {
    const growingBy = (bytes: number) =>
      halfHour((sample, k) => (sample.tables.log_consumers.tableBytes = 65_536 + k * bytes));
    expect(failed(growingBy(8192))).toEqual([]);
    expect(failed(growingBy(131_072))).toEqual([
      'log_consumers: largest in the second half, ratio to the first',
    ]);
  });

  it('refuse dead rows that pile up', () => {
    const piling = halfHour((sample, k) => (sample.tables.log_consumers.dead += k * 1000));
    expect(failed(piling)).toEqual(['log_consumers: most dead rows']);
  });

  it('refuse updates that leave their page', () => {
    const leaving = halfHour((sample) => (sample.tables.log_partitions.hot *= 0.9));
    expect(failed(leaving)).toEqual(['log_partitions: updates that stayed on their page']);
  });

  describe('with a transaction held open', () => {
    const held = { from: 450, to: 1350 };
    /** Messages that were not consumed in the seconds given, and came later. */
    const slowed = (share: number, from: number, to: number) =>
      halfHour((sample) => {
        const late = Math.max(0, Math.min(sample.atSeconds, to) - from) * OFFERED * share;
        sample.consumed -= late;
      });

    it('pass a rate that stays', () => {
      expect(failed(halfHour(), held)).toEqual([]);
    });

    it('refuse a rate that falls meanwhile', () => {
      expect(failed(slowed(0.1, 450, 1350), held)).toContain(
        'rate while the transaction was open, share of before',
      );
    });

    it('refuse a rate that comes back late', () => {
      expect(failed(slowed(0.1, 1350, 1500), held)).toContain('seconds until the rate was back');
    });
  });
});
