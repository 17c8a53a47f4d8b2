import { machineFloor } from './lib/machine.mjs';
import { measure } from './lib/measure.mjs';
import { startBroker } from './lib/processes.mjs';
import { median, report } from './lib/report.mjs';

/*
 * npm run bench -- [rounds] [--save]. Push alone, push and consume at once, a backlog, and a paced flow, each verified
 * message by message; medians of rounds that take turns. The generator shares the machine's cores with the broker and
 * PostgreSQL, so rates are a floor and CPU a message is what compares.
 */
const ROUNDS = Number(process.argv.find((one) => /^\d+$/.test(one)) ?? 3);
const SECONDS = 4;
const WORK = {
  'push batch 1, 100 partitions, 64 connections': { batch: 1, partitions: 100, producers: 64, consumers: 0 },
  'push batch 10, 100 partitions, 64 connections': {
    batch: 10,
    partitions: 100,
    producers: 64,
    consumers: 0,
  },
  'push batch 100, 100 partitions, 64 connections': {
    batch: 100,
    partitions: 100,
    producers: 64,
    consumers: 0,
  },
  'push batch 1, one hot partition, 64 connections': { batch: 1, partitions: 1, producers: 64, consumers: 0 },
  'push and pop+ack, batch 1, 8+8': { batch: 1, partitions: 100, producers: 8, consumers: 8 },
  'push and pop+ack, batch 1, 64+64': { batch: 1, partitions: 100, producers: 64, consumers: 64 },
  'push and pop+ack, batch 100, 8+8': { batch: 100, partitions: 100, producers: 8, consumers: 8 },
  'push and pop+ack, batch 100 spread over 100 partitions, 8+8': {
    batch: 100,
    partitions: 100,
    producers: 8,
    consumers: 8,
    spread: true,
    popPartitions: 100,
  },
  'push and auto-ack, batch 100, 8+8': {
    batch: 100,
    partitions: 100,
    producers: 8,
    consumers: 8,
    autoAck: true,
  },
  'paced 50 msgs/s, parked consumers, 100 partitions': {
    batch: 1,
    partitions: 100,
    producers: 2,
    consumers: 8,
    ratePerSecond: 50,
    seconds: 8,
    warmUp: true,
  },
};

const broker = await startBroker();
try {
  // Thousands of requests of each kind: before its code is compiled the broker takes twice as long for each.
  await measure(broker, {
    queue: 'warm-up',
    seconds: 60,
    messages: 5000,
    batch: 1,
    partitions: 100,
    producers: 16,
    consumers: 16,
    aheadMax: 500,
  });
  const machine = await machineFloor(broker);
  const runs = Object.fromEntries(Object.keys(WORK).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, plan] of Object.entries(WORK)) {
      const queue = `${name.replace(/[^a-z0-9]+/g, '-')}-${round}`;
      const run = await measure(broker, { seconds: SECONDS, ...plan, queue });
      console.log(JSON.stringify({ name, round, ...run }));
      runs[name].push(run);
    }
  }
  const results = Object.fromEntries(Object.entries(runs).map(([name, all]) => [name, summary(all)]));
  report('throughput', { rounds: ROUNDS, payloadBytes: 256, dedup: 'on', machine, results });
} finally {
  await broker.stop();
}

function summary(all) {
  const of = (pick) => median(all.map(pick));
  return {
    pushedPerSecond: of((run) => run.pushedPerSecond),
    ackedPerSecond: of((run) => run.ackedPerSecond),
    pushP50Ms: of((run) => run.pushMs.p50),
    endToEndP50Ms: of((run) => run.endToEndMs.p50),
    endToEndP99Ms: of((run) => run.endToEndMs.p99),
    brokerCpuMicros: of((run) => run.brokerCpuMicros),
    postgresCpuMicros: of((run) => run.postgresCpuMicros),
    transactionsPerMessage: of((run) => run.transactionsPerMessage),
    walBytesPerMessage: of((run) => run.walBytesPerMessage),
    faults: all.reduce(
      (sum, run) =>
        sum +
        Math.max(0, run.lost) +
        run.duplicated +
        run.outOfOrder +
        run.unread +
        run.pushErrors +
        run.popErrors +
        run.ackErrors,
      0,
    ),
  };
}
