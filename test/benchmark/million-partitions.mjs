import { setTimeout as pause } from 'node:timers/promises';
import { startBroker } from './lib/processes.mjs';
import { report } from './lib/report.mjs';

/*
 * A million partitions with one message each: npm run bench:million -- [partitions] [--save]. Cold start of a group that
 * has never been seen by the broker's memory, the reseed that follows, memory a partition, and the longest stall of the
 * event loop on the way. The rows are written by SQL; what is measured is the broker.
 */
const PARTITIONS = Number(process.argv.find((one) => /^\d+$/.test(one)) ?? 1_000_000);

const broker = await startBroker({ QUEEN_HOTLIST_RESEED_MS: '15000' });
try {
  await fill();
  const rssBefore = (await broker.usage()).rssMb;
  await scrape();
  const firstContactMs = await firstContact();
  const coldStartMs = await timedPop();
  const walk = await untilWalked();
  const after = await broker.usage();
  const served = [];
  for (let n = 0; n < 50; n++) served.push(await timedPop());
  report('million-partitions', {
    partitions: PARTITIONS,
    firstContactMs,
    coldStartFirstDeliveryMs: coldStartMs,
    backgroundWalkMs: walk.ms,
    longestStallMs: walk.stallMs,
    rssBeforeMb: rssBefore,
    rssAfterMb: after.rssMb,
    bytesPerPartition: Math.round(((after.rssMb - rssBefore) * 1048576) / PARTITIONS),
    steadyPopMs: { median: served.sort((a, b) => a - b)[25], max: served.at(-1) },
  });
} finally {
  await broker.stop();
}

async function fill() {
  // One real message gives a real blob and hash; the others are copies of it under their own partitions.
  await fetch(`${broker.base}/api/v1/push`, {
    method: 'POST',
    body: JSON.stringify({ items: [{ queue: 'million', partition: 'p0', payload: { n: 0 } }] }),
  });
  await broker.sql.query(
    `insert into queen.log_partitions (queue_id, name, last_offset, last_write_at)
     select q.id, 'p' || n, 0, now() - interval '1 hour' from queen.queues q, generate_series(1, $1::int - 1) n where q.name = 'million'`,
    [PARTITIONS],
  );
  await broker.sql.query(
    `insert into queen.log_segments (partition_id, base_offset, end_offset, created_at, blob)
     select p.id, 0, 0, s.created_at, s.blob from queen.log_partitions p, queen.log_segments s
     where p.name <> 'p0' and p.queue_id = (select id from queen.queues where name = 'million')`,
  );
  await broker.sql.query('analyze');
}

/** The cursors of so many partitions take longer than one pop waits: it is answered 204 meanwhile. */
async function firstContact() {
  const startedMs = performance.now();
  while ((await pop()).status === 204) continue;
  return Math.round(performance.now() - startedMs);
}

async function timedPop() {
  const startedMs = performance.now();
  const { status, text } = await pop();
  if (status !== 200) throw new Error(`pop answered ${status} ${text}`);
  return Math.round((performance.now() - startedMs) * 10) / 10;
}

async function pop() {
  const answer = await fetch(
    `${broker.base}/api/v1/pop/queue/million?consumerGroup=g&batch=10&partitions=10&autoAck=true`,
  );
  return { status: answer.status, text: await answer.text() };
}

async function untilWalked() {
  const startedMs = performance.now();
  let stallMs = 0;
  for (;;) {
    const text = await scrape();
    stallMs = Math.max(stallMs, Number(/^queen_event_loop_lag_max_milliseconds (\S+)/m.exec(text)[1]));
    if (/^queen_hotlist_reseeds_total\{mode="full",result="ok"\} [1-9]/m.test(text)) {
      return { ms: Math.round(performance.now() - startedMs), stallMs: Math.round(stallMs * 10) / 10 };
    }
    await pause(250);
  }
}

async function scrape() {
  return (await fetch(`${broker.base}/metrics/prometheus`)).text();
}
