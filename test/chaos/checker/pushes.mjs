/**
 * What was pushed and what is stored: nothing accepted is missing, nothing is there that nobody pushed, one copy per
 * transactionId inside the dedup window (I28), and the log keeps the order in which pushes were accepted.
 */
export function pushRules(story) {
  const pushes = pushesOf(story);
  return [
    ...acceptedIsStored(story, pushes),
    ...storedWasPushed(story, pushes),
    ...copies(story, pushes),
    ...order(story, pushes),
  ];
}

/** Every attempt to push each message, in time, by partition name and transactionId. */
function pushesOf(story) {
  const pushes = new Map();
  const add = (queue, partition, transactionId, attempt) => {
    const key = keyOf(queue, partition, transactionId);
    const attempts = pushes.get(key);
    if (attempts) attempts.push(attempt);
    else pushes.set(key, [attempt]);
  };
  for (const step of story.steps) {
    if (step.do === 'push') {
      step.items.forEach(([queue, partition, transactionId], at) => {
        const [status, id] = step.answer?.items?.[at] ?? [null, null];
        add(queue, partition, transactionId, { step, at, status, id });
      });
    } else if (step.do === 'transaction') {
      const status = step.outcome === 'ok' && step.answer.success ? 'queued' : null;
      step.pushes.forEach(([queue, partition, transactionId], at) =>
        add(queue, partition, transactionId, { step, at, status, id: null }),
      );
    }
  }
  return pushes;
}

const keyOf = (queue, partition, transactionId) => `${queue}/${partition}/${transactionId}`;
const ACCEPTED = new Set(['queued', 'duplicate', 'buffered']);

function acceptedIsStored(story, pushes) {
  const found = [];
  for (const [key, attempts] of pushes) {
    const accepted = attempts.find(({ status }) => ACCEPTED.has(status));
    if (!accepted) continue;
    const [queue, name, transactionId] = namesOf(accepted);
    const partition = story.byName.get(`${queue}/${name}`);
    if (partition && partition.txnsStart > 0 && !partition.copies.has(transactionId)) continue; // its hash row is gone
    const message = { queue, partition: name, transactionId };
    if (story.stored(queue, name, transactionId).length === 0) {
      found.push({
        rule: 'accepted push is stored',
        text: `${key} was answered ${accepted.status} and is not in the log`,
        message,
        steps: attempts.map(({ step }) => step),
      });
    }
    found.push(...wrongStatuses(story, key, attempts, message));
  }
  return found;
}

/** No more messages than `queued` says, and a duplicate of what somebody pushed before. */
function wrongStatuses(story, key, attempts, message) {
  const found = [];
  const { queue, partition, transactionId } = message;
  const stored = story.stored(queue, partition, transactionId);
  const queued = attempts.filter(({ status }) => status === 'queued');
  const steps = attempts.map(({ step }) => step);
  if (queued.length > stored.length)
    found.push({
      rule: 'queued means stored',
      text: `${key} was answered queued ${queued.length} times and is stored ${stored.length} times`,
      message,
      steps,
    });
  for (const { step, id } of queued) {
    const isThere = id === null || stored.some((entry) => entry.id === null || entry.id === id);
    if (!isThere)
      found.push({
        rule: 'queued means stored',
        text: `${key} is stored, not as ${id}`,
        message,
        steps: [step],
      });
  }
  for (const { step, at, status } of attempts) {
    if (status !== 'duplicate') continue;
    const others = attempts.filter((other) => other.step !== step && other.step.startUs < step.endUs);
    const inRequest = attempts.some((other) => other.step === step && other.at < at);
    if (others.length === 0 && !inRequest)
      found.push({
        rule: 'a duplicate has an original',
        text: `${key} was answered duplicate, and nobody had pushed it`,
        message,
        steps: [step],
      });
  }
  return found;
}

function storedWasPushed(story, pushes) {
  const found = [];
  for (const { queue, name, entries } of story.partitions.values()) {
    for (const { transactionId, offset, partitionId } of entries.values()) {
      if (transactionId !== null && pushes.has(keyOf(queue, name, transactionId))) continue;
      found.push({
        rule: 'stored was pushed',
        text: `offset ${offset} of ${queue}/${name} holds ${transactionId ?? 'a message'} that nobody pushed there`,
        partitionId,
        steps: [],
      });
    }
  }
  return found;
}

function copies(story, pushes) {
  const found = [];
  for (const { queue, name, copies } of story.partitions.values()) {
    const windowUs = (story.queues.get(queue)?.options.dedupWindowSeconds ?? 0) * 1_000_000;
    for (const [transactionId, entries] of copies) {
      entries.slice(1).forEach((entry, k) => {
        const apartUs = entry.createdAt - entries[k].createdAt;
        if (apartUs >= windowUs) return;
        const key = keyOf(queue, name, transactionId);
        found.push({
          rule: 'one copy inside the window',
          text: `${key} is stored at ${entries[k].offset} and again at ${entry.offset}, ${apartUs} µs later`,
          message: { queue, partition: name, transactionId },
          steps: (pushes.get(key) ?? []).map(({ step }) => step),
        });
      });
    }
  }
  return found;
}

/**
 * A message that was accepted before another was first sent stands before it; and so do the items of one request. Not
 * those that were in a spool meanwhile, nor those that are there twice.
 */
function order(story, pushes) {
  const found = [];
  for (const { queue, name, entries } of story.partitions.values()) {
    // From the end of the log to its beginning: the earliest acceptance of all that stands behind.
    let earliest = null;
    const known = [...entries.values()].sort((a, b) => b.offset - a.offset);
    const lastOfRequest = new Map();
    for (const entry of known) {
      const attempts = pushes.get(keyOf(queue, name, entry.transactionId));
      if (!attempts || story.stored(queue, name, entry.transactionId).length > 1) continue;
      const message = { queue, partition: name, transactionId: entry.transactionId };
      const first = attempts[0];
      if (earliest && earliest.step.endUs < first.step.startUs)
        found.push({
          rule: 'order of pushes',
          text: `${entry.transactionId} stands at ${entry.offset}, before one that was accepted before it was sent, at ${earliest.offset} (${queue}/${name})`,
          message,
          steps: [earliest.step, first.step],
        });
      const accepted = attempts.find(({ status }) => status === 'queued');
      if (!accepted) continue;
      const behind = lastOfRequest.get(accepted.step);
      if (behind !== undefined && behind < accepted.at)
        found.push({
          rule: 'order inside a request',
          text: `item ${accepted.at} of a request stands before item ${behind} of it (${queue}/${name}, offset ${entry.offset})`,
          message,
          steps: [accepted.step],
        });
      lastOfRequest.set(accepted.step, Math.min(accepted.at, behind ?? Infinity));
      if (!earliest || accepted.step.endUs < earliest.step.endUs)
        earliest = { step: accepted.step, offset: entry.offset };
    }
  }
  return found;
}

function namesOf({ step, at }) {
  return (step.do === 'push' ? step.items : step.pushes)[at];
}
