import { expect } from '@jest/globals';
import { hashTransactionIds } from '../../src/segment/transaction-hash.js';
import type { Cursor, Model, ModelPartition, ModelQueue, Segment } from './broker.model.js';
import { Fresh, type Moment } from './moment.js';
import type { CursorRow, Snapshot } from './snapshot.js';

type Tables = Omit<Snapshot, 'now'>;

/**
 * Every row the model expects against every row there is. What only the database knows is taken from it: ids once, and
 * times chosen during the step, if they lie within it.
 */
export function settle(model: Model, before: Snapshot, after: Snapshot): void {
  takeIds(model, after);
  const within = (moment: Moment, actual: number | null | undefined): number => {
    if (!(moment instanceof Fresh)) return moment;
    if (typeof actual === 'number' && moment.admits(actual, before.now, after.now)) return actual;
    throw new Error(
      `expected a time of this step plus ${moment.seconds} s, found ${actual}: the step took from ${before.now} to ${after.now}`,
    );
  };
  takeTimes(model, after, within);
  takeMaybes(model, after);
  const expected = tablesOf(model);
  const { now: _now, ...actual } = after;
  for (const table of Object.keys(expected) as (keyof Tables)[]) {
    expect({ [table]: sorted(actual[table]) }).toEqual({ [table]: sorted(expected[table]) });
  }
}

function takeIds(model: Model, after: Snapshot): void {
  for (const queue of model.queues.values()) {
    const row = after.queues.find(({ tenant, name }) => tenant === queue.tenant && name === queue.name);
    queue.id ||= row?.id ?? '';
    for (const partition of queue.partitions.values()) {
      const found = after.partitions.find((p) => p.queueId === queue.id && p.name === partition.name);
      partition.id ||= found?.id ?? '';
    }
  }
}

function takeTimes(
  model: Model,
  after: Snapshot,
  within: (moment: Moment, actual: number | null | undefined) => number,
): void {
  for (const queue of model.queues.values()) {
    for (const [group, subscription] of queue.subscriptions) {
      const row = after.subscriptions.find((one) => one.queueId === queue.id && one.group === group);
      subscription.at = within(subscription.at, row?.at);
    }
    for (const [group, mark] of queue.watermarks) {
      const row = after.watermarks.find((one) => one.queueId === queue.id && one.group === group);
      mark.floor = within(mark.floor, row?.floor);
      mark.updatedAt = within(mark.updatedAt, row?.updatedAt);
    }
    for (const partition of queue.partitions.values()) {
      const row = after.partitions.find(({ id }) => id === partition.id);
      partition.lastWriteAt = within(partition.lastWriteAt, row?.lastWriteAt);
      for (const [group, cursor] of partition.cursors)
        takeLease(cursor, cursorRow(after, partition, group), within);
    }
  }
}

function takeLease(
  cursor: Cursor,
  row: CursorRow | undefined,
  within: (moment: Moment, actual: number | null | undefined) => number,
): void {
  const leasedNow = cursor.acquiredAt instanceof Fresh && cursor.expiresAt instanceof Fresh;
  const seconds = cursor.expiresAt instanceof Fresh ? cursor.expiresAt.seconds : 0;
  if (cursor.acquiredAt !== null) cursor.acquiredAt = within(cursor.acquiredAt, row?.acquiredAt);
  if (cursor.expiresAt !== null) cursor.expiresAt = within(cursor.expiresAt, row?.expiresAt);
  if (leasedNow) {
    expect(Number(cursor.expiresAt) - Number(cursor.acquiredAt)).toBe(seconds * 1_000_000);
  }
}

/** A cursor that a scan may have sealed or created on its way: whichever of the two states is there. */
function takeMaybes(model: Model, after: Snapshot): void {
  for (const { partition, group, cursor } of model.maybes) {
    const row = cursorRow(after, partition, group);
    const happened = row !== undefined && row.committed === cursor.committed;
    if (happened) partition.cursors.set(group, cursor);
  }
  model.maybes = [];
}

function cursorRow(after: Snapshot, partition: ModelPartition, group: string): CursorRow | undefined {
  return after.cursors.find((row) => row.partitionId === partition.id && row.group === group);
}

function tablesOf(model: Model): Tables {
  const queues = [...model.queues.values()];
  const partitions = model.partitions();
  return {
    queues: queues.map(({ id, tenant, name, settings }) => ({ id, tenant, name, ...settings })),
    partitions: partitions.map(({ id, queue, name, lastOffset, logStart, txnsStart, lastWriteAt }) => ({
      ...{ id, queueId: queue.id, name, lastOffset, logStart, txnsStart, lastWriteAt: Number(lastWriteAt) },
    })),
    segments: partitions.flatMap((partition) =>
      partition.log.filter(({ base }) => base >= partition.logStart).map((one) => rangeRow(partition, one)),
    ),
    hashRows: partitions.flatMap((partition) =>
      partition.log
        .filter(({ base }) => base >= partition.txnsStart)
        .map((one) => ({
          ...rangeRow(partition, one),
          hashes: hashTransactionIds(one.texts).toString('hex'),
        })),
    ),
    cursors: partitions.flatMap(({ id, cursors }) =>
      [...cursors].map(([group, cursor]) => ({
        ...cursor,
        ...{ partitionId: id, group },
        expiresAt: numberOrNull(cursor.expiresAt),
        acquiredAt: numberOrNull(cursor.acquiredAt),
      })),
    ),
    subscriptions: queues.flatMap(subscriptionRows),
    watermarks: queues.flatMap(({ id, watermarks }) =>
      [...watermarks].map(([group, { floor, updatedAt }]) => ({
        ...{ queueId: id, group, floor: Number(floor), updatedAt: Number(updatedAt) },
      })),
    ),
    deadLetters: model.deadLetters,
  };
}

function subscriptionRows({ id, tenant, subscriptions }: ModelQueue): Tables['subscriptions'] {
  return [...subscriptions].map(([group, { mode, at }]) => ({
    ...{ tenant, queueId: id, group, mode, at: Number(at) },
  }));
}

function rangeRow({ id }: ModelPartition, { base, texts, createdAt }: Segment) {
  return { partitionId: id, base, end: base + texts.length - 1, createdAt };
}

function numberOrNull(moment: Moment | null): number | null {
  return moment === null ? null : Number(moment);
}

/** One order for both sides, whatever it is. */
function sorted(rows: readonly object[]): object[] {
  const key = (row: object) => JSON.stringify(row, Object.keys(row).sort());
  return [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
