import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AckPolicy, connect, RetentionPolicy, StorageType } from 'nats';
import { commandOf, freePort, startForeign, temporaryFolder } from '../lib/foreign-server.mjs';
import { inBatches } from './in-batches.mjs';
import { headOf } from './run.mjs';

export let durability = 'JetStream file storage, sync_interval always: fsync before the answer';
export const use =
  'publishes of a batch at once, each confirmed; pulls that keep two batches on their way, confirmed acks';

export async function start() {
  const command = commandOf('nats-server', 'nats-server');
  const port = await freePort();
  const folder = temporaryFolder('nats');
  const syncsAlways = offersSync(command);
  if (!syncsAlways) {
    durability =
      'JetStream file storage; this version has no sync on every write: NOT durable against a power cut';
  }
  const config = join(folder, 'nats.conf');
  writeFileSync(
    config,
    `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${folder}/data"${syncsAlways ? ', sync_interval: always' : ''} }\n`,
  );
  const server = await startForeign({ command, args: ['-c', config], folder, port });
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const manager = await connection.jetstreamManager();
  const jetstream = connection.jetstream();
  return {
    cpuMs: server.cpuMs,
    async open(queue) {
      await manager.streams.add({
        name: queue,
        subjects: [queue],
        storage: StorageType.File,
        retention: RetentionPolicy.Workqueue,
      });
      await manager.consumers.add(queue, {
        durable_name: 'g',
        ack_policy: AckPolicy.Explicit,
        max_ack_pending: 100_000,
      });
      return {
        push: (texts) => Promise.all(texts.map((text) => jetstream.publish(queue, Buffer.from(text)))),
        consume: (options) => consume(jetstream, queue, options),
        close: () => manager.streams.delete(queue),
      };
    },
    async stop() {
      await connection.close();
      await server.stop();
    },
  };
}

/** `sync_interval: always` came with 2.10. */
function offersSync(command) {
  const [, major, minor] = /v(\d+)\.(\d+)\./.exec(execFileSync(command, ['--version'], { encoding: 'utf8' }));
  return Number(major) > 2 || Number(minor) >= 10;
}

async function consume(jetstream, queue, { consumers, batch, delivered, acked }) {
  const pulls = [];
  for (let i = 0; i < consumers; i++) {
    const consumer = await jetstream.consumers.get(queue, 'g');
    const take = inBatches(batch, async (messages) => {
      delivered(messages.map(({ data }) => headOf(Buffer.from(data).latin1Slice())));
      await Promise.all(messages.map((message) => message.ackAck()));
      acked(messages.length);
    });
    pulls.push(await consumer.consume({ max_messages: Math.max(2, 2 * batch), callback: take }));
  }
  return { stop: () => Promise.all(pulls.map((pull) => pull.close())) };
}
