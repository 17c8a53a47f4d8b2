import { Queue, Worker } from 'bullmq';
import { commandOf, freePort, startForeign, temporaryFolder } from '../lib/foreign-server.mjs';

export const durability = 'Redis, appendfsync always';
export const use =
  'addBulk() of whole batches; one worker with as many jobs at once as the consumers would hold';

export async function start() {
  const command = commandOf('redis-server', 'redis-server');
  const port = await freePort();
  const folder = temporaryFolder('redis');
  const args = `--port ${port} --bind 127.0.0.1 --dir ${folder} --appendonly yes --appendfsync always --daemonize no`;
  const redis = await startForeign({ command, args: [...args.split(' '), '--save', ''], folder, port });
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
  return {
    cpuMs: redis.cpuMs,
    async open(name) {
      const queue = new Queue(name, { connection, defaultJobOptions: { removeOnComplete: true } });
      queue.on('error', (error) => console.error(`bullmq: ${error.message}`));
      await queue.waitUntilReady();
      return {
        push: (texts) =>
          texts.length === 1
            ? queue.add('m', JSON.parse(texts[0]))
            : queue.addBulk(texts.map((text) => ({ name: 'm', data: JSON.parse(text) }))),
        consume: (options) => consume(name, connection, options),
        async close() {
          await queue.obliterate({ force: true });
          await queue.close();
        },
      };
    },
    stop: redis.stop,
  };
}

async function consume(name, connection, { consumers, batch, delivered, acked }) {
  const work = async (job) => delivered([job.data]);
  const worker = new Worker(name, work, { connection, concurrency: Math.min(consumers * batch, 500) });
  worker.on('error', (error) => console.error(`bullmq: ${error.message}`));
  worker.on('completed', () => acked(1));
  await worker.waitUntilReady();
  return { stop: () => worker.close() };
}
