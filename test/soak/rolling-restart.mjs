/*
 * Three brokers on one PostgreSQL behind a small balancer, paced pushes and leasing consumers, and each broker restarted in
 * turn with SIGTERM, again and again. Nothing may be lost, nothing delivered after a confirmed ack, no broker may leave
 * other than with 0, and the 99th percentile from the due time of a push to its delivery stays below a second.
 *
 *   npm run soak:rolling -- [--rounds 2] [--rate 500] [--consumers 50] [--rest 4] [--min-pop-wait 100] [--save]
 *
 * The queue has a minimum pop wait (milliseconds, 0: none), as one with fifty consumers should: without it each message is a
 * pop and an ack of its own, and three brokers, their database, the balancer and the clients ask for more than two cores
 * have. Then everything waits for a core, restart or not.
 *
 * Prints the account as JSON and ends with 1 when the verdict is "failed".
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { headOf } from '../benchmark/lib/report.mjs';
import { Broker, freePort, startPostgres } from './lib/brokers.mjs';
import { numberOption } from './lib/options.mjs';
import { Traffic } from './lib/traffic.mjs';

const rounds = numberOption('rounds', 2);
const rate = numberOption('rate', 500);
const consumers = numberOption('consumers', 50);
/** Seconds between a broker that is ready again and the next one that leaves. */
const rest = numberOption('rest', 4);
const minPopWaitMs = numberOption('min-pop-wait', 100);
const WARM_UP_S = 10;
const DRAIN_MS = 30_000;
const P99_MS_MAX = 1000;

const head = headOf('rolling-restart');
const postgres = await startPostgres();
let account;
try {
  account = await run();
} finally {
  await postgres.stop();
}
const failures = faultsOf(account);
const verdict = failures.length === 0 ? 'ok' : 'failed';
const text = JSON.stringify(
  { ...head, rounds, rate, consumers, minPopWaitMs, ...account, failures, verdict },
  null,
  2,
);
console.log(text);
if (process.argv.includes('--save')) {
  writeFileSync(new URL(`./results/${head.date}-rolling-restart.json`, import.meta.url), `${text}\n`);
}
process.exitCode = failures.length === 0 ? 0 : 1;

async function run() {
  const settings = { DATABASE_URL: postgres.url, DB_POOL_SIZE: '24', LOG_LEVEL: 'warn' };
  const brokers = [];
  for (let i = 0; i < 3; i++) brokers.push(new Broker(await freePort(), settings));
  await brokers[0].start(); // applies the schema; the others find it done
  await Promise.all(brokers.slice(1).map((broker) => broker.start()));
  console.error('three brokers are ready');
  const balancer = await startBalancer(brokers.map(({ port }) => port));

  // A cold broker compiles; what it takes for that is not what is asked here.
  await configure(balancer.base);
  const warmUp = new Traffic(balancer.base, { name: 'warm-up', rate, consumers });
  await seconds(warmUp, WARM_UP_S);

  console.error('warm; the measured run begins');
  const traffic = new Traffic(balancer.base, { name: 'measured', rate, consumers });
  traffic.start();
  await pause(rest);
  const restarts = [];
  for (let round = 1; round <= rounds; round++) {
    for (const broker of brokers) {
      const left = await broker.drain();
      const startedMs = performance.now();
      await broker.start();
      console.error(`round ${round}: the broker on ${broker.port} left after ${left.ms} ms and is back`);
      restarts.push({ port: broker.port, ...left, startMs: Math.round(performance.now() - startedMs) });
      await pause(rest);
    }
  }
  const account = await traffic.finish(DRAIN_MS);
  const balanced = await (await fetch(`${balancer.base}/balancer`)).json();
  balancer.stop();
  const errors = brokers.flatMap((broker) => broker.errors);
  const ends = await Promise.all(brokers.map((broker) => broker.drain()));
  return { ...account, restarts, ends, balancer: balanced, errors: errors.slice(0, 10) };
}

/** Minimum work as well: a run in which little happened has shown nothing. */
function faultsOf({ pushed, acked, lost, unacked, afterAck, strangers, restarts, ends, errors, endToEndMs }) {
  const left = [...restarts, ...ends];
  return [
    [pushed >= (rate * restarts.length * rest) / 2, `only ${pushed} messages were pushed`],
    [acked >= pushed, `only ${acked} of ${pushed} messages were acked`],
    [lost === 0, `${lost} messages were lost`],
    [unacked === 0, `${unacked} messages were never acked`],
    [afterAck === 0, `${afterAck} deliveries came after a confirmed ack`],
    [strangers === 0, `${strangers} deliveries of messages that were never pushed`],
    [left.every(({ code }) => code === 0), 'a broker left with another code than 0'],
    [errors.length === 0, 'a broker logged an error'],
    [endToEndMs.p99 < P99_MS_MAX, `p99 was ${endToEndMs.p99} ms`],
  ].flatMap(([holds, fault]) => (holds ? [] : [fault]));
}

async function startBalancer(ports) {
  const script = fileURLToPath(new URL('./lib/balancer.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, ports.join(',')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  return { base: `http://127.0.0.1:${Number(String(line))}`, stop: () => child.stdin.end() };
}

async function seconds(traffic, count) {
  traffic.start();
  await pause(count);
  return traffic.finish(DRAIN_MS);
}

async function configure(base) {
  const body = JSON.stringify({ queue: 'roll', options: { minPopWaitTime: minPopWaitMs } });
  const answer = await fetch(`${base}/api/v1/configure`, { method: 'POST', body });
  if (!answer.ok) throw new Error(`configure answered ${answer.status}: ${await answer.text()}`);
}

function pause(count) {
  return new Promise((resolve) => setTimeout(resolve, count * 1000));
}
