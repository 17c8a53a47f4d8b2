import { isoMicros } from '../../base/time/iso-micros.js';
import type { PayloadCipher } from '../../encryption/payload-cipher.js';
import { decodeSegment } from '../../segment/segment.js';
import type { Frame } from '../../segment/frame.js';
import type { ClaimedPartition, ClaimedSegment } from '../claim.js';
import type { JsonWriter } from './json-writer.js';

export interface AnswerContext {
  leaseId: string;
  group: string;
  cipher: PayloadCipher;
}

/** Called with each frame as it is written: the ack registry collects transactionIds here. */
export type OnFrame = (frame: Frame) => void;

/**
 * Writes the messages of one claimed segment, comma-separated, payloads byte for byte as they were pushed.
 * `first` says whether a comma is due before the first.
 * @throws SegmentDamagedError with nothing of this segment written
 */
export function renderSegment(
  writer: JsonWriter,
  partition: ClaimedPartition,
  segment: ClaimedSegment,
  context: AnswerContext,
  first: boolean,
  onFrame?: OnFrame,
): void {
  const frames = decodeSegment(segment.blob, segment.messageCount).frames(segment.startIdx, segment.take);
  const tail = Buffer.from(messageTail(partition, segment, context));
  const { cipher } = context;
  const { hasKey } = cipher;
  let comma = !first;
  for (const frame of frames) {
    writer.ascii(comma ? ',{"id":"' : '{"id":"');
    comma = true;
    writer.uuid(frame.buffer, frame.messageIdStart);
    writer.ascii('","transactionId":').string(frame.buffer, frame.transactionIdStart, frame.transactionIdEnd);
    const { traceId, producerSub, headers } = frame;
    if (traceId) writer.ascii(',"traceId":"').uuid(traceId, 0).ascii('","data":');
    else writer.ascii(',"traceId":null,"data":');
    // Where there is neither a mark nor a key, no view of the payload is made.
    const opened = frame.encrypted || hasKey ? cipher.open(frame.payload, frame.encrypted) : null;
    if (opened) writer.bytes(opened);
    else if (frame.payloadEnd > frame.payloadStart)
      writer.bytes(frame.buffer, frame.payloadStart, frame.payloadEnd);
    else writer.ascii('null');
    if (producerSub) writer.ascii(',"producerSub":').string(producerSub);
    else writer.ascii(',"producerSub":null');
    if (headers) writer.ascii(',"headers":').bytes(headers);
    writer.bytes(tail);
    onFrame?.(frame);
  }
}

/** What all messages of a segment share, written once and copied. */
function messageTail(partition: ClaimedPartition, segment: ClaimedSegment, context: AnswerContext): string {
  const shared = JSON.stringify({
    createdAt: isoMicros(segment.createdAtMicros),
    partitionId: partition.partitionId,
    partition: partition.partition,
    queue: partition.queue,
    leaseId: context.leaseId,
    consumerGroup: context.group,
    deliveryAttempt: partition.attempt,
  });
  return `,${shared.slice(1)}`;
}
