import { acksFor, partitionPath, type Answer, type PushItem, type TestBroker } from './broker.js';

/** An entry of the dead-letter list, as clients read it. */
export interface DeadLetter {
  id: string;
  transactionId: string | null;
  partitionId: string;
  queue: string;
  partition: string;
  consumerGroup: string;
  errorMessage: string | null;
  retryCount: number;
  data: unknown;
  producerSub: string | null;
  createdAt: string;
  failedAt: string;
  messageId: string | null;
  offset: number;
  traceId: string | null;
  headers?: Record<string, string>;
  isEncrypted?: boolean;
  payloadAvailable?: boolean;
}

export interface DeadLetterList {
  messages: DeadLetter[];
  pagination: { limit: number; offset: number };
  total: number;
}

export interface PutAsideOptions {
  group?: string;
  error?: string;
}

export function listLetters(
  broker: TestBroker,
  query: Record<string, string | number> = {},
): Promise<Answer<DeadLetterList>> {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) text.set(name, String(value));
  return broker.get(`/api/v1/dlq?${text.toString()}`) as Promise<Answer<DeadLetterList>>;
}

/** Pushes a message, pops it and answers `dlq`: the path every dead letter comes by. */
export async function putAside(
  broker: TestBroker,
  item: PushItem & { partition?: string },
  { group = 'g', error = 'no good' }: PutAsideOptions = {},
): Promise<DeadLetter> {
  const { partition = 'p' } = item;
  await broker.push([{ payload: 1, ...item, partition }]);
  const popped = await broker.pop(partitionPath(item.queue, partition), { consumerGroup: group, batch: 1 });
  const acked = await broker.ackBatch(acksFor(popped.body.messages, 'dlq', error));
  if (!acked.body[0]?.dlq) throw new Error(`nothing was put aside: ${acked.text}`);
  const { body } = await listLetters(broker, { queue: item.queue, partition, consumerGroup: group });
  return body.messages[0];
}
