/*
 * One broker with thousands of parked pops and pushes under way is told to stop: every pop leaves with 204 and
 * `Connection: close` within a second, every push that was sent is answered, and the broker exits with 0.
 *
 *   npm run soak:drain -- [--pops 5000] [--save]
 *
 * Needs a descriptor for every parked pop in this process and in the broker (ulimit -n). Prints JSON, ends with 1 on failure.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { writeFileSync } from 'node:fs';
import { headOf } from '../benchmark/lib/report.mjs';
import { Broker, freePort, startPostgres } from './lib/brokers.mjs';
import { numberOption } from './lib/options.mjs';

const pops = numberOption('pops', 5000);
const PUSHERS = 50;
const STORED_BEFORE = 500;
const LEFT_MS_MAX = 1000;
/** So many connections are opened at once; more would overrun the queue of the listening socket. */
const OPENED_TOGETHER = 200;

const head = headOf('drain');
const postgres = await startPostgres();
let result;
try {
  result = await run();
} finally {
  await postgres.stop();
}
const failures = [
  [result.answered204 === pops, `${pops - result.answered204} of ${pops} pops were not answered 204`],
  [result.saidClose === pops, `${pops - result.saidClose} answers did not end their connection`],
  [result.leftMs < LEFT_MS_MAX, `the last pop left after ${result.leftMs} ms`],
  [result.pushesAnswered > 0, 'no push was under way'],
  // A connection that the kernel had taken and the broker had not is cut when the port closes.
  [result.pushesUnanswered <= PUSHERS, `${result.pushesUnanswered} pushes got no answer`],
  [
    result.stored >= result.pushesStored && result.stored <= result.pushesStored + result.pushesUnanswered,
    `${result.stored} messages are stored, ${result.pushesStored} were accepted`,
  ],
  [result.exit.code === 0, `the broker left with ${result.exit.code ?? result.exit.signal}`],
].flatMap(([holds, fault]) => (holds ? [] : [fault]));
const verdict = failures.length === 0 ? 'ok' : 'failed';
const text = JSON.stringify({ ...head, pops, ...result, failures, verdict }, null, 2);
console.log(text);
if (process.argv.includes('--save')) {
  writeFileSync(new URL(`./results/${head.date}-drain.json`, import.meta.url), `${text}\n`);
}
process.exitCode = failures.length === 0 ? 0 : 1;

async function run() {
  const broker = new Broker(await freePort(), { DATABASE_URL: postgres.url, LOG_LEVEL: 'warn' });
  await broker.start();
  const parked = [];
  for (let from = 0; from < pops; from += OPENED_TOGETHER) {
    const count = Math.min(OPENED_TOGETHER, pops - from);
    parked.push(...(await Promise.all(Array.from({ length: count }, (_, i) => park(broker.port, from + i)))));
  }
  await untilParked(broker.port);
  const pushes = { stored: 0, answered: 0, unanswered: 0, stopping: false };
  const pushers = Array.from({ length: PUSHERS }, (_, i) => pushOn(broker.port, i, pushes));
  await untilStored(pushes);

  const toldMs = performance.now();
  const leaving = broker.drain();
  let leftMs = 0;
  const answers = await Promise.all(
    parked.map(async (pop) => {
      const answer = await pop.answer;
      leftMs = Math.max(leftMs, pop.answeredAtMs - toldMs);
      return answer;
    }),
  );
  pushes.stopping = true;
  await Promise.all(pushers);
  const exit = await leaving;
  return {
    answered204: answers.filter((answer) => answer.startsWith('HTTP/1.1 204')).length,
    saidClose: answers.filter((answer) => /\r\nconnection: close\r\n/i.test(answer)).length,
    leftMs: Math.round(leftMs),
    pushesAnswered: pushes.answered,
    pushesStored: pushes.stored,
    pushesUnanswered: pushes.unanswered,
    stored: await countStored(),
    exit,
  };
}

async function park(port, n) {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  const pop = { answeredAtMs: Infinity };
  pop.answer = new Promise((resolve) => {
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes;
      pop.answeredAtMs = performance.now();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(text));
  });
  socket.write(
    `GET /api/v1/pop/queue/crowd${n % 100}?wait=true&timeout=600000 HTTP/1.1\r\nHost: broker\r\n\r\n`,
  );
  return pop;
}

/** Pushes are in flight when the signal comes, and the broker is not cold. */
async function untilStored(pushes) {
  const untilMs = performance.now() + 60_000;
  while (pushes.stored < STORED_BEFORE) {
    if (performance.now() > untilMs) throw new Error(`only ${pushes.stored} pushes were stored`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function untilParked(port) {
  const untilMs = performance.now() + 120_000;
  for (;;) {
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics/prometheus`)).text();
    const parked = Number(/^queen_parked_long_polls_all (\d+)/m.exec(page)?.[1] ?? 0);
    if (parked >= pops) return;
    if (performance.now() > untilMs) throw new Error(`only ${parked} pops are parked`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** One push after another on a connection each, until the broker refuses connections. */
async function pushOn(port, worker, pushes) {
  for (let n = 0; !pushes.stopping; n++) {
    const item = { queue: 'pushes', partition: `p${worker}`, transactionId: `${worker}-${n}`, payload: n };
    const body = JSON.stringify({ items: [item] });
    let socket;
    try {
      socket = connect({ port, host: '127.0.0.1' });
      await once(socket, 'connect');
    } catch {
      return; // the port is closed: nothing was sent
    }
    let text = '';
    socket.on('data', (bytes) => (text += bytes));
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const head = `POST /api/v1/push HTTP/1.1\r\nHost: broker\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}`;
    socket.write(`${head}\r\n\r\n${body}`);
    await closed;
    if (text.startsWith('HTTP/1.1 201')) pushes.stored++;
    if (text === '') pushes.unanswered++;
    else pushes.answered++;
  }
}

async function countStored() {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const { rows } = await client.query(
    'select coalesce(sum(end_offset - base_offset + 1), 0)::int as n from queen.log_segments',
  );
  await client.end();
  return rows[0].n;
}
