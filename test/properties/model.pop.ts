import { Fresh } from './moment.js';
import {
  EPOCH,
  known,
  newCursor,
  QUEUE_MODE,
  releaseLease,
  SECOND,
  stored,
  type Cursor,
  type Message,
  type Model,
  type ModelPartition,
  type ModelQueue,
} from './broker.model.js';

/** What a pop says about where its group begins. `at`: the time in `from`, null when `from` is no time. */
export interface Subscription {
  mode: string;
  from: string;
  at: number | null;
}

export interface Claim {
  group: string;
  budget: number;
  /** Null: the queue's lease time. */
  leaseSeconds: number | null;
  worker: string;
  autoAck: boolean;
  subscription: Subscription;
  skipWindow: boolean;
}

export interface Delivered {
  partition: ModelPartition;
  messages: Message[];
  attempt: number;
}

/** One partition: what a group may take from it now. Null: nothing, which may still have created or sealed a cursor. */
export function claim(model: Model, partition: ModelPartition, claim: Claim): Delivered | null {
  const { settings } = partition.queue;
  const newest = stored(partition).at(-1);
  if (!claim.skipWindow && newest && !model.isOlder(newest.createdAt, settings.windowBuffer)) return null; // I24

  const cursor =
    partition.cursors.get(claim.group) ?? newCursor(firstCursor(partition, claim.group, claim.subscription));
  partition.cursors.set(claim.group, cursor); // I25
  if (model.isLeased(cursor)) return null; // I16

  const messages = stored(partition)
    .filter(({ offset }) => offset > cursor.committed)
    .filter(({ createdAt }) => model.isOlder(createdAt, settings.delayedProcessing)) // I23
    .slice(0, Math.max(claim.budget, 1)); // I20
  if (messages.length === 0) {
    if (stored(partition).length === 0) cursor.committed = Math.max(cursor.committed, partition.lastOffset); // I40
    return null;
  }

  const [first, last] = [messages[0].offset, messages.at(-1)!.offset];
  if (claim.autoAck) {
    releaseLease(cursor);
    cursor.acquiredAt = null;
    cursor.committed = last;
    cursor.totalConsumed += messages.length;
    return { partition, messages, attempt: 1 };
  }
  const again = first === cursor.attemptOffset || (cursor.attemptEnd !== null && first <= cursor.attemptEnd);
  cursor.attemptCount = again ? cursor.attemptCount + 1 : 1;
  cursor.attemptOffset = first;
  cursor.attemptEnd = Math.max(cursor.attemptEnd ?? -1, last);
  cursor.worker = claim.worker;
  cursor.batchEnd = last; // I22
  cursor.acquiredAt = new Fresh();
  cursor.expiresAt = new Fresh(claim.leaseSeconds ?? settings.leaseTime);
  if (!model.workers.includes(claim.worker)) model.workers.push(claim.worker);
  return { partition, messages, attempt: cursor.attemptCount };
}

/** I25, I26: the durable subscription, else what the pop asks for; queue mode never skips a backlog. */
function firstCursor(partition: ModelPartition, group: string, { mode, from, at }: Subscription): number {
  if (group === QUEUE_MODE) return -1;
  const subscribed = partition.queue.subscriptions.get(group);
  if (subscribed) return cursorBefore(partition, known(subscribed.at));
  if (from !== '' && from !== 'now' && at !== null) return cursorBefore(partition, at);
  return from === 'now' || mode === 'new' ? partition.lastOffset : -1;
}

function cursorBefore(partition: ModelPartition, at: number): number {
  const first = partition.log.find(({ base, createdAt }) => base >= partition.logStart && createdAt >= at);
  return first ? first.base - 1 : partition.lastOffset;
}

/** A pop by scan, before it claims: subscribes the group where that is due. Gives the partitions it will try. */
export function beginScan(
  model: Model,
  queues: readonly ModelQueue[],
  group: string,
  subscription: Subscription,
): { candidates: ModelPartition[]; checkedAt: number } {
  const marks = queues.map(({ watermarks }) => watermarks.get(group));
  const floor = Math.min(...marks.map((mark) => (mark ? known(mark.floor) : EPOCH)));
  const checkedAt = Math.min(...marks.map((mark) => (mark ? known(mark.updatedAt) : EPOCH)));
  for (const queue of queues) register(queue, group, subscription);
  const candidates = queues
    .flatMap(({ partitions }) => [...partitions.values()])
    .filter((partition) => isCandidate(model, partition, group, floor, false));
  return { candidates, checkedAt };
}

function register(queue: ModelQueue, group: string, { mode, from, at }: Subscription): void {
  if (!queue.watermarks.has(group)) queue.watermarks.set(group, { floor: EPOCH, updatedAt: EPOCH });
  if (queue.subscriptions.has(group)) return;

  const wantsTime = from !== '' && from !== 'now';
  if (group === QUEUE_MODE || (!wantsTime && from !== 'now' && mode !== 'new')) {
    queue.subscriptions.set(group, { mode: 'all', at: EPOCH });
  } else if (wantsTime && at !== null) {
    queue.subscriptions.set(group, { mode: 'timestamp', at });
  } else {
    queue.subscriptions.set(group, { mode: 'new', at: new Fresh() });
  }
  for (const partition of queue.partitions.values()) {
    if (partition.cursors.has(group)) continue;
    const subscribed = queue.subscriptions.get(group)!;
    const start =
      subscribed.mode === 'all'
        ? partition.logStart - 1
        : subscribed.mode === 'new'
          ? partition.lastOffset
          : cursorBefore(partition, known(subscribed.at));
    partition.cursors.set(group, newCursor(start));
  }
}

function isCandidate(
  model: Model,
  partition: ModelPartition,
  group: string,
  floor: number,
  withLeased: boolean,
): boolean {
  const cursor = partition.cursors.get(group);
  if (model.isHidden(partition, floor)) return false;
  if (!cursor) return true;
  return partition.lastOffset > cursor.committed && (withLeased || !model.isLeased(cursor));
}

/**
 * A candidate that a scan did not deliver from. Whether a scan that stopped early had tried it is its secret; what the
 * try would have done to the cursor is then one of two things to find.
 */
export function passedOver(model: Model, partition: ModelPartition, tried: boolean, how: Claim): void {
  const before = partition.cursors.get(how.group);
  const kept: Cursor | undefined = before && { ...before };
  const delivered = claim(model, partition, how);
  if (tried) {
    if (delivered) throw new Error(`a scan left out ${partition.name}, which has messages for ${how.group}`);
    return;
  }
  const after = partition.cursors.get(how.group);
  if (kept) partition.cursors.set(how.group, kept);
  else partition.cursors.delete(how.group);
  // What it would have delivered from, it cannot have tried.
  if (!delivered && after) model.maybes.push({ partition, group: how.group, cursor: { ...after } });
}

/** A scan that came up empty moves its watermark, unless something is pending, leased or not (I42, hazard Z11). */
export function noteEmptyScan(
  model: Model,
  queues: readonly ModelQueue[],
  group: string,
  checkedAt: number,
): void {
  if (!model.checkIsDue(checkedAt)) return;
  const due = queues.filter(({ watermarks }) => model.checkIsDue(known(watermarks.get(group)!.updatedAt)));
  const floor = Math.min(...due.map(({ watermarks }) => known(watermarks.get(group)!.floor)));
  const pending = due
    .flatMap(({ partitions }) => [...partitions.values()])
    .some((partition) => isCandidate(model, partition, group, floor, true));
  for (const { watermarks } of due) {
    const mark = watermarks.get(group)!;
    mark.updatedAt = new Fresh();
    if (!pending) mark.floor = mark.updatedAt;
  }
}

/** Coarse, as the probes of a whole queue are: what retention took may still count. */
export function mayBePending(partition: ModelPartition, group: string): boolean {
  return partition.lastOffset > (partition.cursors.get(group)?.committed ?? -1);
}

/** Exact, as the probe of one partition is. */
export function isPending(partition: ModelPartition, group: string): boolean {
  const committed = partition.cursors.get(group)?.committed ?? -1;
  return partition.lastOffset > Math.max(committed, partition.logStart - 1);
}

/** Milliseconds that are left of a lease. */
export function leaseLeftMs({ expiresAt }: Cursor, now: number): number {
  return (known(expiresAt!) - now) / (SECOND / 1000);
}
