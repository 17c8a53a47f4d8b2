import { Client } from 'undici';
import { setTimeout as pause } from 'node:timers/promises';
import { Histogram } from './lib/histogram.mjs';
import { startBroker } from './lib/processes.mjs';
import { report } from './lib/report.mjs';

/*
 * Push to a parked consumer, batch 1: npm run bench:wake -- [--save]. True end to end, from the push leaving the client
 * to the message in the consumer's hands, beside the time of the bare push (sent to answered).
 */
const ROUNDS = 400;

const broker = await startBroker();
const endToEnd = new Histogram();
const push = new Histogram();
try {
  const producer = new Client(broker.base);
  const consumer = new Client(broker.base);
  for (let n = 0; n < ROUNDS + 50; n++) {
    const arrived = take(consumer);
    await pause(4 + (n % 7)); // it is parked by then; uneven, so that no timer of ours keeps step with the pushes
    const sentMs = performance.now();
    const pushed = request(
      producer,
      'POST',
      '/api/v1/push',
      `{"items":[{"queue":"wake","partition":"p${n % 10}","payload":${n}}]}`,
    );
    const gotMs = await arrived;
    await pushed;
    const answeredMs = performance.now();
    if (n < 50) continue;
    endToEnd.record((gotMs - sentMs) * 1000);
    push.record((answeredMs - sentMs) * 1000);
  }
  // The bare push, with nobody waiting, in the same run.
  const bare = new Histogram();
  for (let n = 0; n < ROUNDS; n++) {
    await pause(4);
    const sentMs = performance.now();
    await request(
      producer,
      'POST',
      '/api/v1/push',
      `{"items":[{"queue":"bare","partition":"p${n % 10}","payload":${n}}]}`,
    );
    bare.record((performance.now() - sentMs) * 1000);
  }
  report('wake-latency', { rounds: ROUNDS, endToEndMs: endToEnd.summary(), barePushMs: bare.summary() });
  await producer.close();
  await consumer.close();
} finally {
  await broker.stop();
}

/** The next message, leased and acked; the time it was in hand. */
async function take(client) {
  for (;;) {
    const { status, text } = await request(
      client,
      'GET',
      '/api/v1/pop/queue/wake?consumerGroup=g&batch=1&wait=true&timeout=10000',
    );
    if (status !== 200) continue;
    const gotMs = performance.now();
    const { partitionId, leaseId, messages } = JSON.parse(text);
    await request(
      client,
      'POST',
      '/api/v1/ack',
      JSON.stringify({
        transactionId: messages[0].transactionId,
        partitionId,
        leaseId,
        consumerGroup: 'g',
        status: 'completed',
      }),
    );
    return gotMs;
  }
}

async function request(client, method, path, body) {
  const answer = await client.request({ method, path, body });
  return { status: answer.statusCode, text: await answer.body.text() };
}
