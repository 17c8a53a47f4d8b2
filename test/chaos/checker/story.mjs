/**
 * A history and the final tables, put in order for the rules: what each message is in the log, who was handed which
 * batch, who acked what. Pure: reads its two arguments and nothing else.
 */
export class Story {
  /**
   * @param {object[]} steps of stepsOf()
   * @param {object} final of finalOf()
   */
  constructor(steps, final) {
    this.steps = steps;
    this.final = final;
    this.plan = steps.find((step) => step.do === 'plan');
    this.queues = new Map(this.plan.queues.map((queue) => [queue.name, queue]));
    this.readLog();
    this.readBatches();
    this.readAcks();
    this.seeks = steps.filter((step) => step.do === 'seek');
    this.watches = steps.filter((step) => step.do === 'watch' && step.outcome === 'ok');
  }

  /** Messages as the final tables know them: by partition and offset, by transactionId, by id. */
  readLog() {
    const names = new Map(this.final.queues.map(({ id, name }) => [id, name]));
    this.partitions = new Map(
      this.final.partitions.map((row) => [
        row.id,
        { ...row, queue: names.get(row.queueId), entries: new Map(), copies: new Map() },
      ]),
    );
    this.byId = new Map();
    for (const entry of this.final.entries) {
      const partition = this.partitions.get(entry.partitionId);
      if (!partition) continue; // a hash row without a partition: the invariants say so (I9)
      partition.entries.set(entry.offset, entry);
      if (entry.id !== null) this.byId.set(entry.id, entry);
      const copies = partition.copies.get(entry.transactionId);
      if (copies) copies.push(entry);
      else partition.copies.set(entry.transactionId, [entry]);
    }
    for (const { copies } of this.partitions.values())
      for (const entries of copies.values()) entries.sort((a, b) => a.offset - b.offset);
    this.byName = new Map([...this.partitions.values()].map((one) => [`${one.queue}/${one.name}`, one]));
  }

  /** All entries of a transactionId in a partition given by name, in the order of offsets. */
  stored(queue, name, transactionId) {
    return this.byName.get(`${queue}/${name}`)?.copies.get(transactionId) ?? [];
  }

  /** One for each partition of each answer with messages, by lane: a group in a partition. */
  readBatches() {
    this.batches = [];
    this.lanes = new Map();
    this.ofLease = new Map();
    for (const step of this.steps) {
      if (step.do !== 'pop' || step.outcome !== 'ok') continue;
      const { lease } = step.answer;
      for (const [partitionId, messages] of groupBy(step.answer.messages, (one) => one.partitionId)) {
        const entries = messages.map((message) => this.entryOf(message));
        const { queue, group, autoAck } = step;
        const batch = { step, partitionId, queue, group, autoAck, lease, messages, entries };
        this.batches.push(batch);
        const lane = laneOf(partitionId, group);
        if (!this.lanes.has(lane)) this.lanes.set(lane, { partitionId, group, queue, batches: [], acks: [] });
        this.lanes.get(lane).batches.push(batch);
        if (lease) this.ofLease.set(`${lane} ${lease}`, batch);
      }
    }
    for (const lane of this.lanes.values()) lane.batches.sort((a, b) => a.step.endUs - b.step.endUs);
  }

  /** By its id; where its segment is gone, by its transactionId, if that is there once. */
  entryOf({ id, partitionId, transactionId }) {
    const byId = this.byId.get(id);
    if (byId) return byId.partitionId === partitionId && byId.transactionId === transactionId ? byId : null;
    const copies = this.partitions.get(partitionId)?.copies.get(transactionId) ?? [];
    return copies.length === 1 && copies[0].id === null ? copies[0] : null;
  }

  /** One for each partition of each ack and transaction: what was said about which entries, and what came of it. */
  readAcks() {
    for (const step of this.steps) {
      if ((step.do !== 'ack' && step.do !== 'transaction') || step.acks.length === 0) continue;
      const results = resultsOf(step);
      const items = step.acks.map((ack, i) => ({ ...ack, result: results?.[i] ?? null }));
      for (const [partitionId, own] of groupBy(items, (one) => one.partitionId)) {
        const lane = this.lanes.get(laneOf(partitionId, step.group));
        const batch = this.ofLease.get(`${laneOf(partitionId, step.group)} ${step.lease}`);
        if (!lane || !batch) continue; // an ack of a batch that nobody saw handed out
        // Of an id that a batch holds twice the lowest is meant (http-api 3.4).
        const offsets = new Map();
        batch.messages.forEach(({ transactionId }, i) => {
          if (!offsets.has(transactionId)) offsets.set(transactionId, batch.entries[i]?.offset ?? null);
        });
        for (const one of own) one.offset = offsets.get(one.transactionId) ?? null;
        lane.acks.push({ step, batch, items: own, ...effectOf(own, batch) });
      }
    }
    for (const lane of this.lanes.values()) lane.acks.sort((a, b) => a.step.endUs - b.step.endUs);
  }

  groupOf({ queue, group }) {
    return this.queues.get(queue)?.groups.find(({ name }) => name === group) ?? null;
  }

  cursorOf(partitionId, group) {
    return this.final.cursors.find((row) => row.partitionId === partitionId && row.group === group) ?? null;
  }

  /** Seeks that may have moved the cursors of a lane between two moments. */
  seeksBetween({ queue, group }, fromUs, toUs) {
    return this.seeks.filter(
      (seek) =>
        seek.queue === queue && seek.group === group && seek.startUs <= toUs && lastMomentOf(seek) >= fromUs,
    );
  }
}

/** Longer than any statement is allowed to run, held back on its way or not. */
const LATE_US = 30_000_000;

/** Until when a step may have taken effect. */
export function lastMomentOf(step) {
  return step.outcome === 'ok' ? step.endUs : step.startUs + LATE_US;
}

export function laneOf(partitionId, group) {
  return `${partitionId} ${group}`;
}

export function groupBy(values, keyOf) {
  const groups = new Map();
  for (const value of values) {
    const key = keyOf(value);
    const own = groups.get(key);
    if (own) own.push(value);
    else groups.set(key, [value]);
  }
  return groups;
}

function resultsOf(step) {
  if (step.outcome !== 'ok') return null;
  if (step.do === 'ack') return step.answer.results;
  const { success } = step.answer;
  return step.acks.map(() => ({ success, noop: false, dlq: false, error: step.answer.error }));
}

/**
 * `upTo`: where the cursor stands at least once the answer is known (storage 5.12); -1 when the answer promises nothing.
 * `mayRelease`: whether the lease may be over from the beginning of the request on, whatever was answered.
 */
function effectOf(items, batch) {
  const isDone = ({ status }) => status === 'completed';
  const offsetsOf = (some) => some.flatMap(({ offset }) => (offset === null ? [] : [offset]));
  const accepted = items.filter(({ result }) => result?.success);
  const before = items.filter(({ result }) => result?.noop || /already committed/.test(result?.error ?? ''));
  // A noop says nothing about the order of the others: it was below the cursor before.
  const signals = offsetsOf(items.filter((one) => !isDone(one) && !before.includes(one)));
  const signal = Math.min(...signals, Infinity);
  const done = offsetsOf(accepted.filter((one) => isDone(one))).filter((offset) => offset < signal);
  const filed = accepted.some(({ result, ...one }) => result.dlq && !isDone(one)) ? [signal] : [];
  const upTo = Math.max(-1, ...done, ...filed, ...offsetsOf(before));
  // Said of an id that the batch holds twice it may mean the last one: a whole batch is acked by position.
  const { transactionId: last } = batch.messages.at(-1);
  const mayRelease = items.some((one) => !isDone(one) || one.offset === null || one.transactionId === last);
  return { upTo, mayRelease };
}
