import { setTimeout as pause } from 'node:timers/promises';
import { FIRST_PARTITIONS, PLAN } from './plan.mjs';

const QUEUES = PLAN.queues.filter(({ from }) => !from).map(({ name }) => name);
/** Pushed again on purpose: soon, so that the dedup window of chaos.window catches some and lets others pass. */
const REMEMBERED = 40;

/**
 * Pushes one request after the other. Each is repeated with the same transactionIds, at either broker, until every
 * item of it is stored or in a spool: as a producer does that may lose nothing.
 */
export async function produce({ client, state, name, dice }) {
  const before = [];
  for (let n = 0; !state.draining; n++) {
    const items = before.length > 0 && dice.chance(0.08) ? dice.pick(before) : newItems(dice, `${name}-${n}`);
    await untilTaken(client, dice, items);
    before.push(items);
    if (before.length > REMEMBERED) before.shift();
    await pause(dice.int(20, 140));
  }
}

function newItems(dice, stem) {
  const queue = dice.pick(QUEUES);
  const partitions = Array.from({ length: dice.int(1, 2) }, () => partitionOf(dice, stem));
  return Array.from({ length: dice.int(1, 8) }, (_, i) => {
    const transactionId = `${stem}.${i}`;
    const payload = { id: transactionId, filler: 'x'.repeat(dice.int(0, 200)) };
    return { queue, partition: dice.pick(partitions), transactionId, payload };
  });
}

function partitionOf(dice, stem) {
  return dice.chance(0.01) ? `of-${stem}` : `p${dice.int(0, FIRST_PARTITIONS - 1)}`;
}

async function untilTaken(client, dice, items) {
  for (let attempt = 0; ; attempt++) {
    const answer = await client.push(dice.int(0, 1), items);
    if (answer?.items.every(([status]) => status !== 'failed')) return;
    await pause(Math.min(1000, 50 * 2 ** attempt) * (0.5 + dice.int(0, 100) / 100));
  }
}
