import { Fresh, Quantized } from './moment.js';
import { hashed, newPartition, type Model, type ModelPartition, type QueueName } from './broker.model.js';

export interface SegmentPlan {
  queue: QueueName;
  partition: string;
  texts: string[];
  /** None of the texts lies at or below this offset; -1 promises nothing. */
  verified: number;
}

export type PushVerdict =
  { status: 'queued'; baseOffset: number } | { status: 'duplicate'; dups: { i: number; off: number }[] };

/** I27 to I29: one after the other; a known message refuses its segment and nothing else. */
export function push(model: Model, plans: readonly SegmentPlan[]): PushVerdict[] {
  return plans.map((plan) => pushOne(model, plan));
}

function pushOne(model: Model, { queue: name, partition: partitionName, texts }: SegmentPlan): PushVerdict {
  const queue = model.provideQueue(name);
  const partition = queue.partitions.get(partitionName) ?? newPartition(queue, partitionName);
  const dups = duplicates(model, partition, texts);
  if (dups.length > 0) return { status: 'duplicate', dups };

  const base = partition.lastOffset + 1;
  partition.lastOffset += texts.length;
  if (!(partition.lastWriteAt instanceof Fresh)) partition.lastWriteAt = new Quantized(partition.lastWriteAt);
  // The time of a push comes with its verdict: see stampSegment.
  partition.log.push({ base, texts, createdAt: model.now });
  return { status: 'queued', baseOffset: base };
}

function duplicates(model: Model, partition: ModelPartition, texts: readonly string[]) {
  const { dedupWindowSeconds } = partition.queue.settings;
  const known = hashed(partition).filter(({ createdAt }) => !model.isOlder(createdAt, dedupWindowSeconds));
  if (dedupWindowSeconds === 0) return [];
  return texts.flatMap((text, i) => {
    const original = known.find((message) => message.text === text);
    return original ? [{ i, off: original.offset }] : [];
  });
}

/** Gives a segment the time the procedure answered. */
export function stampSegment(partition: ModelPartition, base: number, createdAt: number): void {
  const segment = partition.log.find((one) => one.base === base);
  if (!segment) throw new Error(`no segment at ${base}`);
  segment.createdAt = createdAt;
}

/** The highest promise that is true of these texts. */
export function promiseFor(partition: ModelPartition | undefined, texts: readonly string[]): number {
  if (!partition) return -1;
  const offsets = partition.log
    .flatMap(({ base, texts: own }) => own.map((text, k) => ({ text, offset: base + k })))
    .filter(({ text }) => texts.includes(text))
    .map(({ offset }) => offset);
  return Math.min(partition.lastOffset, ...offsets.map((offset) => offset - 1));
}
