import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { LoggerService } from '@nestjs/common';
import { AppModule } from '../app.module.js';
import type { Environment } from '../base/config/environment.js';
import { DrainingIndicator } from '../health/draining.indicator.js';
import { BrokerErrorFilter } from '../http/broker-error.filter.js';
import { createHttpAdapter } from '../http/http-adapter.js';
import { OpenConnections } from '../http/open-connections.js';
import { RouteTable } from '../http/route-table.js';
import type { DatabaseOptions } from '../raw-sql/database-options.js';
import { WakeGateService } from '../wake-gate/wake-gate.service.js';

export interface Broker {
  readonly app: NestFastifyApplication;
  readonly routes: RouteTable;
  /** Binds the port and returns it. */
  listen(): Promise<number>;
  /** Leaves in order; a second call joins the first. */
  close(): Promise<void>;
}

/** The application on Fastify, wired and initialised, not yet listening. Used by main.ts and by the tests alike. */
export async function createBroker(
  environment: Environment,
  database: DatabaseOptions,
  logger?: LoggerService | false,
): Promise<Broker> {
  const routes = new RouteTable();
  const adapter = createHttpAdapter(environment, routes);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.with(environment, database),
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
  await app.init();
  let closing: Promise<void> | undefined;
  return {
    app,
    routes,
    async listen() {
      await app.listen({ port: environment.PORT, host: environment.QUEEN_BIND_ADDR });
      const address = app.getHttpServer().address() as { port: number };
      return address.port;
    },
    close() {
      // not ready → gates close, so parked pops leave with 204 → claims under way finish and the HTTP server closes
      // (app.close) → background loops and the pool end (onApplicationShutdown)
      closing ??= (async () => {
        draining.begin();
        gates.closeAll();
        connections.drain();
        await app.close();
      })();
      return closing;
    },
  };
}
