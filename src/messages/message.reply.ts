import type { MessageAddress } from '../http/message-address.js';
import { isoMicros } from '../base/time/iso-micros.js';
import { isoMillis } from '../base/time/iso-millis.js';
import { RawJson, renderJson } from '../http/raw-json.js';
import type { MessageContent } from './message-content.js';
import type { GroupMode, MessageDetailRow } from './messages.procedures.js';
import type { ListedMessage, MessagePage } from './messages.service.js';

/** The page (http-api 4.3), message by message; `total` is the length of the page. */
export async function* renderPage(
  { rows, mode }: MessagePage,
  pieces: AsyncIterable<readonly ListedMessage[]>,
): AsyncGenerator<string> {
  // Goes out with the first message, not before: what fails until then can still be answered with an error.
  let separator = '{"messages":[';
  for await (const messages of pieces) {
    for (const message of messages) {
      yield separator + renderListed(message);
      separator = ',';
    }
  }
  yield `${rows.length === 0 ? separator : ''}],"mode":${JSON.stringify(modeOf(mode))},"total":${rows.length}}`;
}

function renderListed({ row, content }: ListedMessage): string {
  const payload = content ? new RawJson(content.payload) : undefined;
  return renderJson({
    id: content?.id ?? null,
    transactionId: content?.transactionId ?? null,
    txnHash: row.transactionHash.toString('hex'),
    partitionId: row.partitionId,
    queuePath: `${row.queue}/${row.partition}`,
    queue: row.queue,
    partition: row.partition,
    namespace: row.namespace,
    task: row.task,
    status: row.status,
    queueStatus: row.status,
    busStatus: { consumedBy: row.consumedBy, totalGroups: row.groups },
    traceId: content?.traceId ?? null,
    producerSub: content?.producerSub ?? null,
    queuePriority: row.priority,
    payloadAvailable: content !== null,
    segment: { seq: row.base, frameIdx: row.offset - row.base },
    createdAt: isoMillis(row.createdAt),
    leaseExpiresAt: row.leaseExpiresAt === null ? null : isoMillis(row.leaseExpiresAt),
    data: payload,
    payload,
    headers: headersOf(content),
    isEncrypted: content?.encrypted ? true : undefined,
  });
}

export function renderDetail(
  { partitionId, transactionId }: MessageAddress,
  row: MessageDetailRow,
  content: MessageContent | null,
): string {
  const payload = content ? new RawJson(content.payload) : null;
  return renderJson({
    id: content?.id ?? row.letter?.messageId ?? null,
    transactionId,
    data: payload,
    payload,
    payloadAvailable: content !== null,
    traceId: content?.traceId ?? null,
    producerSub: content?.producerSub ?? null,
    headers: headersOf(content),
    createdAt: createdAtOf(row),
    partitionId,
    partition: row.partition,
    isEncrypted: content?.encrypted ?? false,
    queue: row.queue,
    queuePath: `${row.queue}/${row.partition}`,
    namespace: row.namespace,
    task: row.task,
    status: row.status,
    errorMessage: row.letter?.error ?? null,
    retryCount: row.letter?.retryCount ?? 0,
    leaseExpiresAt: row.leaseExpiresAt === null ? null : zonedMicros(row.leaseExpiresAt),
    queueConfig: row.queueConfig,
    mode: {
      hasQueueMode: row.queueMode,
      busGroupsCount: row.groupCount,
      type: row.groupCount > 0 ? 'bus' : 'queue',
    },
    consumerGroups: row.groups,
  });
}

function modeOf({ queueMode, groups }: GroupMode) {
  const named = groups > 0 ? 'bus' : 'none';
  return {
    hasQueueMode: queueMode,
    busGroupsCount: groups,
    type: !queueMode ? named : groups > 0 ? 'hybrid' : 'queue',
  };
}

function headersOf(content: MessageContent | null): RawJson | undefined {
  return content?.headers ? new RawJson(content.headers) : undefined;
}

/** Of a message that only a dead letter remembers, the time it was put aside. */
function createdAtOf({ createdAt, letter }: MessageDetailRow): string | null {
  const micros = createdAt ?? letter?.failedAt;
  return micros === undefined ? null : isoMillis(micros);
}

/** As PostgreSQL writes a timestamptz into JSON; clients of this one route expect that spelling. */
function zonedMicros(micros: number): string {
  return isoMicros(micros).replace('Z', '+00:00');
}
