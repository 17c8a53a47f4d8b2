import { measure } from './lib/measure.mjs';
import { startBroker } from './lib/processes.mjs';
for (const workers of ['1', '2', '1', '2']) {
  const broker = await startBroker({ QUEEN_WORKERS: workers });
  try {
    const plan = { batch: 1, partitions: 100, producers: 16, consumers: 16 };
    await measure(broker, { ...plan, queue: 'warm', seconds: 3 });
    const r = await measure(broker, { ...plan, queue: 'run', seconds: 5 });
    console.log(workers, JSON.stringify({ pushed: r.pushedPerSecond, acked: r.ackedPerSecond, lost: r.lost, dup: r.duplicated, ooo: r.outOfOrder, pe: r.pushErrors, po: r.popErrors, ae: r.ackErrors, cpu: r.brokerCpuMicros, pg: r.postgresCpuMicros, tx: r.transactionsPerMessage }));
  } finally { await broker.stop(); }
}
