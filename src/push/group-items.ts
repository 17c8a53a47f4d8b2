import { sealUnits } from '../encryption/envelope.js';
import type { QueueEncryption } from '../encryption/queue-encryption.js';
import { MAX_RAW_BYTES } from '../segment/segment.js';
import { uuidText, writeUuidText } from '../segment/uuid-v7.js';
import type { Countdown } from './countdown.js';
import { partitionTarget, type PartitionTarget } from './partition-target.js';
import type { PushItem } from './push-item.js';
import { PushMessage, RefusedItem, type MessageTraits, type PushResult } from './push-message.js';

/** The messages of one request for one partition, in request order. */
export interface PartitionGroup {
  readonly target: PartitionTarget;
  readonly messages: PushMessage[];
  /** Its payloads are stored as envelopes. */
  readonly isSealed: boolean;
  /** By transactionId, of those that clients gave; made with the first. */
  leaders: Map<string, PushMessage> | null;
}

const UUID_TEXT_BYTES = 36;

/**
 * Sorts the items of one request by partition, and finds repetitions inside it: key (queue, partition, transactionId),
 * the first one leads (http-api 3.1, dedup rule 1). Only ids that clients gave can repeat.
 */
export class ItemGroups {
  private readonly byKey = new Map<string, PartitionGroup>();
  private last: PartitionGroup | null = null;
  private sealUnits = 0;
  private readonly plain: MessageTraits;
  private readonly sealed: MessageTraits;

  constructor(
    private readonly tenant: string,
    private readonly request: Countdown,
    private readonly encryption: QueueEncryption,
    producerSub: Buffer | null,
  ) {
    this.plain = { producerSub };
    this.sealed = { producerSub, encrypted: true };
  }

  /** What sealing has cost since the last call, for a TurnBudget. */
  takeSealUnits(): number {
    const units = this.sealUnits;
    this.sealUnits = 0;
    return units;
  }

  /** In order of their first item. */
  get groups(): Iterable<PartitionGroup> {
    return this.byKey.values();
  }

  /** Places one item, which gets `messageId` (16 bytes); the result has its verdict when the request is done. */
  add(item: PushItem, messageId: Buffer): PushResult {
    if (item.problem) return refused(item, messageId, item.problem.code, item.problem.error);

    const group = this.groupOf(item.queue, item.partition);
    const message = new PushMessage(
      group.target,
      this.request,
      messageId,
      item.transactionId === null ? mintedTransactionId(messageId) : Buffer.from(item.transactionId),
      item.transactionId === null,
      item.traceId,
      item.headers,
      group.isSealed ? this.seal(item.payload) : item.payload,
      group.isSealed ? this.sealed : this.plain,
    );
    if (message.bytes > MAX_RAW_BYTES) {
      this.request.takeOff(); // it never becomes part of the wait
      return refused(
        item,
        messageId,
        'body_too_large',
        `a message must not be larger than ${MAX_RAW_BYTES} bytes`,
      );
    }
    if (item.transactionId !== null) {
      group.leaders ??= new Map();
      const leader = group.leaders.get(item.transactionId);
      if (leader) {
        leader.lead(message);
        return message;
      }
      group.leaders.set(item.transactionId, message);
    }
    group.messages.push(message);
    return message;
  }

  private seal(payload: Buffer): Buffer {
    const envelope = this.encryption.seal(payload);
    this.sealUnits += sealUnits(envelope.length);
    return envelope;
  }

  private groupOf(queue: string, partition: string): PartitionGroup {
    // Items of one partition mostly stand together; then no key is put together at all.
    const { last } = this;
    if (last && last.target.queue === queue && last.target.partition === partition) return last;
    const target = partitionTarget(this.tenant, queue, partition);
    let group = this.byKey.get(target.key);
    if (!group) {
      const isSealed = this.encryption.seals(this.tenant, queue);
      this.byKey.set(target.key, (group = { target, messages: [], isSealed, leaders: null }));
    }
    this.last = group;
    return group;
  }
}

function mintedTransactionId(messageId: Buffer): Buffer {
  const text = Buffer.allocUnsafe(UUID_TEXT_BYTES);
  writeUuidText(text, 0, messageId);
  return text;
}

function refused(item: PushItem, messageId: Buffer, code: string, message: string): RefusedItem {
  return new RefusedItem(item.queue, messageId, item.transactionId ?? uuidText(messageId), { code, message });
}
