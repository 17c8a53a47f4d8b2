import { laneOf } from './story.mjs';

/**
 * The marks of partitions and cursors as they were seen once a second: they only go forward (I6, I14, I15), retention
 * takes nothing too early (I37) and nothing that its rules do not name.
 */
export function markRules(story) {
  const found = [];
  let before = null;
  for (const watch of story.watches) {
    if (before) found.push(...backwards(story, before, watch));
    found.push(...tooEarly(story, watch));
    before = watch;
  }
  return [
    ...found,
    ...deadLetters(story),
    ...story.final.faults.map((text) => ({ rule: 'table', text, steps: [] })),
  ];
}

function backwards(story, before, watch) {
  const found = [];
  const steps = [before, watch];
  const partitions = new Map(before.answer.partitions.map((row) => [row[0], row]));
  for (const [id, queue, ...marks] of watch.answer.partitions) {
    const old = partitions.get(id)?.slice(2) ?? marks;
    ['last_offset', 'log_start', 'txns_start'].forEach((name, i) => {
      if (marks[i] >= old[i]) return;
      found.push({
        rule: 'I6',
        text: `${name} of ${id} (${queue}) went from ${old[i]} to ${marks[i]}`,
        partitionId: id,
        steps,
      });
    });
  }
  const cursors = new Map(before.answer.cursors.map((row) => [laneOf(row[0], row[1]), row]));
  for (const [id, group, committed, total] of watch.answer.cursors) {
    const old = cursors.get(laneOf(id, group));
    if (!old) continue;
    const text = (what, from, to) => `${what} of ${group} in ${id} went from ${from} to ${to}`;
    const queue = story.partitions.get(id)?.queue;
    if (committed < old[2] && story.seeksBetween({ queue, group }, before.startUs, watch.endUs).length === 0)
      found.push({ rule: 'I14', text: text('the cursor', old[2], committed), partitionId: id, group, steps });
    if (total < old[3])
      found.push({ rule: 'I15', text: text('total_consumed', old[3], total), partitionId: id, group, steps });
  }
  return found;
}

function tooEarly(story, watch) {
  const found = [];
  const { now, partitions, cursors } = watch.answer;
  for (const [id, queueName, , logStart] of partitions) {
    const queue = story.queues.get(queueName);
    const entry = story.partitions.get(id)?.entries.get(logStart - 1);
    if (!queue || logStart === 0) continue;
    const { retentionSeconds = 0, completedRetentionSeconds = 0 } = queue.options;
    const say = (text) =>
      found.push({ rule: 'I37', text: `${text} (${id}, ${queueName})`, partitionId: id, steps: [watch] });
    const youngest = retentionSeconds || completedRetentionSeconds;
    if (youngest === 0) say(`messages below ${logStart} are gone, and no rule takes them`);
    else if (entry && entry.createdAt > now - youngest * 1_000_000)
      say(`offset ${logStart - 1} is gone, ${now - entry.createdAt} µs old`);
    if (retentionSeconds > 0) continue;
    for (const { name } of queue.groups) {
      const committed = cursors.find((row) => row[0] === id && row[1] === name)?.[2] ?? -1;
      if (committed < logStart - 1)
        say(`messages below ${logStart} are gone, ${name} stands at ${committed}`);
    }
  }
  return found;
}

/** I36: once per hand-over, with the cursor at or past it. */
function deadLetters(story) {
  const found = [];
  const seen = new Set();
  for (const { partitionId, group, offset } of story.final.deadLetters) {
    const key = `${laneOf(partitionId, group)} ${offset}`;
    const say = (text) =>
      found.push({
        rule: 'I36',
        text: `${text} (${group} in ${partitionId})`,
        partitionId,
        group,
        steps: [],
      });
    if (seen.has(key)) say(`offset ${offset} is in the dead letters twice`);
    seen.add(key);
    const committed = story.cursorOf(partitionId, group)?.committed ?? -1;
    if (committed < offset) say(`offset ${offset} is a dead letter, the cursor stands at ${committed}`);
  }
  return found;
}
