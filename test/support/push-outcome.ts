import type { TestBroker } from './broker.js';
import { waitFor } from './wait-for.js';

/** Pushes this id until it is stored. Trouble in between is allowed, an answer that is neither is not. */
export async function pushUntilStored(
  broker: TestBroker,
  queue: string,
  partition: string,
  transactionId: string,
): Promise<void> {
  let unexpected: string | null = null;
  const isStored = async () => {
    const items = [{ queue, partition, transactionId, payload: transactionId }];
    const answer = await broker.push(items).catch(() => null);
    if (answer === null) return false;
    const status = answer.status === 201 ? (answer.body as { status: string }[])[0].status : '';
    if (['queued', 'duplicate', 'buffered'].includes(status)) return true;
    if (status === 'failed' || answer.status === 500 || answer.status === 503) return false;
    unexpected = `a push was answered ${answer.status} ${answer.text}`;
    return true;
  };
  await waitFor(isStored, { within: 15_000, what: `${transactionId} to be stored` });
  if (unexpected) throw new Error(unexpected);
}
