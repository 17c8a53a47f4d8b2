import { EventEmitter } from 'node:events';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { startPostgres } from './postgres.mjs';

export const durability = 'PostgreSQL, synchronous_commit on: fsync on commit';
export const use = 'addJobs() of whole batches; local queue of 500 jobs, completions batched';

const LOCAL_QUEUE = 500;
const silent = new Logger(() => () => undefined);

export async function start() {
  const postgres = await startPostgres('graphile-worker');
  const pgPool = new pg.Pool({ connectionString: postgres.url, max: 20 });
  const complain = (error) => console.error(`graphile-worker: ${error.message}`);
  pgPool.on('error', complain).on('connect', (client) => client.on('error', complain));
  const utils = await makeWorkerUtils({ pgPool, logger: silent });
  await utils.migrate();
  return {
    cpuMs: postgres.cpuMs,
    async open(queue) {
      return {
        push: (texts) =>
          utils.addJobs(texts.map((text) => ({ identifier: queue, payload: JSON.parse(text) }))),
        consume: (options) => consume(pgPool, queue, options),
        close: () => pgPool.query('delete from graphile_worker._private_jobs'),
      };
    },
    async stop() {
      await utils.release();
      await pgPool.end();
      await postgres.stop();
    },
  };
}

async function consume(pgPool, queue, { consumers, batch, delivered, acked }) {
  const events = new EventEmitter();
  events.on('job:complete', () => acked(1));
  const concurrentJobs = Math.min(consumers * batch, 100);
  const runner = await run({
    pgPool,
    logger: silent,
    events,
    noHandleSignals: true,
    taskList: { [queue]: (payload) => delivered([payload]) },
    preset: {
      worker: {
        concurrentJobs,
        pollInterval: 100,
        localQueue: { size: LOCAL_QUEUE },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  });
  return { stop: () => runner.stop() };
}
