/*
 * A hundred thousand partitions come into being at a thousand a second beside a steady load: what that does to the load,
 * what it takes in memory, and what a broker that starts afterwards has to do.
 *
 *   npm run soak:partitions -- [--partitions 100000] [--rate 1000] [--load 1000] [--save]
 *
 * For a million idle partitions see npm run bench:million. Prints the account as JSON and ends with 1 when a message was
 * lost, came twice or out of order.
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { generateApart } from '../benchmark/lib/measure.mjs';
import { startBroker } from '../benchmark/lib/processes.mjs';
import { headOf } from '../benchmark/lib/report.mjs';
import { Wire } from '../benchmark/lib/wire.mjs';
import { numberOption } from './lib/options.mjs';

const partitions = numberOption('partitions', 100_000);
const rate = numberOption('rate', 1000);
const load = numberOption('load', 1000);
const createSeconds = Math.ceil(partitions / rate);
const LOAD = { batch: 10, popBatch: 100, partitions: 100, producers: 4, consumers: 4, ratePerSecond: load };
const FAULTS = ['lost', 'unread', 'duplicated', 'outOfOrder', 'pushErrors', 'popErrors', 'ackErrors'];
const IDLE_SECONDS = 10;

const head = headOf('soak-partitions');
const broker = await startBroker();
let account;
try {
  account = await run();
} finally {
  await broker.stop();
}
const text = JSON.stringify(
  { ...head, partitions, ratePerSecond: rate, loadPerSecond: load, ...account },
  null,
  2,
);
console.log(text);
if (process.argv.includes('--save')) {
  writeFileSync(new URL(`./results/${head.date}-${head.benchmark}.json`, import.meta.url), `${text}\n`);
}
process.exitCode = account.faults === 0 ? 0 : 1;

async function run() {
  await generateApart(broker.base, { ...LOAD, queue: 'warm-up', seconds: 5 });
  const alone = await generateApart(broker.base, {
    ...LOAD,
    queue: 'alone',
    seconds: Math.min(20, createSeconds),
  });
  const before = await broker.usage();
  const [created, beside] = await Promise.all([
    generateApart(broker.base, {
      queue: 'many',
      seconds: 10 * createSeconds,
      messages: partitions,
      ratePerSecond: rate,
      batch: 1,
      partitions,
      producers: 8,
      consumers: 8,
      popBatch: 100,
      popPartitions: 100,
      drainMs: 120_000,
    }),
    generateApart(broker.base, { ...LOAD, queue: 'beside', seconds: createSeconds }),
  ]);
  const after = await broker.usage();
  const idle = await idleCost();
  const runs = [alone, created, beside];
  return {
    createdPerSecond: created.pushedPerSecond,
    creatingPushMs: created.pushMs,
    firstDeliveryMs: created.endToEndMs,
    loadAlone: { endToEndMs: alone.endToEndMs, pushMs: alone.pushMs },
    loadBeside: { endToEndMs: beside.endToEndMs, pushMs: beside.pushMs, perSecond: beside.ackedPerSecond },
    rssBeforeMb: before.rssMb,
    rssAfterMb: after.rssMb,
    bytesPerPartition: Math.round(((after.rssMb - before.rssMb) * 1048576) / partitions),
    idle,
    newBroker: await newBroker(),
    faults: runs.reduce((sum, one) => sum + FAULTS.reduce((all, name) => all + Math.abs(one[name]), 0), 0),
  };
}

/** What the partitions cost when nothing happens in them. */
async function idleCost() {
  await pause(2000);
  const before = await broker.usage();
  await pause(IDLE_SECONDS * 1000);
  const after = await broker.usage();
  const perSecond = (name) => Math.round(((after[name] - before[name]) / IDLE_SECONDS) * 100) / 100;
  return {
    brokerCpuMsPerSecond: perSecond('brokerCpuMs'),
    postgresCpuMsPerSecond: perSecond('postgresCpuMs'),
    transactionsPerSecond: perSecond('transactions'),
  };
}

/** A second broker on the same database: its start, and its first delivery from a ring that knows nothing yet. */
async function newBroker() {
  const startedMs = performance.now();
  const second = await startBroker({ DATABASE_URL: broker.databaseUrl });
  try {
    const listeningMs = Math.round(performance.now() - startedMs);
    const wire = new Wire(second.base);
    const item = { queue: 'many', partition: `p${Math.floor(partitions / 2)}`, payload: { again: true } };
    await wire.send('POST', '/api/v1/push', JSON.stringify({ items: [item] }));
    const popMs = performance.now();
    const { status } = await wire.send(
      'GET',
      '/api/v1/pop/queue/many?consumerGroup=g0&batch=10&wait=true&timeout=30000&autoAck=true',
    );
    const firstDeliveryMs = Math.round(performance.now() - popMs);
    wire.close();
    if (status !== 200) throw new Error(`the first pop answered ${status}`);
    return { listeningMs, firstDeliveryMs, rssMb: (await second.usage()).rssMb };
  } finally {
    await second.stop();
  }
}
