import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import amqp from 'amqplib';
import { commandOf, freePort, startForeign, temporaryFolder } from '../lib/foreign-server.mjs';
import { inBatches } from './in-batches.mjs';
import { headOf } from './run.mjs';

export const durability =
  'quorum queue (of one node), persistent messages: fsync before the confirm; acks are not confirmed to consumers';
export const use = 'publisher confirms awaited a batch at a time; prefetch of two batches, one ack for many';

const CHANNELS_MAX = 64;

export async function start() {
  // In Debian's sbin is a wrapper that changes the user; the script behind it runs as whoever starts it.
  const command = commandOf('rabbitmq-server', 'rabbitmq-server', ['/usr/lib/rabbitmq/bin']);
  const [port, distPort, epmdPort] = [await freePort(), await freePort(), await freePort()];
  const epmd = await startForeign({
    command: commandOf('epmd', 'erlang-base'),
    args: ['-address', '127.0.0.1', '-port', String(epmdPort)],
    folder: temporaryFolder('epmd'),
    port: epmdPort,
  });
  const folder = temporaryFolder('rabbitmq');
  writeFileSync(join(folder, 'enabled_plugins'), '[].\n');
  let server;
  try {
    server = await startForeign({
      command,
      args: [],
      folder,
      port,
      env: {
        HOME: folder,
        ERL_EPMD_ADDRESS: '127.0.0.1',
        ERL_EPMD_PORT: String(epmdPort),
        RABBITMQ_NODENAME: 'bench@localhost',
        RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
        RABBITMQ_NODE_PORT: String(port),
        RABBITMQ_DIST_PORT: String(distPort),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
        RABBITMQ_CONF_ENV_FILE: join(folder, 'rabbitmq-env.conf'),
        RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq'),
        RABBITMQ_GENERATED_CONFIG_DIR: join(folder, 'config'),
        RABBITMQ_SCHEMA_DIR: join(folder, 'schema'),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
        RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
        RABBITMQ_LOG_BASE: join(folder, 'log'),
        RABBITMQ_PID_FILE: join(folder, 'pid'),
      },
    });
  } catch (error) {
    await epmd.stop();
    throw error;
  }
  const connection = await amqp.connect(`amqp://guest:guest@127.0.0.1:${port}`);
  connection.on('error', (error) => console.error(`rabbitmq: ${error.message}`));
  return {
    cpuMs: server.cpuMs,
    async open(queue, { producers }) {
      const admin = await connection.createChannel();
      await admin.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
      const free = [];
      for (let i = 0; i < Math.min(CHANNELS_MAX, Math.max(producers, 8)); i++)
        free.push(await connection.createConfirmChannel());
      return {
        push: (texts) => publish(free, queue, texts),
        consume: (options) => consume(connection, queue, options),
        async close() {
          await Promise.all(free.map((channel) => channel.close()));
          await admin.deleteQueue(queue);
          await admin.close();
        },
      };
    },
    async stop() {
      await connection.close();
      await server.stop();
      await epmd.stop();
    },
  };
}

/** As many producers as channels, so there is always a free one. */
async function publish(free, queue, texts) {
  const channel = free.pop();
  try {
    for (const text of texts) channel.sendToQueue(queue, Buffer.from(text), { persistent: true });
    await channel.waitForConfirms();
  } finally {
    free.push(channel);
  }
}

async function consume(connection, queue, { consumers, batch, delivered, acked }) {
  const channels = [];
  for (let i = 0; i < consumers; i++) {
    const channel = await connection.createChannel();
    await channel.prefetch(2 * batch);
    channels.push(channel);
    const take = inBatches(batch, (messages) => {
      delivered(messages.map(({ content }) => headOf(content.latin1Slice())));
      channel.ack(messages.at(-1), true);
      acked(messages.length);
    });
    await channel.consume(queue, take);
  }
  return { stop: () => Promise.all(channels.map((channel) => channel.close())) };
}
