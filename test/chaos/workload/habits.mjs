import { setTimeout as pause } from 'node:timers/promises';
import { LEASE_SECONDS } from './plan.mjs';

const STEADY = { all: 1 };
const MIXED = {
  ...{ all: 8, partly: 3, oneByOne: 1, again: 1 },
  ...{ failed: 3, retry: 2, dlq: 1, mixture: 2 },
  ...{ forget: 2, tooLate: 1, renew: 2 },
};

/** What a consumer makes of a batch. */
export async function habits(client, to, dice, batch, kind) {
  const { group, lease, messages } = batch;
  const all = messages.map(({ partitionId, transactionId }) => ({
    ...{ partitionId, transactionId },
    status: 'completed',
  }));
  const ack = (acks) => client.ack(to, group, lease, acks);
  const firstOf = (count) => all.slice(0, count);
  /** The first ones completed, then one that is refused; the rest is not mentioned. */
  const refuse = (status) => {
    const at = dice.int(0, all.length - 1);
    return ack([...firstOf(at), { ...all[at], status }]);
  };

  switch (dice.weighted(kind === 'mixed' ? MIXED : STEADY)) {
    case 'all':
      return untilSaid(() => ack(all));
    case 'partly':
      return ack(firstOf(dice.int(1, all.length)));
    case 'oneByOne':
      for (const one of all) await ack([one]);
      return;
    case 'again':
      await ack(all);
      return ack(all);
    case 'failed':
      return refuse('failed');
    case 'retry':
      return refuse('retry');
    case 'dlq':
      return refuse('dlq');
    case 'mixture':
      return ack(
        all.map((one) => ({ ...one, status: dice.pick(['completed', 'completed', 'failed', 'retry']) })),
      );
    case 'forget':
      return;
    case 'tooLate':
      await pause(LEASE_SECONDS * 1000 + dice.int(-500, 1500));
      return ack(all);
    case 'renew':
      for (let n = dice.int(1, 3); n > 0; n--) {
        await pause(LEASE_SECONDS * 600);
        await client.renew(to, lease, LEASE_SECONDS);
      }
      return ack(all);
  }
}

/** Once more when the answer was lost, as clients do; by then the lease may be over. */
async function untilSaid(ask) {
  for (let attempt = 0; attempt < 3; attempt++) if (await ask()) return;
}
