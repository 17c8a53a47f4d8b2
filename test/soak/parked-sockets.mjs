/*
 * As many parked pops as the file limit allows, each on a socket and a partition of its own; then a message for each, and
 * each gets its own and no other.
 *
 *   npm run soak:sockets -- [20000] [--save]
 *
 * The broker needs a file for every socket, and so does the process that holds the other end: raise the limit first (ulimit
 * -n 25000). Fewer are parked where it is lower, and the result says so. Prints JSON, ends with 1 on failure.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { connectionsFor, fileLimit } from '../../dist/http/connection-limit.js';
import { rssBytes } from '../benchmark/lib/processes.mjs';
import { headOf } from '../benchmark/lib/report.mjs';
import { Broker, freePort, startPostgres } from './lib/brokers.mjs';

const asked = Number(process.argv.slice(2).find((one) => /^\d+$/.test(one)) ?? 20_000);
const POOL_SIZE = 24;
const PARKER = fileURLToPath(new URL('./lib/socket-parker.mjs', import.meta.url));
/** Room for the reader of metrics and for the pushes. */
const OTHER_CONNECTIONS = 32;
const FILES_OF_A_PARKER = 64;
const SOCKETS_OF_A_PARKER = 5000;
const PUSHED_TOGETHER = 500;
const PATIENCE_MS = 600_000;
/** A pop of one partition asks the database at each re-poll; twenty thousand would at the usual second do nothing else. */
const RE_POLL_MS = '60000';
/** The others are asking at this moment. */
const PARKED_SHARE = 0.99;

const files = fileLimit() ?? Infinity;
const sockets = Math.min(asked, connectionsFor(files, POOL_SIZE) - OTHER_CONNECTIONS);
const share = Math.min(SOCKETS_OF_A_PARKER, files - FILES_OF_A_PARKER);

const head = headOf('parked-sockets');
const postgres = await startPostgres();
let result;
try {
  result = await run();
} finally {
  await postgres.stop();
}
const failures = [
  [result.answered === sockets, `${sockets - result.answered} of ${sockets} pops did not get their message`],
  [result.wrong === 0, `${result.wrong} pops got another message`],
  [result.lostConnections === 0, `${result.lostConnections} connections were lost`],
  [result.exit.code === 0, `the broker left with ${result.exit.code ?? result.exit.signal}`],
].flatMap(([holds, fault]) => (holds ? [] : [fault]));
const verdict = failures.length === 0 ? 'ok' : 'failed';
const text = JSON.stringify(
  { ...head, asked, fileLimit: files, sockets, ...result, failures, verdict },
  null,
  2,
);
console.log(text);
if (process.argv.includes('--save')) {
  writeFileSync(new URL(`./results/${head.date}-parked-sockets.json`, import.meta.url), `${text}\n`);
}
process.exitCode = failures.length === 0 ? 0 : 1;

async function run() {
  const settings = {
    DATABASE_URL: postgres.url,
    LOG_LEVEL: 'warn',
    DB_POOL_SIZE: String(POOL_SIZE),
    POP_WAIT_INITIAL_INTERVAL_MS: RE_POLL_MS,
    POP_WAIT_MAX_INTERVAL_MS: RE_POLL_MS,
  };
  const broker = new Broker(await freePort(), settings);
  await broker.start();
  const rssIdle = rssBytes(broker.child.pid);
  const startedMs = performance.now();
  const parkers = [];
  // One after the other: what counts is how many there are, not how fast they come.
  for (let from = 0; from < sockets; from += share) {
    const parker = startParker(broker.port, from, Math.min(sockets, from + share));
    parkers.push(parker);
    await parker.parked;
  }
  await untilParked(broker.port);
  const parkedMs = performance.now();
  const rssParked = rssBytes(broker.child.pid);

  for (let from = 0; from < sockets; from += PUSHED_TOGETHER) await push(broker.port, from);
  const counts = await Promise.all(parkers.map(({ counts: last }) => last));
  const answeredMs = performance.now();
  const total = (key) => counts.reduce((sum, one) => sum + one[key], 0);
  return {
    answered: total('answered'),
    wrong: total('wrong'),
    askedAgain: total('askedAgain'),
    lostConnections: total('lostConnections'),
    parkers: parkers.length,
    parkingSeconds: Math.round((parkedMs - startedMs) / 1000),
    answeringSeconds: Math.round((answeredMs - parkedMs) / 1000),
    kibPerSocket: Math.round((rssParked - rssIdle) / sockets / 102.4) / 10,
    exit: await broker.drain(),
  };
}

function startParker(port, from, to) {
  const child = spawn(process.execPath, [PARKER, String(port), String(from), String(to)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  const line = (pattern) =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(output);
        if (found) resolve(found[0]);
      };
      child.stdout.on('data', look);
      child.once('close', () => {
        look();
        reject(new Error(`a parker left: ${output}`));
      });
    });
  child.stdout.on('data', (bytes) => (output += bytes));
  return { parked: line(/^parked$/m), counts: line(/^\{.*\}$/m).then(JSON.parse) };
}

async function push(port, from) {
  const count = Math.min(PUSHED_TOGETHER, sockets - from);
  const items = Array.from({ length: count }, (_, i) => ({
    queue: 'crowd',
    partition: `p${from + i}`,
    payload: from + i,
  }));
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/push`, {
    method: 'POST',
    body: JSON.stringify({ items }),
  });
  if (answer.status !== 201) throw new Error(`push: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

async function untilParked(port) {
  const untilMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics/prometheus`)).text();
    const parked = Number(/^queen_parked_long_polls_all (\d+)/m.exec(page)?.[1] ?? 0);
    if (parked >= PARKED_SHARE * sockets) return;
    if (performance.now() > untilMs) throw new Error(`only ${parked} of ${sockets} pops are parked`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
