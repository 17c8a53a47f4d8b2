import { measure } from './lib/measure.mjs';
import { startBroker } from './lib/processes.mjs';
import { median, report } from './lib/report.mjs';

/*
 * The ring against the SQL candidate scan: npm run bench:ring -- [--save]. 50 consumers, 1, 100 and 10,000 partitions;
 * both brokers are up for the whole run and take turns.
 */
const ROUNDS = 3;
const CASES = [
  { partitions: 1, batch: 10, producers: 2 },
  { partitions: 100, batch: 10, producers: 4 },
  { partitions: 10_000, batch: 10, producers: 4, spread: true },
];

const on = await startBroker({ QUEEN_HOTLIST: '1' });
const off = await startBroker({ QUEEN_HOTLIST: '0' });
try {
  const results = [];
  for (const one of CASES) {
    const runs = { on: [], off: [] };
    for (let round = 0; round < ROUNDS; round++) {
      const plan = {
        ...one,
        queue: `q${one.partitions}-${round}`,
        seconds: 5,
        consumers: 50,
        popBatch: 10,
        popPartitions: 10,
        drainMs: 20_000,
      };
      runs.on.push(await measure(on, plan));
      runs.off.push(await measure(off, plan));
    }
    const of = (side, pick) => median(runs[side].map(pick));
    const both = (pick) => ({ on: of('on', pick), off: of('off', pick) });
    const statements = both((run) => run.transactionsPerMessage);
    const rate = both((run) => run.ackedPerSecond);
    results.push({
      partitions: one.partitions,
      transactionsPerMessage: statements,
      ackedPerSecond: rate,
      rateOnOverOff: Math.round((rate.on / rate.off) * 100) / 100,
      transactionsOffOverOn: Math.round((statements.off / statements.on) * 100) / 100,
      endToEndP99Ms: both((run) => run.endToEndMs.p99),
      lost: [...runs.on, ...runs.off].reduce((sum, run) => sum + run.lost, 0),
    });
  }
  report('ring-on-off', { consumers: 50, results });
} finally {
  await on.stop();
  await off.stop();
}
