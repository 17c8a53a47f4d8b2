/*
 * A steady load at a share of the ceiling, with retention on: rate, memory, table sizes, dead rows and HOT updates must
 * stay where they are. Runs of less than ten minutes are not judged by the sizes of tables.
 *
 *   npm run soak -- [--minutes 30] [--share 0.6] [--held-transaction] [--save]
 *
 * --held-transaction: for the middle half of the time a transaction with a snapshot is left open on an unrelated table, so
 * that no vacuum can take away what is dead since. Prints the account as JSON and ends with 1 when a verdict is not met.
 */
import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { generateApart } from '../benchmark/lib/measure.mjs';
import { startBroker } from '../benchmark/lib/processes.mjs';
import { headOf } from '../benchmark/lib/report.mjs';
import { Wire } from '../benchmark/lib/wire.mjs';
import { numberOption } from './lib/options.mjs';
import { verdictsOf } from './lib/soak-verdicts.mjs';
import { sampleTables } from './lib/table-sampler.mjs';

const minutes = numberOption('minutes', 30);
const share = numberOption('share', 0.6);
const holds = process.argv.includes('--held-transaction');
const seconds = minutes * 60;
const sampleSeconds = Math.max(2, seconds / 180);
const settledAfterSeconds = Math.min(300, seconds / 6);
/** Messages live for a twelfth of the time, so that most of it is spent with retention at work. */
const retentionSeconds = Math.max(5, Math.round(seconds / 12));
/**
 * Few partitions, so that each is written many times a second: one update a second moves its last_write_at as well, which is
 * indexed, and such an update cannot stay on its page.
 */
const FLOW = { batch: 10, popBatch: 100, popPartitions: 2, partitions: 16, producers: 8, consumers: 8 };
/** Autovacuum comes once a minute: a shorter run says nothing about sizes. */
const LEVELS_FROM_SECONDS = 600;
const CEILING_SECONDS = Math.min(20, seconds / 4);

const head = headOf(holds ? 'soak-held-transaction' : 'soak');
const broker = await startBroker();
let account;
try {
  account = await run();
} finally {
  await broker.stop();
}
const text = JSON.stringify({ ...head, minutes, share, ...account }, null, 2);
console.log(text);
if (process.argv.includes('--save')) {
  writeFileSync(new URL(`./results/${head.date}-${head.benchmark}.json`, import.meta.url), `${text}\n`);
}
process.exitCode = account.verdict === 'ok' ? 0 : 1;

async function run() {
  await broker.sql.query('create table public.unrelated (id int)');
  console.error('looking for the ceiling');
  const ceilingPerSecond = await ceiling();
  console.error(`the ceiling is ${ceilingPerSecond} messages a second`);
  const offeredPerSecond = Math.round(ceilingPerSecond * share);
  await configure('soak');
  const load = generateApart(broker.base, {
    ...FLOW,
    queue: 'soak',
    seconds,
    ratePerSecond: offeredPerSecond,
    drainMs: 60_000,
  });
  load.catch(() => undefined); // looked at when the samples are there
  const { samples, held } = await watch();
  const result = await load;
  const verdicts = [
    ...verdictsOf(samples, {
      settledAfterSeconds,
      offeredPerSecond,
      held,
      judgesLevels: seconds >= LEVELS_FROM_SECONDS,
    }),
    ...['lost', 'unread', 'duplicated', 'outOfOrder', 'pushErrors', 'popErrors', 'ackErrors'].map(
      (fault) => ({
        what: fault,
        value: result[fault],
        wanted: '0',
        ok: result[fault] === 0,
      }),
    ),
    ...(held?.seen ?? []),
  ];
  return {
    ceilingPerSecond,
    offeredPerSecond,
    retentionSeconds,
    pushMs: result.pushMs,
    endToEndMs: result.endToEndMs,
    messages: result.delivered,
    verdict: verdicts.every(({ ok }) => ok) ? 'ok' : 'failed',
    verdicts,
    samples,
  };
}

/** A warm-up first: a broker that has just started is not what the ceiling is about. */
async function ceiling() {
  const plan = { ...FLOW, aheadMax: 4000 };
  await configure('warm-up');
  await configure('ceiling');
  await generateApart(broker.base, { ...plan, queue: 'warm-up', seconds: CEILING_SECONDS / 2 });
  const { ackedPerSecond } = await generateApart(broker.base, {
    ...plan,
    queue: 'ceiling',
    seconds: CEILING_SECONDS,
  });
  return ackedPerSecond;
}

async function configure(queue) {
  const wire = new Wire(broker.base);
  const options = { retentionEnabled: true, retentionSeconds, dedupWindowSeconds: retentionSeconds };
  const { status, text: said } = await wire.send(
    'POST',
    '/api/v1/configure',
    JSON.stringify({ queue, options }),
  );
  wire.close();
  if (status >= 300) throw new Error(`configure answered ${status}: ${said}`);
}

async function watch() {
  const startedMs = performance.now();
  const now = () => (performance.now() - startedMs) / 1000;
  const samples = [];
  let held = null;
  let holder = null;
  while (now() < seconds - sampleSeconds / 2) {
    await pause((samples.length + 1) * sampleSeconds * 1000 - now() * 1000);
    const { rssMb } = await broker.usage();
    const sample = { atSeconds: Math.round(now() * 10) / 10, rssMb, ...(await sampleTables(broker.sql)) };
    samples.push(sample);
    console.error(`${sample.atSeconds} s: consumed ${sample.consumed}, ${rssMb} MB`);
    if (holds && !held && now() >= seconds / 4) {
      holder = await hold();
      held = { from: sample.atSeconds, to: Infinity };
    }
    if (holder && now() >= (seconds * 3) / 4) {
      held.seen = await whatTheBrokerSays();
      held.to = sample.atSeconds;
      await holder.query('rollback');
      await holder.end();
      holder = null;
    }
  }
  return { samples, held };
}

/** With an id and a snapshot of its own, as a forgotten session of a report has them. */
async function hold() {
  const client = new pg.Client({
    connectionString: broker.databaseUrl,
    application_name: 'forgotten report',
  });
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('insert into public.unrelated values (1)');
  return client;
}

/** The operator must be able to see what stands in the way: its age as a metric. */
async function whatTheBrokerSays() {
  const wire = new Wire(broker.base);
  const { text: metrics } = await wire.send('GET', '/metrics/prometheus');
  wire.close();
  const age = /^queen_database_oldest_transaction_seconds (\S+)/m.exec(metrics);
  const held = seconds / 2;
  return [
    {
      what: 'age of the oldest transaction as the broker tells it, seconds',
      value: age ? Number(age[1]) : -1,
      wanted: `at least ${held - 30}`,
      ok: age !== null && Number(age[1]) >= held - 30,
    },
  ];
}
