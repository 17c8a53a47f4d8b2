import { expect } from '@jest/globals';
import type { Batch, Verdict } from '../support/make.js';
import { SECOND, type Model, type ModelPartition } from './broker.model.js';
import { leaseLeftMs, mayBePending, type Claim, type Delivered } from './model.pop.js';

/** I10, I21, I22, I32: the rows of one partition against what the model delivers. */
export function expectBatch(batch: Batch | undefined, expected: Delivered | null): void {
  if (!batch || !expected) {
    expect(batch?.texts ?? []).toEqual(expected?.messages.map(({ text }) => text) ?? []);
    return;
  }
  const { partition, messages, attempt } = expected;
  expect(batch.texts).toEqual(messages.map(({ text }) => text));
  expect(batch).toMatchObject({
    ...{ queue: partition.queue.name, partition: partition.name, partitionId: partition.id, attempt },
    end: messages.at(-1)!.offset,
  });
  expect(offsetsOf(batch)).toEqual(messages.map(({ offset }) => offset));
  for (const { base, startIdx, take, msgCount, createdAt } of batch.slices) {
    const stored = partition.log.find((segment) => segment.base === base)!;
    expect({ msgCount, createdAtMs: createdAt.getTime() }).toEqual({
      msgCount: stored.texts.length,
      createdAtMs: Math.floor(stored.createdAt / 1000),
    });
    expect(startIdx >= 0 && take >= 1 && startIdx + take <= msgCount).toBe(true);
  }
}

function offsetsOf({ slices }: Batch): number[] {
  return slices.flatMap(({ base, startIdx, take }) =>
    Array.from({ length: take }, (_, k) => base + startIdx + k),
  );
}

/** How much of a budget and of a number of partitions is left (I20). */
export class Allowance {
  private partitions: number;

  constructor(
    private budget: number,
    maxPartitions: number | null,
  ) {
    this.budget = Math.max(budget, 1);
    this.partitions = maxPartitions !== null && maxPartitions > 0 ? maxPartitions : Infinity;
  }

  get spent(): boolean {
    return this.budget <= 0 || this.partitions <= 0;
  }

  of(how: Claim): Claim {
    return { ...how, budget: this.budget };
  }

  take(count: number): void {
    expect(this.spent).toBe(false);
    this.budget -= count;
    this.partitions -= 1;
  }
}

const SHORT_WAIT_MS = 250;

/** I30, I31: `empty` never hides a backlog, and a name is drained only if all of it was served. */
export function expectVerdict(
  model: Model,
  verdict: Verdict | undefined,
  partition: ModelPartition | undefined,
  delivered: Delivered | null,
  groupName: string,
): void {
  const common = { partitionId: partition?.id ?? null };
  if (!partition) {
    expect(verdict).toMatchObject({ ...common, state: 'empty', lastOffset: null, waitMs: null });
  } else if (delivered) {
    const { lastOffset } = partition;
    expect(verdict).toMatchObject({ ...common, state: 'took', lastOffset, waitMs: null });
    expect(delivered.messages.at(-1)!.offset).toBeLessThanOrEqual(lastOffset);
  } else {
    const cursor = partition.cursors.get(groupName);
    if (cursor && model.isLeased(cursor)) {
      expect(verdict).toMatchObject({ ...common, state: 'leased', lastOffset: null });
      const leftMs = leaseLeftMs(cursor, model.now);
      expect(verdict!.waitMs).toBeLessThanOrEqual(Math.ceil(leftMs));
      expect(verdict!.waitMs).toBeGreaterThan(leftMs - (49 * SECOND) / 1000); // steps take seconds at most
    } else if (mayBePending(partition, groupName)) {
      expect(verdict).toMatchObject({ ...common, state: 'leased', lastOffset: null, waitMs: SHORT_WAIT_MS });
    } else {
      expect(verdict).toMatchObject({ ...common, state: 'empty', lastOffset: null, waitMs: null });
    }
  }
}
