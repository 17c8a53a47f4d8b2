import { dataset } from './dataset.mjs';

const PUSH_BATCH = 500;
const WORKERS = 4;
/** A pop takes no more than this, so that it holds at most one message that is about to fail per partition. */
const FAIL_EVERY = 50;
const POP_BATCH = 50;

/**
 * Pushes the data set, consumes it with two groups of four workers each (`steady` acks everything, `flaky` fails every
 * 50th message once), pushes it again, and reports what it saw.
 * @param {string} base address of a broker
 * @param {(line: string) => void} log
 */
export async function replay(base, log) {
  const items = dataset();
  const expected = new Map(items.map((item) => [idOf(item), item]));
  const queues = [...new Set(items.map(({ queue }) => queue))];

  const pushStartedMs = performance.now();
  const first = await pushAll(base, items);
  const pushSeconds = (performance.now() - pushStartedMs) / 1000;
  log(`pushed ${items.length} messages to ${partitionsOf(items)} partitions of ${queues.length} queues`);

  const consumeStartedMs = performance.now();
  const groups = await Promise.all([
    consume(base, queues, 'steady', expected, false),
    consume(base, queues, 'flaky', expected, true),
  ]);
  const consumeSeconds = (performance.now() - consumeStartedMs) / 1000;
  const again = await pushAll(base, items);
  const deadLetters = groups.reduce((sum, group) => sum + group.deadLetters, 0);

  const report = {
    messages: items.length,
    partitions: partitionsOf(items),
    queued: first.queued ?? 0,
    groups: Object.fromEntries(groups.map((group) => [group.name, { ...group.counts }])),
    deadLetters,
    orderViolations: groups.reduce((sum, group) => sum + group.orderViolations, 0),
    byteMismatches: groups.reduce((sum, group) => sum + group.byteMismatches, 0),
    missing: groups.reduce((sum, group) => sum + group.missing, 0),
    secondPush: again,
    pushedPerSecond: Math.round(items.length / pushSeconds),
    consumedPerSecond: Math.round((2 * items.length) / consumeSeconds),
  };
  for (const [name, { deliveries, redeliveries }] of Object.entries(report.groups)) {
    log(`group ${name}: ${deliveries} deliveries, ${redeliveries} redeliveries`);
  }
  log(`dead letters ${report.deadLetters}, missing ${report.missing}`);
  log(`order violations ${report.orderViolations}, byte mismatches ${report.byteMismatches}`);
  log(`second push: ${JSON.stringify(report.secondPush)}`);
  log(
    `${report.pushedPerSecond} messages/s pushed, ${report.consumedPerSecond} messages/s consumed and acked`,
  );
  return report;
}

/** Statuses by count. Payload text is spliced in as it is: stringify of the parsed value would prove nothing. */
async function pushAll(base, items) {
  const statuses = {};
  for (let from = 0; from < items.length; from += PUSH_BATCH) {
    const body = items
      .slice(from, from + PUSH_BATCH)
      .map(
        ({ queue, partition, transactionId, payload }) =>
          `${JSON.stringify({ queue, partition, transactionId }).slice(0, -1)},"payload":${payload}}`,
      );
    const results = await json(base, '/api/v1/push', `{"items":[${body.join(',')}]}`);
    for (const { status } of results) statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return statuses;
}

async function consume(base, queues, name, expected, fails) {
  const group = {
    name,
    counts: { deliveries: 0, redeliveries: 0 },
    seen: new Map(),
    lastOrder: new Map(),
    order: orderOf(expected),
    place: placesOf(expected),
    deadLetters: 0,
    orderViolations: 0,
    byteMismatches: 0,
    missing: 0,
    failedOnce: new Set(),
    done: new Set(),
    total: expected.size,
  };
  await Promise.all(
    Array.from({ length: WORKERS }, (_, worker) => work(base, queues, group, expected, fails, worker)),
  );
  group.missing = expected.size - group.done.size;
  return group;
}

async function work(base, queues, group, expected, fails, worker) {
  for (let round = worker, idle = 0; group.done.size < group.total && idle < 40;) {
    const queue = queues[round % queues.length];
    const answer = await fetch(
      `${base}/api/v1/pop/queue/${encodeURIComponent(queue)}?consumerGroup=${group.name}&batch=${POP_BATCH}&partitions=10&wait=true&timeout=250`,
    );
    if (answer.status === 204) {
      round++; // nothing here for now: the other queue
      idle++;
      continue;
    }
    idle = 0;
    const text = await answer.text();
    await settle(base, group, check(text, group, expected), fails);
  }
}

/** Compares what came with what was pushed, bytes and order, and returns the messages. */
function check(text, group, expected) {
  const { messages } = JSON.parse(text);
  let at = 0;
  for (const message of messages) {
    const id = idOf(message);
    const stored = `"transactionId":${JSON.stringify(message.transactionId)},"traceId":null,"data":${expected.get(id)?.payload},"producerSub"`;
    at = text.indexOf('"transactionId":', at);
    if (text.startsWith(stored, at)) at += stored.length;
    else group.byteMismatches++;
    group.counts.deliveries++;
    if (group.seen.has(id)) group.counts.redeliveries++;
    else {
      // First deliveries of a partition must come in the order of the push.
      const lane = `${message.queue} ${message.partition}`;
      const order = group.order.get(id);
      if (order < (group.lastOrder.get(lane) ?? -1)) group.orderViolations++;
      group.lastOrder.set(lane, order);
      group.seen.set(id, true);
    }
  }
  return messages;
}

async function settle(base, group, messages, fails) {
  const acknowledgments = messages.map(({ transactionId, partitionId, leaseId, queue }) => {
    const id = idOf({ queue, transactionId });
    let status = 'completed';
    if (fails && group.place.get(id) % FAIL_EVERY === FAIL_EVERY - 1 && !group.failedOnce.has(id)) {
      group.failedOnce.add(id);
      status = 'failed';
    }
    return { transactionId, partitionId, leaseId, status };
  });
  const results = await json(
    base,
    '/api/v1/ack/batch',
    JSON.stringify({ consumerGroup: group.name, acknowledgments }),
  );
  const blocked = new Set();
  results.forEach((result, i) => {
    const { partitionId, status } = acknowledgments[i];
    if (result.dlq) group.deadLetters++;
    // Behind a failed message of the same partition everything comes again.
    if (status === 'failed') blocked.add(partitionId);
    if (result.success && !blocked.has(partitionId)) group.done.add(idOf(messages[i]));
  });
}

function orderOf(expected) {
  return new Map([...expected.keys()].map((id, i) => [id, i]));
}

/** Each message's place within its partition. */
function placesOf(expected) {
  const lengths = new Map();
  return new Map(
    [...expected].map(([id, { queue, partition }]) => {
      const lane = `${queue} ${partition}`;
      const place = lengths.get(lane) ?? 0;
      lengths.set(lane, place + 1);
      return [id, place];
    }),
  );
}

const idOf = ({ queue, transactionId }) => `${queue} ${transactionId}`;
const partitionsOf = (items) => new Set(items.map(({ queue, partition }) => `${queue} ${partition}`)).size;

async function json(base, path, body) {
  const answer = await fetch(base + path, { method: 'POST', body });
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}
