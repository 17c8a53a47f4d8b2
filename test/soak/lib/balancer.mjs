/*
 * A small HTTP load balancer as a process of its own: node balancer.mjs <port,port,…>. Round robin over the brokers that
 * say ready (asked four times a second, and at once after a refusal). A request that reached nobody is sent to the next
 * one; one that was sent and not answered is 502, since only its sender knows whether it may be repeated.
 * Prints its port, leaves when its parent does, and answers GET /balancer with its counters.
 */
import { createServer } from 'node:http';
import { clearInterval } from 'node:timers';
import { Pool } from 'undici';

const LOOK_MS = 250;
const PROBE_MS = 1000;
/** None of three is ready only for moments; longer is a failure that the caller shall see. */
const PATIENCE_MS = 10_000;

const counters = { requests: 0, refused: 0, unanswered: 0, nobodyReady: 0 };
const brokers = process.argv[2].split(',').map((port) => ({
  base: `http://127.0.0.1:${port}`,
  pool: new Pool(`http://127.0.0.1:${port}`, {
    connections: 128,
    pipelining: 1,
    bodyTimeout: 0,
    headersTimeout: 0,
  }),
  isReady: false,
}));
let turn = 0;

const server = createServer((request, response) => {
  if (request.url === '/balancer') return void response.end(JSON.stringify(counters));
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => void forward(request, Buffer.concat(chunks), response));
});
server.keepAliveTimeout = 60_000;

const looking = setInterval(() => brokers.forEach((broker) => void look(broker)), LOOK_MS);
await Promise.all(brokers.map(look));
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().once('end', () => {
  clearInterval(looking);
  process.exit(0);
});

async function look(broker) {
  try {
    const answer = await fetch(`${broker.base}/health/ready`, {
      signal: AbortSignal.timeout(PROBE_MS),
      headers: { connection: 'close' },
    });
    await answer.arrayBuffer();
    broker.isReady = answer.status === 200;
  } catch {
    broker.isReady = false;
  }
}

async function forward(request, body, response) {
  counters.requests++;
  const untilMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const broker = next();
    if (!broker) {
      counters.nobodyReady++;
      if (performance.now() > untilMs) return fail(response, 503);
      await new Promise((resolve) => setTimeout(resolve, 20));
      continue;
    }
    try {
      const answer = await broker.pool.request({
        method: request.method,
        path: request.url,
        body: body.length > 0 ? body : null,
        headers: body.length > 0 ? { 'content-type': 'application/json' } : {},
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      const type = answer.headers['content-type'];
      response.writeHead(answer.statusCode, {
        ...(type === undefined ? {} : { 'content-type': type }),
        ...(answer.statusCode === 204 ? {} : { 'content-length': bytes.length }),
        'x-broker': broker.base,
      });
      return void response.end(bytes);
    } catch (error) {
      if (error.code === 'ECONNREFUSED') {
        counters.refused++;
        broker.isReady = false;
        continue;
      }
      counters.unanswered++;
      return fail(response, 502);
    }
  }
}

function next() {
  for (let i = 0; i < brokers.length; i++) {
    const broker = brokers[turn++ % brokers.length];
    if (broker.isReady) return broker;
  }
  return null;
}

function fail(response, status) {
  response.writeHead(status, { 'content-length': 0 });
  response.end();
}
