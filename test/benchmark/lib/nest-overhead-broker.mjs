import { mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { AckController } from '../../../dist/ack/ack.controller.js';
import { parseEnvironment } from '../../../dist/base/config/environment.js';
import { createBroker } from '../../../dist/boot/create-broker.js';
import { databaseFrom } from '../../../dist/boot/database-from.js';
import { prepareSchema } from '../../../dist/boot/prepare-schema.js';
import { startEmbeddedPostgres } from '../../../dist/embedded-postgres/embedded-postgres.js';
import { createHttpAdapter } from '../../../dist/http/http-adapter.js';
import { RouteTable } from '../../../dist/http/route-table.js';
import { PopController } from '../../../dist/pop/pop.controller.js';
import { PushController } from '../../../dist/push/push.controller.js';

/*
 * One process with two ports: the broker as it is, and the handlers of its three hot routes on the bare HTTP adapter
 * (Fastify with the same options, parsers and hooks), called with what the decorators would give them. Everything behind
 * the handlers is the same object, so the difference in CPU is Nest's. Answers `usage` with CPU microseconds so far.
 */
Logger.overrideLogger(false);
const dataDir = mkdtempSync(join(tmpdir(), 'queen-bench-'));
chmodSync(dataDir, 0o755); // as root the server is another user, who must be able to enter
const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined });
const environment = parseEnvironment({
  PORT: '0',
  QUEEN_BIND_ADDR: '127.0.0.1',
  QUEEN_DATA_DIR: dataDir,
  QUEEN_SHUTDOWN_LINGER_MS: '0',
  LOG_LEVEL: 'silent',
});
const database = databaseFrom(environment, postgres.url);
await prepareSchema(database, true);
const broker = await createBroker(environment, database, false);
const nest = await broker.listen();

const handler = (controller) => broker.app.get(controller, { strict: false });
const [pushes, pops, acks] = [PushController, PopController, AckController].map(handler);
const fastify = createHttpAdapter(environment, new RouteTable()).getInstance();
fastify.post('/api/v1/push', (request, reply) => pushes.push(request, reply));
fastify.get('/api/v1/pop/queue/:queue', (request, reply) =>
  pops.popQueue(request.params.queue, request, reply),
);
fastify.post('/api/v1/ack/batch', (request, reply) => acks.ackBatch(request, reply));
await fastify.listen({ port: 0, host: '127.0.0.1' });

process.on('message', (what) => {
  if (what !== 'usage') return;
  const { user, system } = process.cpuUsage();
  process.send({ micros: user + system });
});
// The benchmark has left, in whatever way.
process.once('disconnect', () => {
  void (async () => {
    await fastify.close();
    await broker.close();
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
    process.exit(0);
  })();
});
process.send({ nest, bare: fastify.server.address().port });
