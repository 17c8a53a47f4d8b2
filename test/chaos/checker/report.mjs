import { laneOf } from './story.mjs';

/** Of each rule; one cause often has many witnesses. */
const SHOWN_PER_RULE = 5;

/**
 * Violations for people: what was broken, the steps that show it with the faults around them, and the whole life of the
 * message. Empty when there are none.
 */
export function report(violations, steps, final) {
  if (violations.length === 0) return '';
  const { seed } = steps.find((step) => step.do === 'plan');
  const lines = [`${violations.length} violations, seed ${seed}`];
  const shown = new Map();
  for (const violation of violations) {
    const count = (shown.get(violation.rule) ?? 0) + 1;
    shown.set(violation.rule, count);
    if (count > SHOWN_PER_RULE) continue;
    lines.push('', `== ${violation.rule}: ${violation.text}`);
    lines.push(...slice(violation, steps));
    if (violation.message) lines.push(...life(violation.message, steps, final));
  }
  for (const [rule, count] of shown)
    if (count > SHOWN_PER_RULE) lines.push('', `… and ${count - SHOWN_PER_RULE} more of: ${rule}`);
  return lines.join('\n');
}

/** The smallest part of the history that shows it. */
function slice({ steps: involved = [] }, steps) {
  if (involved.length === 0) return [];
  const own = [...new Set(involved)].sort((a, b) => a.startUs - b.startUs);
  const fromUs = own[0].startUs;
  const toUs = Math.max(...own.map(({ startUs, endUs }) => (endUs === Infinity ? startUs : endUs)));
  const faults = steps.filter(
    (step) => (step.do === 'fault' || step.do === 'broker') && step.startUs <= toUs && step.endUs >= fromUs,
  );
  return ['-- slice', ...inTime([...own, ...faults.slice(0, 40)], steps)];
}

/** Everything that was ever said about a message, and what the tables say in the end. */
export function life({ queue, partition, transactionId }, steps, final) {
  const row = final.partitions.find(
    (one) => one.name === partition && final.queues.find(({ id }) => id === one.queueId)?.name === queue,
  );
  const own = steps.filter(
    (step) =>
      step.items?.some(([q, p, id]) => q === queue && p === partition && id === transactionId) ||
      step.pushes?.some(
        ([q, p, id, of]) => (q === queue && p === partition && id === transactionId) || of === transactionId,
      ) ||
      step.answer?.messages?.some(
        (one) => one.partitionId === row?.id && one.transactionId === transactionId,
      ) ||
      step.acks?.some((one) => one.partitionId === row?.id && one.transactionId === transactionId),
  );
  const lines = [
    `-- life of ${transactionId} in ${queue}/${partition}`,
    ...inTime(own, steps, transactionId),
  ];
  if (!row) return [...lines, 'in the end: there is no such partition'];
  const { id, lastOffset, logStart } = row;
  lines.push(`in the end: partition ${id}, offsets ${logStart} to ${lastOffset}`);
  for (const one of final.entries)
    if (one.partitionId === id && one.transactionId === transactionId)
      lines.push(
        `  offset ${one.offset}, id ${one.id ?? '(segment gone)'}, stored at ${new Date(one.createdAt / 1000).toISOString()}`,
      );
  for (const one of final.cursors.filter(({ partitionId }) => partitionId === id))
    lines.push(`  cursor ${laneOf('of', one.group)}: ${one.committed}, lease ${one.worker ?? 'none'}`);
  for (const one of final.deadLetters.filter(
    (dead) => dead.partitionId === id && dead.text === transactionId,
  ))
    lines.push(`  dead letter of ${one.group} at ${one.offset}: ${one.error}`);
  return lines;
}

function inTime(own, steps, transactionId) {
  const beginUs = steps[0].startUs;
  const seconds = (us) => (us === Infinity ? '…' : ((us - beginUs) / 1e6).toFixed(3));
  return [...own]
    .sort((a, b) => a.startUs - b.startUs)
    .map((step) => {
      const { by, do: what, startUs, endUs, outcome, answer, ...asked } = step;
      return `  ${seconds(startUs)} – ${seconds(endUs)} s  ${by}  ${what}  ${short(asked, transactionId)}  → ${outcome} ${short(answer, transactionId)}`;
    });
}

/** Long lists around the one message are cut down to it. */
function short(value, transactionId) {
  const kept = JSON.stringify(value, (key, one) => {
    if (!Array.isArray(one) || one.length <= 3 || key === '') return one;
    const own = transactionId && one.filter((item) => JSON.stringify(item).includes(transactionId));
    return own?.length > 0
      ? [...own, `(one of ${one.length})`]
      : [...one.slice(0, 1), `(${one.length})`, one.at(-1)];
  });
  return kept.length > 900 ? `${kept.slice(0, 900)}…` : kept;
}
