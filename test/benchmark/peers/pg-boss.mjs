import PgBoss from 'pg-boss';
import { setTimeout as pause } from 'node:timers/promises';
import { startPostgres } from './postgres.mjs';

/** Its own worker polls twice a second at most; this polls as often as pays, which it allows as well. */
const POLL_MS = 5;

export const durability = 'PostgreSQL, synchronous_commit on: fsync on commit';
export const use = 'insert() of whole batches; fetch(batchSize) and complete(ids)';

export async function start() {
  const postgres = await startPostgres('pg-boss');
  const boss = new PgBoss({ connectionString: postgres.url, max: 20, supervise: false, schedule: false });
  boss.on('error', (error) => console.error(`pg-boss: ${error.message}`));
  await boss.start();
  return {
    cpuMs: postgres.cpuMs,
    async open(queue) {
      await boss.createQueue(queue);
      return {
        push: (texts) => boss.insert(texts.map((text) => ({ name: queue, data: JSON.parse(text) }))),
        consume: (options) => consume(boss, queue, options),
        async close() {
          await boss.getDb().executeSql('delete from pgboss.job where name = $1', [queue]);
          await boss.deleteQueue(queue);
        },
      };
    },
    async stop() {
      await boss.stop({ graceful: false, wait: true });
      await postgres.stop();
    },
  };
}

function consume(boss, queue, { consumers, batch, delivered, acked }) {
  let running = true;
  const loops = Array.from({ length: consumers }, async () => {
    while (running) {
      const jobs = await boss.fetch(queue, { batchSize: batch });
      if (jobs.length === 0) {
        await pause(POLL_MS);
        continue;
      }
      delivered(jobs.map(({ data }) => data));
      await boss.complete(
        queue,
        jobs.map(({ id }) => id),
      );
      acked(jobs.length);
    }
  });
  return {
    async stop() {
      running = false;
      await Promise.all(loops);
    },
  };
}
