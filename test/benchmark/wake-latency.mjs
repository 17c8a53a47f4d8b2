import { setTimeout as pause } from 'node:timers/promises';
import { Histogram } from './lib/histogram.mjs';
import { machineFloor } from './lib/machine.mjs';
import { startBroker } from './lib/processes.mjs';
import { report } from './lib/report.mjs';
import { Wire } from './lib/wire.mjs';

/*
 * Push to a parked consumer, batch 1: npm run bench:wake -- [--save]. True end to end, from the push leaving the client
 * to the message in the consumer's hands, beside the time of the bare push (sent to answered), and beside what this
 * machine takes for a bare HTTP round trip, a statement and an fsync, of which both are made.
 */
const ROUNDS = 400;
/** An engine that has not compiled the broker's code yet takes more than twice as long for everything. */
const WARM_UP_ROUNDS = 2500;

const broker = await startBroker();
const endToEnd = new Histogram();
const push = new Histogram();
const bare = new Histogram();
try {
  const producer = new Wire(broker.base);
  const consumer = new Wire(broker.base);
  await warmUp(producer, consumer);
  const machine = await machineFloor(broker);
  for (let n = 0; n < ROUNDS; n++) {
    const arrived = take(consumer, 'wake');
    await pause(4 + (n % 7)); // it is parked by then; uneven, so that no timer of ours keeps step with the pushes
    const sentMs = performance.now();
    const pushed = send(producer, 'wake', n).then(() => performance.now());
    const gotMs = await arrived; // and acked, which the push does not wait for
    const answeredMs = await pushed;
    endToEnd.record((gotMs - sentMs) * 1000);
    push.record((answeredMs - sentMs) * 1000);
    // The bare push in turn with it, with nobody waiting.
    await pause(4);
    const bareMs = performance.now();
    await send(producer, 'bare', n);
    bare.record((performance.now() - bareMs) * 1000);
  }
  producer.close();
  consumer.close();
  report('wake-latency', {
    rounds: ROUNDS,
    warmUpRounds: WARM_UP_ROUNDS,
    endToEndMs: endToEnd.summary(),
    pushMs: push.summary(),
    barePushMs: bare.summary(),
    machine,
  });
} finally {
  await broker.stop();
}

/** The same work without pauses, so that it takes seconds. */
async function warmUp(producer, consumer) {
  for (let n = 0; n < WARM_UP_ROUNDS; n++) {
    const arrived = take(consumer, 'warm-up');
    await send(producer, 'warm-up', n);
    await arrived;
  }
}

async function send(wire, queue, n) {
  const item = `{"queue":"${queue}","partition":"p${n % 10}","payload":${n}}`;
  const { status, text } = await wire.send('POST', '/api/v1/push', `{"items":[${item}]}`);
  if (status !== 201) throw new Error(`push answered ${status}: ${text}`);
}

/** The next message, leased and acked; the time it was in hand. */
async function take(wire, queue) {
  for (;;) {
    const path = `/api/v1/pop/queue/${queue}?consumerGroup=g&batch=1&wait=true&timeout=10000`;
    const { status, text } = await wire.send('GET', path);
    if (status === 204) continue;
    if (status !== 200) throw new Error(`pop answered ${status}: ${text}`);
    const gotMs = performance.now();
    const { partitionId, leaseId, messages } = JSON.parse(text);
    const { transactionId } = messages[0];
    const ack = { transactionId, partitionId, leaseId, consumerGroup: 'g', status: 'completed' };
    const acked = await wire.send('POST', '/api/v1/ack', JSON.stringify(ack));
    if (acked.status !== 200) throw new Error(`ack answered ${acked.status}: ${acked.text}`);
    return gotMs;
  }
}
