import { HOT_TABLES } from './table-sampler.mjs';
import { grows, rateOf } from './trend.mjs';

const THROUGHPUT_LOSS_MAX = 0.03;
const HELD_LOSS_MAX = 0.05;
const GROWTH_MAX = 0.05;
const HOT_RATIO_MIN = 0.95;
const DEAD_PER_LIVE_MAX = 2;
const DEAD_FLOOR = 20_000;
const RECOVERY_SECONDS = 60;
/**
 * Vacuum comes after 500 dead rows, and until then a hot row that has to move takes a page that is not used again: 500
 * pages of 8 KiB are no growth yet.
 */
const GROWTH_BYTES_MIN = 500 * 8192;

/**
 * @param samples in order: { atSeconds, pushed, consumed, rssMb, tables }
 * @param {{ settledAfterSeconds: number, offeredPerSecond: number, held: { from: number, to: number } | null,
 *   judgesLevels: boolean }} facts
 *   memory and tables are looked at from `settledAfterSeconds` on; `held`: when a transaction was open
 * @returns {{ what: string, value: number, wanted: string, ok: boolean }[]}
 */
export function verdictsOf(samples, { settledAfterSeconds, offeredPerSecond, held, judgesLevels }) {
  const settled = samples.filter(({ atSeconds }) => atSeconds >= settledAfterSeconds);
  return [
    ...throughput(settled, offeredPerSecond),
    ...(held ? heldTransaction(samples, held) : judgesLevels ? levels(settled) : []),
    memory(settled),
    ...hotRatios(settled),
  ];
}

function throughput(samples, offeredPerSecond) {
  const consumed = series(samples, ({ consumed: count }) => count);
  const third = Math.max(2, Math.floor(consumed.length / 3));
  const share = (points) => round(rateOf(points) / offeredPerSecond);
  const least = 1 - THROUGHPUT_LOSS_MAX;
  return [
    check(
      'consumed in the first third, share of the offered rate',
      share(consumed.slice(0, third)),
      'at least',
      least,
    ),
    check(
      'consumed in the last third, share of the offered rate',
      share(consumed.slice(-third)),
      'at least',
      least,
    ),
  ];
}

function memory(samples) {
  const {
    grows: isGrowing,
    overTime,
    mean,
  } = grows(
    series(samples, ({ rssMb }) => rssMb),
    GROWTH_MAX,
  );
  return {
    what: 'memory of the broker, growth over the time in MB',
    value: round(overTime),
    wanted: `at most ${round(GROWTH_MAX * mean)}, or within its noise`,
    ok: !isGrowing,
  };
}

/** Retention takes away as much as comes, and vacuum keeps up. */
function levels(samples) {
  return Object.keys(samples[0].tables).flatMap((name) => {
    const of = (pick) => series(samples, ({ tables }) => pick(tables[name]));
    // The first half shows how large a level table is; space that was freed is used again and not given back.
    const size = ({ tableBytes, indexBytes }) => tableBytes + indexBytes;
    const half = Math.max(1, Math.floor(samples.length / 2));
    const before = Math.max(
      ...of(size)
        .slice(0, half)
        .map(([, bytes]) => bytes),
    );
    const after = Math.max(
      ...of(size)
        .slice(half)
        .map(([, bytes]) => bytes),
    );
    const dead = Math.max(...of(({ dead: count }) => count).map(([, count]) => count));
    const live = Math.max(...of(({ live: count }) => count).map(([, count]) => count));
    return [
      check(
        `${name}: largest in the second half, ratio to the first`,
        round(after / before),
        'at most',
        Math.max(1.1, (before + GROWTH_BYTES_MIN) / before),
      ),
      check(`${name}: most dead rows`, dead, 'at most', Math.max(DEAD_FLOOR, DEAD_PER_LIVE_MAX * live)),
    ];
  });
}

function hotRatios(samples) {
  return HOT_TABLES.map((name) => {
    const [first, last] = [samples[0].tables[name], samples.at(-1).tables[name]];
    const ratio = (last.hot - first.hot) / Math.max(1, last.updates - first.updates);
    return check(`${name}: updates that stayed on their page`, round(ratio), 'at least', HOT_RATIO_MIN);
  });
}

function heldTransaction(samples, { from, to }) {
  const within = (start, end) =>
    series(
      samples.filter(({ atSeconds }) => atSeconds >= start && atSeconds <= end),
      ({ consumed }) => consumed,
    );
  const before = rateOf(within(0, from));
  const during = rateOf(within(from, to));
  const after = within(to, Infinity);
  const recovered = after.findIndex(
    (point, k) => k > 0 && rateOf([after[k - 1], point]) >= (1 - THROUGHPUT_LOSS_MAX) * before,
  );
  const seconds = recovered < 0 ? Infinity : after[recovered][0] - to;
  return [
    check(
      'rate while the transaction was open, share of before',
      round(during / before),
      'at least',
      1 - HELD_LOSS_MAX,
    ),
    check('seconds until the rate was back', round(seconds), 'at most', RECOVERY_SECONDS),
  ];
}

function series(samples, pick) {
  return samples.map((sample) => [sample.atSeconds, pick(sample)]);
}

function check(what, value, how, limit) {
  return {
    what,
    value,
    wanted: `${how} ${round(limit)}`,
    ok: how === 'at least' ? value >= limit : value <= limit,
  };
}

function round(value) {
  return Math.round(value * 1000) / 1000;
}
