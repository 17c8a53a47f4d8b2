import http from 'node:http';
import { startEmbeddedPostgres } from '../../../dist/embedded-postgres/embedded-postgres.js';
import { SchemaApplier } from '../../../dist/schema/schema.applier.js';
import pg from 'pg';
import { openStore } from './store.mjs';
import { readAck, readPop, readPush, writeAck, writePop, writePush } from './wire-format.mjs';

/*
 * The floor: what this work costs at least. A bare node:http server with the broker's procedures, coalescing of concurrent
 * requests, and nothing else: no framework, ring, dedup, validation or metrics. Same wire, same start and stop as the
 * broker (QUEEN_DATA_DIR, "listening on 127.0.0.1:<port>", SIGTERM), so that the same generator drives it.
 */
let store;
let server;
process.on('SIGTERM', () => void stop(0));
const starting = startEmbeddedPostgres({ dataDir: process.env.QUEEN_DATA_DIR, log: () => undefined });
const embedded = await starting;
try {
  await new SchemaApplier(connect, () => undefined).apply();
  store = await openStore(embedded.url);
  server = http
    .createServer((request, response) => void answer(request, response))
    .listen(0, '127.0.0.1', () => {
      console.log(`listening on 127.0.0.1:${server.address().port}`);
    });
} catch (error) {
  console.error(error);
  await stop(1);
}

/** Also in the middle of the start: the database server would outlive this process. */
async function stop(code) {
  const postgres = await starting;
  server?.close();
  server?.closeAllConnections();
  await store?.close().catch(() => undefined);
  await postgres.stop();
  process.exit(code);
}

async function connect() {
  const client = new pg.Client({ connectionString: embedded.url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function answer(request, response) {
  try {
    const { status, text } = await serve(request);
    if (status === 204) return void response.writeHead(204).end();
    const body = Buffer.from(text, 'latin1');
    response
      .writeHead(status, { 'content-type': 'application/json', 'content-length': body.length })
      .end(body);
  } catch (error) {
    console.error(error);
    response.writeHead(500, { 'content-length': 0 }).end();
  }
}

async function serve(request) {
  if (request.method === 'GET') return pop(new URL(request.url, 'http://floor'));
  const text = await bodyOf(request);
  return request.url === '/api/v1/push' ? push(text) : ack(text);
}

async function push(text) {
  const { queue, messages } = readPush(text);
  await store.push(queue, messages);
  return { status: 201, text: writePush(queue, messages) };
}

async function pop(url) {
  const wanted = readPop(url);
  const claimed = await store.pop(wanted);
  return claimed.parts.length === 0
    ? { status: 204, text: '' }
    : { status: 200, text: writePop(wanted, claimed) };
}

async function ack(text) {
  const { group, items } = readAck(text);
  const isAcked = new Map();
  for (const { leaseId, partitionId } of items) {
    const key = `${leaseId}${partitionId}`;
    if (!isAcked.has(key)) isAcked.set(key, store.ack(group, leaseId, partitionId));
  }
  for (const [key, verdict] of isAcked) isAcked.set(key, await verdict);
  return { status: 200, text: writeAck(items, isAcked) };
}

function bodyOf(request) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.once('end', () =>
      resolve((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).latin1Slice()),
    );
    request.once('error', reject);
  });
}
