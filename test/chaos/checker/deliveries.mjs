import { laneOf, lastMomentOf } from './story.mjs';

/**
 * What was handed out: only what was pushed and is stored, in order, each batch in one piece; nothing at or below an
 * acknowledged cursor; and everything at least once, or accounted for.
 */
export function deliveryRules(story) {
  return [
    ...batches(story),
    ...[...story.lanes.values()].flatMap((lane) => [
      ...order(story, lane),
      ...notBelowTheCursor(story, lane),
    ]),
    ...complete(story),
  ];
}

/** Each batch by itself: real messages with their own payloads (I10), consecutive (I21), no more than asked for (I20). */
function batches(story) {
  const found = [];
  for (const batch of story.batches) {
    const { step, queue, messages, entries, partitionId } = batch;
    messages.forEach((message, i) => {
      const subject = { queue, partition: message.partition, transactionId: message.transactionId };
      if (entries[i] === null && !mayBeForgotten(story, partitionId))
        found.push({
          rule: 'delivered was pushed',
          text: `${message.transactionId} (${message.id}) was delivered and is not in the log of ${partitionId}`,
          message: subject,
          steps: [step],
        });
      if (message.wrong !== undefined)
        found.push({
          rule: 'payload',
          text: `${message.transactionId} was delivered with the payload ${message.wrong}`,
          message: subject,
          steps: [step],
        });
    });
    entries.slice(1).forEach((entry, i) => {
      if (!entry || !entries[i] || entry.offset === entries[i].offset + 1) return;
      found.push({
        rule: 'a batch is consecutive',
        text: `offset ${entry.offset} follows ${entries[i].offset} in one batch of ${partitionId}`,
        message: { queue, partition: messages[i].partition, transactionId: messages[i + 1].transactionId },
        steps: [step],
      });
    });
  }
  for (const step of story.steps) {
    if (step.do !== 'pop' || step.outcome !== 'ok') continue;
    const { messages } = step.answer;
    const partitions = new Set(messages.map(({ partitionId }) => partitionId)).size;
    if (messages.length > step.batch || partitions > step.partitions)
      found.push({
        rule: 'no more than asked for',
        text: `${messages.length} messages of ${partitions} partitions for a pop of ${step.batch} and ${step.partitions}`,
        steps: [step],
      });
  }
  return found;
}

/** Hash rows outlive their segments by an hour; only longer runs lose some. */
function mayBeForgotten(story, partitionId) {
  return (story.partitions.get(partitionId)?.txnsStart ?? 0) > 0;
}

/** First deliveries in the order of offsets; of a group that commits on delivery, each once. */
function order(story, lane) {
  const group = story.groupOf(lane);
  if (group?.kind === 'seek') return orderBetweenSeeks(story, lane);
  return group?.kind === 'auto' ? orderOfClaims(lane) : orderOfFirsts(lane, lane.batches);
}

function orderOfFirsts(lane, batches) {
  const found = [];
  const seen = new Set();
  let highest = null;
  for (const batch of batches) {
    for (const entry of batch.entries) {
      if (!entry || seen.has(entry.offset)) continue;
      seen.add(entry.offset);
      if (highest && entry.offset < highest.offset)
        found.push({
          rule: 'order of first deliveries',
          text: `${lane.group} was given ${entry.offset} of ${lane.partitionId} for the first time after ${highest.offset}`,
          message: subjectOf(batch, entry),
          steps: [highest.step, batch.step],
        });
      else highest = { offset: entry.offset, step: batch.step };
    }
  }
  return found;
}

/** Only what came wholly between two seeks can be compared. */
function orderBetweenSeeks(story, lane) {
  const seeks = story.seeksBetween(lane, -Infinity, Infinity);
  const eras = new Map();
  for (const batch of lane.batches) {
    const { startUs, endUs } = batch.step;
    if (seeks.some((seek) => seek.startUs <= endUs && lastMomentOf(seek) >= startUs)) continue;
    const era = seeks.filter((seek) => lastMomentOf(seek) < startUs).length;
    eras.set(era, [...(eras.get(era) ?? []), batch]);
  }
  return [...eras.values()].flatMap((batches) => orderOfFirsts(lane, batches));
}

/** Answers may overtake each other on the wire, claims that followed each other may not. */
function orderOfClaims(lane) {
  const found = [];
  const seen = new Map();
  const byEnd = lane.batches;
  let known = 0;
  let highest = null;
  for (const batch of [...byEnd].sort((a, b) => a.step.startUs - b.step.startUs)) {
    for (; known < byEnd.length && byEnd[known].step.endUs < batch.step.startUs; known++)
      for (const entry of byEnd[known].entries)
        if (entry && entry.offset > (highest?.offset ?? -1))
          highest = { offset: entry.offset, step: byEnd[known].step };
    for (const entry of batch.entries) {
      if (!entry) continue;
      const before =
        seen.get(entry.offset) ?? (highest && entry.offset <= highest.offset ? highest.step : null);
      seen.set(entry.offset, batch.step);
      if (before)
        found.push({
          rule: 'at most once, in order',
          text: `${lane.group}, which commits on delivery, was given ${entry.offset} of ${lane.partitionId} again or too late`,
          message: subjectOf(batch, entry),
          steps: [before, batch.step],
        });
    }
  }
  return found;
}

/** I18: what an answer said is finished never comes again, except after a seek. */
function notBelowTheCursor(story, lane) {
  const found = [];
  const acks = lane.acks.filter(({ upTo, step }) => upTo >= 0 && step.outcome === 'ok');
  let next = 0;
  const known = [];
  for (const batch of [...lane.batches].sort((a, b) => a.step.startUs - b.step.startUs)) {
    for (; next < acks.length && acks[next].step.endUs < batch.step.startUs; next++) known.push(acks[next]);
    const lowest = batch.entries.find((entry) => entry);
    if (!lowest) continue;
    const ack = highestOf(story, lane, known, batch);
    if (!ack || lowest.offset > ack.upTo) continue;
    found.push({
      rule: 'nothing below an acknowledged cursor',
      text: `${lane.group} was given ${lowest.offset} of ${lane.partitionId} after an ack up to ${ack.upTo} was confirmed`,
      message: subjectOf(batch, lowest),
      steps: [ack.batch.step, ack.step, batch.step],
    });
  }
  return found;
}

function highestOf(story, lane, known, batch) {
  if (story.groupOf(lane)?.kind !== 'seek') {
    // The list only grows: the highest so far is kept at its end.
    let best = known.best ?? null;
    for (let i = known.looked ?? 0; i < known.length; i++)
      if (!best || known[i].upTo > best.upTo) best = known[i];
    known.looked = known.length;
    known.best = best;
    return best;
  }
  const valid = known.filter(
    ({ step }) => story.seeksBetween(lane, step.startUs, batch.step.endUs).length === 0,
  );
  return valid.reduce((best, ack) => (!best || ack.upTo > best.upTo ? ack : best), null);
}

/** I18, I19: by the end every group was given every message, or there is a reason. */
function complete(story) {
  const found = [];
  for (const partition of story.partitions.values()) {
    const queue = story.queues.get(partition.queue);
    for (const group of queue?.groups ?? []) found.push(...missing(story, partition, queue, group));
  }
  return found;
}

function missing(story, partition, queue, { name: group, kind }) {
  const lane = story.lanes.get(laneOf(partition.id, group));
  const given = givenTo(story, lane, kind, { queue: queue.name, group });
  const filed = new Set(
    story.final.deadLetters
      .filter((row) => row.partitionId === partition.id && row.group === group)
      .map(({ offset }) => offset),
  );
  const mayGoUnread = queue.options.retentionSeconds > 0;
  const lost = [];
  for (const entry of partition.entries.values()) {
    const { offset } = entry;
    if (given.offsets.has(offset) || filed.has(offset)) continue;
    if (mayGoUnread && offset < partition.logStart) continue;
    if (given.mark !== null && entry.createdAt < given.mark) continue;
    lost.push(entry);
  }
  if (lost.length === 0) return [];
  if (kind === 'auto' && lost.length <= lostOnTheWay(story, queue.name, group)) return [];
  return lost.slice(0, 5).map((entry) => ({
    rule: 'everything is delivered',
    text: `${group} was never given ${entry.offset} of ${partition.queue}/${partition.name} (${partition.id}), ${lost.length} missing there`,
    message: { queue: partition.queue, partition: partition.name, transactionId: entry.transactionId },
    steps: neighbours(lane, entry.offset),
  }));
}

/** Of a group that was set back, only what came since counts, and only from the mark of its last seek on. */
function givenTo(story, lane, kind, key) {
  const seeks = kind === 'seek' ? story.seeksBetween(key, -Infinity, Infinity) : [];
  const last = seeks.filter(({ outcome, answer }) => outcome === 'ok' && answer.success).at(-1);
  const batches = (lane?.batches ?? []).filter(({ step }) => !last || step.endUs > last.startUs);
  const offsets = new Set(batches.flatMap(({ entries }) => entries.map((entry) => entry?.offset)));
  return { offsets, mark: last ? microsOf(last.timestamp) : null };
}

/** An answer that did not arrive took its batch with it: that is what at most once means. */
function lostOnTheWay(story, queue, group) {
  const unseen = story.steps.filter(
    (step) => step.do === 'pop' && step.queue === queue && step.group === group && step.outcome !== 'ok',
  );
  return unseen.reduce((sum, { batch }) => sum + batch, 0);
}

/** The deliveries on both sides of an offset. */
function neighbours(lane, offset) {
  const batches = lane?.batches ?? [];
  const below = batches.findLast(({ entries }) => (entries.at(-1)?.offset ?? Infinity) < offset);
  const above = batches.find(({ entries }) => (entries[0]?.offset ?? -1) > offset);
  return [below, above].flatMap((batch) => (batch ? [batch.step] : []));
}

function subjectOf(batch, entry) {
  const { transactionId, partition } = batch.messages[batch.entries.indexOf(entry)];
  return { queue: batch.queue, partition, transactionId };
}

/** ISO with microseconds, of which Date keeps three digits. */
function microsOf(iso) {
  const [, digits = ''] = /\.(\d+)Z$/.exec(iso) ?? [];
  return Date.parse(iso.replace(/\.\d+Z$/, 'Z')) * 1000 + Number(digits.padEnd(6, '0').slice(0, 6));
}
