import { generate } from './lib/generator.mjs';
import { startBroker } from './lib/processes.mjs';
import { report } from './lib/report.mjs';
import { Client } from 'undici';
import { Histogram } from './lib/histogram.mjs';
import { messagesIn } from './lib/messages-in.mjs';
import { payloadMaker } from './lib/payloads.mjs';

/*
 * One partition with a deep backlog and 999 quiet ones with a message a second in all of them together … each of the quiet
 * ones must not starve: npm run bench:lanes -- [backlog] [--save]. Ten consumers, with partitions=1 and partitions=64.
 */
const BACKLOG = Number(process.argv.find((one) => /^\d+$/.test(one)) ?? 1_000_000);
const SECONDS = 30;
/** A cold broker and the first contact of a group with a million messages are measured elsewhere. */
const WARM_UP_SECONDS = 10;
const QUIET_PER_SECOND = 999;

const broker = await startBroker();
try {
  const results = [];
  for (const partitions of [1, 64]) results.push(await lanes(partitions));
  report('quiet-lanes', {
    backlog: BACKLOG,
    quietPartitions: 999,
    quietMessagesPerSecond: QUIET_PER_SECOND,
    consumers: 10,
    results,
  });
} finally {
  await broker.stop();
}

async function lanes(popPartitions) {
  const queue = `lanes-${popPartitions}`;
  await generate(broker.base, {
    queue,
    seconds: 600,
    messages: BACKLOG,
    batch: 1000,
    partitions: 1,
    producers: 4,
    consumers: 0,
    bytes: 100,
  });
  const age = new Histogram();
  let deep = 0;
  let quiet = 0;
  let running = true;
  const payload = payloadMaker(100, 'random');
  const countedFromMicros = (performance.timeOrigin + performance.now() + WARM_UP_SECONDS * 1000) * 1000;
  const consumers = Array.from({ length: 10 }, async () => {
    const client = new Client(broker.base);
    while (running) {
      const answer = await client.request({
        method: 'GET',
        path: `/api/v1/pop/queue/${queue}?consumerGroup=g&batch=100&partitions=${popPartitions}&wait=true&timeout=500&autoAck=true`,
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) continue;
      const nowMicros = (performance.timeOrigin + performance.now()) * 1000;
      for (const { partition, micros } of messagesIn(text)) {
        if (partition === 'p0') deep++;
        else {
          quiet++;
          if (micros >= countedFromMicros) age.record(nowMicros - micros);
        }
      }
    }
    await client.close();
  });
  const producer = new Client(broker.base);
  const startedMs = performance.now();
  let sent = 0;
  for (let tick = 0; performance.now() - startedMs < (WARM_UP_SECONDS + SECONDS) * 1000; tick++) {
    const dueMs = startedMs + tick * 20;
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const micros = Math.round((performance.timeOrigin + dueMs) * 1000);
    const items = [];
    while (sent < ((performance.now() - startedMs) / 1000) * QUIET_PER_SECOND) {
      const partition = `q${sent++ % 999}`;
      items.push(`{"queue":"${queue}","partition":"${partition}","payload":${payload(sent, micros)}}`);
    }
    if (items.length === 0) continue;
    const answer = await producer.request({
      method: 'POST',
      path: '/api/v1/push',
      body: `{"items":[${items.join(',')}]}`,
    });
    await answer.body.dump();
  }
  const deadlineMs = performance.now() + 15_000;
  while (quiet < sent && performance.now() < deadlineMs)
    await new Promise((resolve) => setTimeout(resolve, 20));
  running = false;
  await Promise.all(consumers);
  await producer.close();
  return {
    popPartitions,
    quietSent: sent,
    quietDelivered: quiet,
    deepDelivered: deep,
    quietAgeMs: age.summary(),
  };
}
