import { randomUUID } from 'node:crypto';
import { FIRST_PARTITIONS, STUMBLE } from './plan.mjs';

/**
 * Finishes messages in transactions, each with one new message for every one it finishes, under an id of this attempt
 * alone: were a message finished twice, both of its successors would be there.
 */
export async function move(client, to, dice, { group, lease, messages }, isDraining) {
  const count = isDraining || dice.chance(0.7) ? messages.length : dice.int(1, messages.length);
  const attempt = randomUUID().slice(0, 8);
  const taken = messages.slice(0, count);
  const pushes = taken.map(({ transactionId }) => {
    const id = `${transactionId}>${attempt}`;
    const partition = `p${dice.int(0, FIRST_PARTITIONS - 1)}`;
    return { queue: 'chaos.out', partition, transactionId: id, payload: { id }, of: transactionId };
  });
  if (!isDraining && dice.chance(0.1)) {
    const stone = { queue: 'chaos.out', partition: 'p0', transactionId: STUMBLE, payload: { id: STUMBLE } };
    pushes.splice(dice.int(0, pushes.length), 0, { ...stone, of: null });
  }
  const acks = taken.map(({ partitionId, transactionId }) => ({
    ...{ partitionId, transactionId },
    status: 'completed',
  }));
  return client.transaction(to, group, lease, pushes, acks);
}
