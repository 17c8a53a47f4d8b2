import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';
import { measure } from './lib/measure.mjs';
import { startBroker } from './lib/processes.mjs';
import { median, report } from './lib/report.mjs';

/*
 * Many parked pops on empty queues beside one active queue: npm run bench:storm -- [pops] [--save].
 * Shows: statements and connections the parked ones cost (none beyond the floors), broker CPU and memory, and the
 * active queue's delivery latency with them as a ratio of without them, interleaved.
 */
const POPS = Number(process.argv.find((one) => /^\d+$/.test(one)) ?? 5000);
const QUEUES = 500;
const ROUNDS = 3;
const ACTIVE = {
  partitions: 20,
  batch: 1,
  producers: 1,
  consumers: 4,
  seconds: 8,
  ratePerSecond: 100,
  drainMs: 3000,
};
const PARKER = fileURLToPath(new URL('./lib/parker.mjs', import.meta.url));

const broker = await startBroker();
try {
  await measure(broker, { ...ACTIVE, queue: 'warm-up', seconds: 3 });
  const without = [];
  const withThem = [];
  const idle = [];
  for (let round = 0; round < ROUNDS; round++) {
    without.push(await measure(broker, { ...ACTIVE, queue: `alone-${round}` }));
    const parker = await park();
    idle.push(await quiet());
    withThem.push(await measure(broker, { ...ACTIVE, queue: `beside-${round}` }));
    await parker.stop();
  }
  const p50 = (runs) => median(runs.map((run) => run.endToEndMs.p50));
  const p99 = (runs) => median(runs.map((run) => run.endToEndMs.p99));
  report(`empty-poll-storm-${POPS}`, {
    parkedPops: POPS,
    emptyQueues: QUEUES,
    idle,
    alone: { p50Ms: p50(without), p99Ms: p99(without) },
    besideParked: { p50Ms: p50(withThem), p99Ms: p99(withThem) },
    latencyRatio: { p50: ratio(p50(withThem), p50(without)), p99: ratio(p99(withThem), p99(without)) },
    lost: sum(without, 'lost') + sum(withThem, 'lost'),
    duplicated: sum(without, 'duplicated') + sum(withThem, 'duplicated'),
  });
} finally {
  await broker.stop();
}

/** What the parked pops alone cost: ten seconds with nothing else going on. */
async function quiet() {
  await pause(2000); // the last of them have just made their first look
  const before = await broker.usage();
  const active = [];
  for (let second = 0; second < 10; second++) {
    await pause(1000);
    const { rows } = await broker.sql.query(
      "select count(*)::int as n from pg_stat_activity where application_name = 'queen-nest' and state <> 'idle'",
    );
    active.push(rows[0].n);
  }
  const after = await broker.usage();
  const seconds = (after.atMs - before.atMs) / 1000;
  return {
    transactionsPerSecond: round((after.transactions - before.transactions) / seconds),
    connectionsActiveMax: Math.max(...active),
    brokerCores: round((after.brokerCpuMs - before.brokerCpuMs) / 1000 / seconds),
    rssMb: after.rssMb,
  };
}

async function park() {
  const child = spawn(process.execPath, [PARKER, broker.base, String(POPS), String(QUEUES)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await new Promise((resolve, reject) => {
    child.stdout.on('data', (bytes) => String(bytes).includes('parked') && resolve());
    child.once('exit', () => reject(new Error('the parker left')));
  });
  for (;;) {
    const text = await (await fetch(`${broker.base}/metrics/prometheus`)).text();
    const parked = Number(/^queen_parked_long_polls_all (\d+)/m.exec(text)?.[1]);
    if (parked >= POPS * 0.99) break;
    await pause(200);
  }
  return {
    async stop() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await exited;
    },
  };
}

function round(value) {
  return Math.round(value * 100) / 100;
}

function ratio(a, b) {
  return round(a / b);
}

function sum(runs, key) {
  return runs.reduce((total, run) => total + run[key], 0);
}
