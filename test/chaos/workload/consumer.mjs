import { setTimeout as pause } from 'node:timers/promises';
import { habits } from './habits.mjs';
import { move } from './mover.mjs';
import { LEASE_SECONDS } from './plan.mjs';

/** Times of messages it has seen, to which a group may be set back. */
const MARKS = 30;

/** Pops of one group, one after the other, and what its habits make of each batch. */
export async function consume({ client, state, dice }, queue, group) {
  const marks = [];
  while (!state.stopping) {
    const to = dice.int(0, 1);
    const answer = await client.pop(to, {
      queue,
      group: group.name,
      batch: dice.int(1, 12),
      partitions: dice.pick([1, 1, 3, 8]),
      autoAck: group.kind === 'auto',
      leaseSeconds: LEASE_SECONDS,
      timeoutMs: dice.int(300, 1500),
    });
    if (answer === null) await pause(dice.int(100, 1000));
    else if (answer.messages.length > 0 && group.kind !== 'auto') {
      const batch = { group: group.name, lease: answer.lease, messages: answer.messages };
      // An ack may go to another broker than the one that handed out the batch.
      const other = dice.chance(0.3) ? dice.int(0, 1) : to;
      if (group.kind === 'mover') await move(client, other, dice, batch, state.draining);
      else await habits(client, other, dice, batch, state.draining ? 'steady' : group.habits);
      marks.push(answer.messages[0].createdAt);
      if (marks.length > MARKS) marks.shift();
      if (group.kind === 'seek' && !state.draining && dice.chance(0.03))
        await client.seek(to, group.name, queue, dice.pick(marks));
    }
    // A consumer works on what it was given; and this one shall not take the machine for itself.
    await pause(dice.int(5, 60));
  }
}
