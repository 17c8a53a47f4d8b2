/**
 * I41: of a transaction everything is there or nothing. Its pushes are looked for in the final log. Its acks are seen by
 * what they were for: each message of the source has exactly one successor, whatever was tried how often.
 */
export function transactionRules(story) {
  const transactions = story.steps.filter((step) => step.do === 'transaction');
  return [...transactions.flatMap((step) => allOrNothing(story, step)), ...oneSuccessor(story, transactions)];
}

function allOrNothing(story, step) {
  // The stumbling stone is there before anybody stumbles over it.
  const own = step.pushes.filter(([, , , of]) => of !== null);
  const stored = own.filter(([queue, partition, id]) => story.stored(queue, partition, id).length > 0);
  const stumbles = own.length < step.pushes.length;
  const wrong = wrongness(step, own.length, stored.length, stumbles);
  if (wrong === null) return [];
  const [queue, partition, transactionId] = own[0];
  return [
    {
      rule: 'transactions are atomic',
      text: wrong,
      message: { queue, partition, transactionId },
      steps: [step],
    },
  ];
}

function wrongness({ outcome, answer, by }, pushed, stored, stumbles) {
  const which = `a transaction of ${by} with ${pushed} pushes`;
  if (stored > 0 && stored < pushed) return `${which} left ${stored} of them`;
  if (stumbles && stored > 0) return `${which} and one that was stored before left something`;
  if (outcome !== 'ok') return null;
  if (answer.success && stored < pushed) return `${which} was confirmed and left ${stored} of them`;
  if (!answer.success && stored > 0)
    return `${which} was rolled back (${answer.error}) and left ${stored} of them`;
  if (stumbles && answer.success) return `${which} and one that was stored before was confirmed`;
  return null;
}

function oneSuccessor(story, transactions) {
  const successors = new Map();
  for (const step of transactions)
    for (const [queue, partition, id, of] of step.pushes) {
      if (of === null || story.stored(queue, partition, id).length === 0) continue;
      successors.set(of, [...(successors.get(of) ?? []), step]);
    }
  const found = [];
  for (const { id, queue, name, entries } of story.partitions.values()) {
    const group = story.queues.get(queue)?.groups.find(({ kind }) => kind === 'mover');
    if (!group) continue;
    const committed = story.cursorOf(id, group.name)?.committed ?? -1;
    for (const { offset, transactionId } of entries.values()) {
      const steps = successors.get(transactionId) ?? [];
      const expected = offset <= committed ? 1 : 0;
      if (steps.length === expected) continue;
      const tried = transactions.filter((step) => step.pushes.some(([, , , of]) => of === transactionId));
      found.push({
        rule: 'transactions are atomic',
        text: `${transactionId} (offset ${offset}, cursor ${committed}) has ${steps.length} successors instead of ${expected}`,
        message: { queue, partition: name, transactionId },
        steps: tried,
      });
    }
  }
  return found;
}
