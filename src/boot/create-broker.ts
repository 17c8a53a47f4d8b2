import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:tls';
import { setTimeout as pause } from 'node:timers/promises';
import type { LoggerService } from '@nestjs/common';
import { AppModule, type OwnModules } from '../app.module.js';
import type { Environment } from '../base/config/environment.js';
import { ALONE, type WorkerGroup } from '../base/worker-group/worker-group.js';
import { DrainingIndicator } from '../health/draining.indicator.js';
import { BrokerErrorFilter } from '../http/broker-error.filter.js';
import { createHttpAdapter } from '../http/http-adapter.js';
import { OpenConnections } from '../http/open-connections.js';
import { RouteTable } from '../http/route-table.js';
import { Tls } from '../http/tls.js';
import type { DatabaseOptions } from '../raw-sql/database-options.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';
import { tracesOf } from './traces-of.js';

export interface Broker {
  readonly app: NestFastifyApplication;
  readonly routes: RouteTable;
  /** Binds the port, that of the configuration unless another is given, and returns it. */
  listen(port?: number): Promise<number>;
  /** Leaves in order; a second call joins the first. */
  close(): Promise<void>;
}

/** The port is given back at once; this returns when the last answer is out. */
function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    if (server.listening) server.close(() => resolve());
    else resolve();
  });
}

/** The application on Fastify, wired and initialised, not yet listening. Used by every process that serves, and by the tests. */
export async function createBroker(
  environment: Environment,
  database: DatabaseOptions,
  logger?: LoggerService | false,
  group: WorkerGroup = ALONE,
  own: OwnModules = [],
): Promise<Broker> {
  const routes = new RouteTable();
  const tls = Tls.from(environment);
  const adapter = createHttpAdapter(environment, routes, tls);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.with(environment, database, group, own),
    adapter,
    {
      bodyParser: false,
      abortOnError: false,
      ...(logger === undefined ? {} : { logger }),
    },
  );
  app.useGlobalFilters(new BrokerErrorFilter(routes));
  const draining = app.get(DrainingIndicator);
  const gates = app.get(WakeGateService);
  adapter.getInstance().addHook('onSend', (_request, reply, _payload, done) => {
    // A kept-alive connection would bring its next request to a broker that is about to be gone.
    if (draining.isDraining) void reply.header('connection', 'close');
    done();
  });
  const connections = new OpenConnections();
  connections.watch(app.getHttpServer());
  tls?.keep(app.getHttpServer() as object as TlsServer);
  const traces = await tracesOf(environment, app);
  await app.init();
  let closing: Promise<void> | undefined;
  return {
    app,
    routes,
    async listen(port = environment.PORT) {
      await app.listen({ port, host: environment.QUEEN_BIND_ADDR });
      const address = app.getHttpServer().address() as { port: number };
      return address.port;
    },
    close() {
      // not ready → gates close, so parked pops leave with 204 and nothing new is claimed → clients are given a moment
      // to go elsewhere → the port closes and the work under way finishes → background loops end and what is in the
      // spool goes to the database (beforeApplicationShutdown) → the pool ends (onApplicationShutdown)
      closing ??= (async () => {
        draining.begin();
        gates.closeAll();
        // Who sends the next request on an open connection a moment later is answered, and the answer ends the
        // connection; cut at once, it would be cut under half of the requests.
        await pause(environment.QUEEN_SHUTDOWN_LINGER_MS);
        connections.drain();
        await tls?.stop();
        await closed(app.getHttpServer());
        await app.close(); // a module that fails to leave is logged, and the others leave all the same (field case A31)
        await traces?.stop();
      })();
      return closing;
    },
  };
}
