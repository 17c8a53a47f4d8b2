import { isoMillis } from '../base/time/iso-millis.js';
import { RawJson, renderJson } from '../http/raw-json.js';
import type { DeadLetterRow } from './dead-letters.procedures.js';
import type { ReplayOutcome } from './replay.service.js';

/** One entry of the list (http-api 4.4). `data` is what was pushed, byte for byte. */
export function renderDeadLetter(row: DeadLetterRow): string {
  const failedAt = isoMillis(row.failedAt);
  return renderJson({
    id: row.id,
    transactionId: row.transactionId,
    partitionId: row.partitionId,
    queue: row.queue,
    partition: row.partition,
    consumerGroup: row.group,
    errorMessage: row.error,
    retryCount: row.retryCount,
    data: row.payload === null ? null : new RawJson(row.payload),
    producerSub: row.producerSub,
    createdAt: failedAt,
    failedAt,
    messageId: row.messageId,
    offset: row.offset,
    traceId: row.traceId,
    headers: row.headers === null ? undefined : new RawJson(row.headers),
    isEncrypted: row.encrypted ? true : undefined,
    // Told apart from a message whose payload is null.
    payloadAvailable: row.payload === null ? false : undefined,
  });
}

/** The list around its entries; `total` is the number of those that were sent. */
export async function* renderDeadLetters(
  pieces: AsyncIterable<readonly DeadLetterRow[]>,
  pagination: { limit: number; offset: number },
): AsyncGenerator<string> {
  let total = 0;
  let opening = '{"messages":[';
  for await (const rows of pieces) {
    yield opening + rows.map(renderDeadLetter).join(',');
    opening = ',';
    total += rows.length;
  }
  yield `${total === 0 ? opening : ''}],"pagination":${JSON.stringify(pagination)},"total":${total}}`;
}

export function replayReply(moved: Extract<ReplayOutcome, { result: 'moved' }>) {
  return {
    success: true,
    id: moved.id,
    queue: moved.queue,
    partition: moved.partition,
    replayedAs: {
      index: 0,
      message_id: moved.messageId,
      transaction_id: moved.transactionId,
      queueName: moved.queue,
      status: 'queued',
    },
    dlqRowRemoved: true,
  };
}
