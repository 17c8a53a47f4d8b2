import { BrokerError } from '../base/errors/broker-error.js';
import { sealUnits } from '../encryption/envelope.js';
import type { QueueEncryption } from '../encryption/queue-encryption.js';
import { partitionTarget, type PartitionTarget } from '../push/partition-target.js';
import type { PushItem } from '../push/push-item.js';
import type { PushSegmentArgs } from '../push/push.procedures.js';
import { TurnBudget } from '../push/turn-budget.js';
import { frameSize, type FrameInput } from '../segment/frame.js';
import { encodeSegment, MAX_RAW_BYTES } from '../segment/segment.js';
import { hashTransactionIds } from '../segment/transaction-hash.js';
import { mintUuids, uuidText } from '../segment/uuid-v7.js';

/** What the reply says of one item. */
export interface PushedItem {
  readonly queue: string;
  readonly transactionId: string;
  /** 16 bytes; of a repetition, the id of the item it repeats. */
  readonly messageId: Buffer;
  /** The request holds an earlier item for this partition with the same transactionId. */
  readonly isRepetition: boolean;
}

export interface PackedPushes {
  /** Items of one partition stand in their order; more than fit one segment follow in the next. */
  readonly segments: readonly PushSegmentArgs[];
  /** One per item. */
  readonly items: readonly PushedItem[];
}

interface PartitionItems {
  readonly target: PartitionTarget;
  /** Payloads are stored as envelopes. */
  readonly isSealed: boolean;
  readonly frames: FrameInput[];
  /** By transactionId, of those that clients gave. */
  readonly known: Map<string, PushedItem>;
}

const FRAMES_MAX = 5_000;
const BYTES_MAX = 4 * 1024 * 1024;
const KIB = 1024;

/** Ids that the broker minted exist nowhere before they are stored: no need to look for them at any offset. */
const NEVER_SEEN = Number.MAX_SAFE_INTEGER;
const NO_PROMISE = -1;

/**
 * Gives the items ids, leaves out repetitions (the first of a partition wins) and packs each partition's into segments.
 * An absent or empty transactionId means the message id.
 * @throws BrokerError `body_too_large` for a message that no segment can hold
 */
export async function packPushes(
  tenant: string,
  items: readonly PushItem[],
  nowMs: number,
  encryption: QueueEncryption,
  producerSub: Buffer | null,
): Promise<PackedPushes> {
  const ids = mintUuids(items.length, nowMs);
  const partitions = new Map<string, PartitionItems>();
  const turn = new TurnBudget();
  const pushed: PushedItem[] = [];
  for (let i = 0; i < items.length; i++) {
    const partition = partitionOf(partitions, tenant, items[i], encryption);
    const payload = partition.isSealed ? encryption.seal(items[i].payload) : items[i].payload;
    pushed.push(place(partition, items[i], payload, ids[i], producerSub));
    const pause = turn.spend(partition.isSealed ? sealUnits(payload.length) : 1);
    if (pause) await pause;
  }

  const segments: PushSegmentArgs[] = [];
  for (const { target, frames, known } of partitions.values()) {
    const verified = known.size === 0 ? NEVER_SEEN : NO_PROMISE;
    for (let start = 0; start < frames.length;) {
      const { end, bytes } = cut(frames, start);
      const part = frames.slice(start, end);
      segments.push({
        target,
        count: part.length,
        hashes: hashTransactionIds(part.map(({ transactionId }) => transactionId)),
        verified,
        blob: encodeSegment(part),
      });
      start = end;
      const pause = turn.spend(part.length + bytes / KIB);
      if (pause) await pause;
    }
  }
  return { segments, items: pushed };
}

function partitionOf(
  partitions: Map<string, PartitionItems>,
  tenant: string,
  { queue, partition }: PushItem,
  encryption: QueueEncryption,
): PartitionItems {
  const target = partitionTarget(tenant, queue, partition);
  let found = partitions.get(target.key);
  if (!found) {
    const isSealed = encryption.seals(tenant, queue);
    partitions.set(target.key, (found = { target, isSealed, frames: [], known: new Map() }));
  }
  return found;
}

function place(
  { frames, known, isSealed }: PartitionItems,
  item: PushItem,
  payload: Buffer,
  messageId: Buffer,
  producerSub: Buffer | null,
): PushedItem {
  const given = item.transactionId;
  const isMinted = given === null || given === '';
  const transactionId = isMinted ? uuidText(messageId) : given;
  const first = isMinted ? undefined : known.get(transactionId);
  if (first) return { ...first, isRepetition: true };

  const frame: FrameInput = {
    messageId,
    transactionId: Buffer.from(transactionId),
    traceId: item.traceId,
    headers: item.headers,
    producerSub,
    payload,
    encrypted: isSealed,
  };
  if (frameSize(frame) > MAX_RAW_BYTES)
    throw new BrokerError('body_too_large', `a message must not be larger than ${MAX_RAW_BYTES} bytes`);
  frames.push(frame);
  const pushed = { queue: item.queue, transactionId, messageId, isRepetition: false };
  if (!isMinted) known.set(transactionId, pushed);
  return pushed;
}

/** Where the segment that starts at `start` ends; a single message of any size fits one of its own. */
function cut(frames: readonly FrameInput[], start: number): { end: number; bytes: number } {
  let bytes = frameSize(frames[start]);
  let end = start + 1;
  while (end < frames.length && end - start < FRAMES_MAX) {
    const size = frameSize(frames[end]);
    if (bytes + size > BYTES_MAX) break;
    bytes += size;
    end += 1;
  }
  return { end, bytes };
}
