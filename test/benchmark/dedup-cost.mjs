import { Client } from 'undici';
import { startBroker } from './lib/processes.mjs';
import { median, report } from './lib/report.mjs';

/*
 * What a push of one message costs a partition with a million messages inside its dedup window, as a ratio to what it
 * costs one that began empty: npm run bench:dedup -- [messages] [--save]. Both kinds are pushed to in turn, so that
 * whatever else the machine does, it does to both.
 */
const MESSAGES = Number(process.argv.find((one) => /^\d+$/.test(one)) ?? 1_000_000);
const PUSHES = 400;
const PER_ROW = 1000;

const host = await startBroker(); // has the database, and nothing else to do
// The wait for the disk is the same for all; it would hide what is compared.
await host.sql.query(
  "do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$",
);
const settings = { DATABASE_URL: host.databaseUrl };
const brokers = [
  await startBroker(settings),
  await startBroker(settings),
  await startBroker({ ...settings, QUEEN_DEDUP_CACHE: 'false' }),
];
const [first, second, without] = brokers.map(({ base }) => new Client(base));
let serial = 0;
try {
  await fill('batches', PER_ROW);
  await fill('singles', 1);
  const results = [];
  for (const full of ['batches', 'singles']) {
    const cold = await until(first, full);
    results.push({ full, broker: 'one, first push after its start', ...cold });
    results.push({ full, broker: 'one', ...(await compare([first], full, newId)) });
    results.push({
      full,
      broker: 'one, ids that are known',
      ...(await compare([first], full, knownId)),
    });
    await until(second, full);
    const alternating = [first, second];
    results.push({ full, broker: 'two in turn', ...(await compare(alternating, full, newId)) });
    results.push({ full, broker: 'without index', ...(await compare([without], full, newId, 10)) });
  }
  brokers.push(await startBroker(settings));
  const restarted = new Client(brokers.at(-1).base);
  for (const full of ['batches', 'singles']) {
    results.push({ full, broker: 'restarted, first push', ...(await until(restarted, full)) });
    results.push({ full, broker: 'restarted', ...(await compare([restarted], full, newId)) });
  }
  for (const client of [first, second, without, restarted]) await client.close();
  report('dedup-cost', { messagesInWindow: MESSAGES, pushes: PUSHES, results });
} finally {
  for (const broker of brokers.reverse()) await broker.stop();
  await host.stop();
}

/** Hash rows as pushes would have left them, so many messages each. Messages themselves are not looked at. */
async function fill(partition, perRow) {
  await push(without, partition, 'first');
  await host.sql.query(
    `insert into queen.log_txns (partition_id, base_offset, end_offset, created_at, hashes)
     select p.id, 1 + n * $2::bigint, (n + 1) * $2::bigint, now() + n * interval '1 microsecond',
            (select string_agg(substr(sha256(convert_to($1::text || (n * $2::bigint + k), 'UTF8')), 1, 16), '' order by k)
               from generate_series(0, $2::bigint - 1) k)
       from queen.log_partitions p, generate_series(0, $3::bigint / $2::bigint - 1) n where p.name = $1::text`,
    [partition, perRow, MESSAGES],
  );
  await host.sql.query('update queen.log_partitions set last_offset = $2 where name = $1', [
    partition,
    MESSAGES,
  ]);
  await host.sql.query('vacuum analyze queen.log_txns');
}

function newId() {
  return `new ${serial++}`;
}

/** Ids that were pushed before, at the very beginning of the window. */
function knownId() {
  return 'first';
}

/** Pushes until one is as quick as to a partition without messages: how long the first took, and all of them. */
async function until(client, partition) {
  const startedMs = performance.now();
  const firstMs = await push(client, partition, newId());
  for (let pushes = 1; ; pushes++) {
    const [emptyMs, ms] = [
      await push(client, `empty-${newId()}`, newId()),
      await push(client, partition, newId()),
    ];
    if (ms < 2 * emptyMs || pushes === 1000) {
      return { firstMs: round(firstMs), quickAfterMs: round(performance.now() - startedMs), pushes };
    }
  }
}

async function compare(clients, full, id, pushes = PUSHES) {
  const empty = `empty-${newId()}`;
  for (const client of clients) await push(client, empty, 'first');
  const times = { full: [], empty: [] };
  for (let n = 0; n < pushes; n++) {
    const client = clients[n % clients.length];
    // Who goes first, changes: the second push of a pair finds everything warm.
    for (const which of n % 4 < 2 ? ['full', 'empty'] : ['empty', 'full']) {
      times[which].push(await push(client, which === 'full' ? full : empty, id()));
    }
  }
  const [fullMs, emptyMs] = [median(times.full), median(times.empty)];
  return { emptyMs: round(emptyMs), fullMs: round(fullMs), ratio: round(fullMs / emptyMs) };
}

async function push(client, partition, transactionId) {
  const body = JSON.stringify({
    items: [{ queue: 'dedup-cost', partition, transactionId, payload: { n: 1 } }],
  });
  const startedMs = performance.now();
  const answer = await client.request({
    method: 'POST',
    path: '/api/v1/push',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 201) throw new Error(`push answered ${answer.statusCode}: ${text}`);
  return performance.now() - startedMs;
}

function round(value) {
  return Math.round(value * 100) / 100;
}
