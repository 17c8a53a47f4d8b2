import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import { median, report } from './lib/report.mjs';

/*
 * npm run bench:nest -- [rounds] [--save]. CPU of one request of the three hot routes through Nest, as a ratio of the same
 * handler on bare Fastify. Both are in one process and take turns, a few hundred requests at a time; the ratio is made of
 * each pair, so that what else the machine does falls on both.
 */
const ROUNDS = Number(process.argv.find((one) => /^\d+$/.test(one)) ?? 15);
const WARM_UP_ROUNDS = 8;
const REQUESTS = 400;
const CONNECTIONS = 16;
const GROUP = 'consumerGroup=bench';

const BROKER = fileURLToPath(new URL('./lib/nest-overhead-broker.mjs', import.meta.url));
// QUEEN_BENCH_PROF names a directory for a CPU profile of the broker.
const profile = process.env.QUEEN_BENCH_PROF
  ? ['--cpu-prof', `--cpu-prof-dir=${process.env.QUEEN_BENCH_PROF}`]
  : [];
const broker = fork(BROKER, { execArgv: profile });
const exited = once(broker, 'exit');
try {
  const [ports] = await Promise.race([once(broker, 'message'), exited.then(fail)]);
  const sides = {
    nest: new Pool(`http://127.0.0.1:${ports.nest}`, { connections: CONNECTIONS }),
    bare: new Pool(`http://127.0.0.1:${ports.bare}`, { connections: CONNECTIONS }),
  };
  const results = {};
  for (const [name, work] of Object.entries({
    push,
    'pop of nothing': popNothing,
    'pop of one': popOne,
    ack,
  })) {
    results[name] = await compare(sides, work);
    console.error(name, JSON.stringify(results[name]));
  }
  report('nest-overhead', { rounds: ROUNDS, requestsPerTurn: REQUESTS, connections: CONNECTIONS, results });
  await Promise.all(Object.values(sides).map((side) => side.close()));
} finally {
  if (broker.connected) broker.disconnect();
  await exited;
}

async function compare(sides, work) {
  const micros = { nest: [], bare: [] };
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? ['nest', 'bare'] : ['bare', 'nest'];
    for (const side of order) {
      const requests = await work(sides[side], sides.bare);
      const before = await usage();
      await inParallel(requests);
      const perRequest = ((await usage()) - before) / requests.length;
      if (round >= 0) micros[side].push(perRequest);
    }
  }
  const ratios = micros.nest.map((value, round) => value / micros.bare[round]);
  return {
    nestMicros: rounded(median(micros.nest)),
    bareMicros: rounded(median(micros.bare)),
    differenceMicros: rounded(median(micros.nest.map((value, round) => value - micros.bare[round]))),
    ratio: rounded(median(ratios)),
  };
}

function push(side) {
  return Array.from({ length: REQUESTS }, (_, n) => () => {
    const body = `{"items":[{"queue":"push","partition":"p${n % 100}","payload":{"n":${n}}}]}`;
    return expectStatus(side, 201, { method: 'POST', path: '/api/v1/push', body });
  });
}

function popNothing(side) {
  const path = `/api/v1/pop/queue/empty?${GROUP}`;
  return Array.from({ length: REQUESTS }, () => () => expectStatus(side, 204, { method: 'GET', path }));
}

/** One message in each of as many partitions as there are pops. */
async function popOne(side, other) {
  await fill(other, 'pop');
  const path = `/api/v1/pop/queue/pop?${GROUP}&batch=1&autoAck=true&wait=true&timeout=10000`;
  return Array.from({ length: REQUESTS }, () => () => expectStatus(side, 200, { method: 'GET', path }));
}

/** Messages are leased beforehand, and not counted. */
async function ack(side, other) {
  await fill(other, 'ack');
  const messages = [];
  while (messages.length < REQUESTS) {
    const path = `/api/v1/pop/queue/ack?${GROUP}&batch=${REQUESTS}&partitions=${REQUESTS}&wait=true&timeout=10000`;
    const text = await expectStatus(other, 200, { method: 'GET', path });
    messages.push(...JSON.parse(text).messages);
  }
  return messages.map(({ transactionId, partitionId, leaseId }) => {
    const acknowledgments = [{ transactionId, partitionId, leaseId, status: 'completed' }];
    const body = JSON.stringify({ consumerGroup: 'bench', acknowledgments });
    return () => expectStatus(side, 200, { method: 'POST', path: '/api/v1/ack/batch', body });
  });
}

async function fill(side, queue) {
  const items = Array.from({ length: REQUESTS }, (_, n) => ({ queue, partition: `p${n}`, payload: n }));
  await expectStatus(side, 201, { method: 'POST', path: '/api/v1/push', body: JSON.stringify({ items }) });
}

async function expectStatus(side, status, request) {
  const { statusCode, body } = await side.request(request);
  const text = await body.text();
  if (statusCode !== status) throw new Error(`${request.path}: ${statusCode} instead of ${status}: ${text}`);
  return text;
}

/** As many at once as there are connections. */
async function inParallel(requests) {
  let next = 0;
  const one = async () => {
    while (next < requests.length) await requests[next++]();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
}

async function usage() {
  const answer = once(broker, 'message');
  broker.send('usage');
  const [{ micros }] = await answer;
  return micros;
}

function fail() {
  throw new Error('the broker has left');
}

function rounded(value) {
  return Math.round(value * 100) / 100;
}
