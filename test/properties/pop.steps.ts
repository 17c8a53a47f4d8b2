import { expect } from '@jest/globals';
import fc from 'fast-check';
import {
  popDiscover,
  popList,
  popSpecific,
  popWildcard,
  type Batch,
  type Popped,
  type PopOptions,
  type Verdict,
} from '../support/make.js';
import type { Model, ModelPartition, ModelQueue } from './broker.model.js';
import { group, partitionName, queueName, target, tenant } from './choices.js';
import {
  beginScan,
  claim,
  isPending,
  leaseLeftMs,
  mayBePending,
  noteEmptyScan,
  passedOver,
  type Claim,
  type Delivered,
  type Subscription,
} from './model.pop.js';
import { SECOND } from './broker.model.js';
import { named, queueNamed, Step, type Real, type Target } from './step.js';
import type { QueueName } from './broker.model.js';

interface FromChoice {
  mode: 'all' | 'new';
  /** A word as it is, or a time so many seconds ago, with or without a time zone. */
  from: string | { secondsAgo: number; zone: boolean };
}

interface PopChoice {
  group: string;
  budget: number;
  leaseSeconds: number | null;
  autoAck: boolean;
  subscription: FromChoice;
}

function claimOf(model: Model, { subscription, ...choice }: PopChoice, skipWindow = false): Claim {
  return {
    ...choice,
    worker: model.mint('w'),
    subscription: subscriptionOf(model, subscription),
    skipWindow,
  };
}

function subscriptionOf(model: Model, { mode, from }: FromChoice): Subscription {
  if (typeof from === 'string') return { mode, from, at: null };
  const ms = Math.floor(model.now / 1000) - from.secondsAgo * 1000;
  const text = new Date(ms).toISOString();
  return { mode, from: from.zone ? text : text.replace('T', ' ').replace('Z', ''), at: ms * 1000 };
}

function optionsOf(how: Claim, tenantId: string, maxPartitions: number | null = 1): PopOptions {
  const { group, budget, leaseSeconds, worker, autoAck, skipWindow, subscription } = how;
  return {
    ...{ group, budget, leaseSeconds, worker, autoAck, skipWindow, maxPartitions, tenant: tenantId },
    ...{ mode: subscription.mode, from: subscription.from },
  };
}

function tell({ group, budget, leaseSeconds, autoAck, subscription }: PopChoice): string {
  const { mode, from } = subscription;
  const start = typeof from === 'string' ? from : `${from.secondsAgo} s ago${from.zone ? '' : ' (no zone)'}`;
  const lease = autoAck ? 'auto-ack' : `lease ${leaseSeconds ?? 'of the queue'}`;
  return `for ${group}, budget ${budget}, ${lease}, subscribe ${mode} from "${start}"`;
}

/** I10, I21, I22, I32: the rows of one partition against what the model delivers. */
function expectBatch(batch: Batch | undefined, expected: Delivered | null): void {
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

class PopPartition extends Step {
  constructor(
    private readonly target: Target,
    /** While there are partitions with a backlog for the group, the n-th of them instead. */
    private readonly ripe: number | null,
    private readonly choice: PopChoice,
  ) {
    super();
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const { queue, partition: name } = this.place(model);
    const how = claimOf(model, this.choice);
    const { batches } = await popSpecific(real.session, queue.name, name, optionsOf(how, queue.tenant));
    const partition = model.partition(queue, name);
    expect(batches.length).toBeLessThan(2);
    expectBatch(batches.at(0), partition ? claim(model, partition, how) : null);
  }

  private place(model: Model): Target {
    const ripe = model.partitions().filter((partition) => isPending(partition, this.choice.group));
    if (this.ripe === null || ripe.length === 0) return this.target;
    const { queue, name } = ripe[this.ripe % ripe.length];
    return { queue, partition: name };
  }

  toString(): string {
    const ripe = this.ripe === null ? '' : `backlog ${this.ripe} or `;
    return `pop ${ripe}${named(this.target)} ${tell(this.choice)}`;
  }
}

/** How much of a budget and of a number of partitions is left (I20). */
class Allowance {
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

/** The two pops that look for partitions themselves. */
abstract class Scan extends Step {
  constructor(
    protected readonly choice: PopChoice,
    protected readonly maxPartitions: number | null,
  ) {
    super();
  }

  protected compare(model: Model, queues: readonly ModelQueue[], how: Claim, { batches }: Popped): void {
    const { candidates, checkedAt } = beginScan(model, queues, how.group, how.subscription);
    const left = new Allowance(how.budget, this.maxPartitions);
    const waiting = new Set<ModelPartition>(candidates);
    for (const batch of batches) {
      const partition = candidates.find(({ id }) => id === batch.partitionId);
      if (!partition || !waiting.delete(partition))
        throw new Error(`${batch.partition} is no candidate, or came twice`);
      expectBatch(batch, claim(model, partition, left.of(how)));
      left.take(batch.texts.length);
    }
    for (const partition of waiting) passedOver(model, partition, !left.spent, how);
    if (batches.length === 0 && queues.length > 0) noteEmptyScan(model, queues, how.group, checkedAt);
  }
}

class PopQueue extends Scan {
  constructor(
    private readonly queue: QueueName,
    choice: PopChoice,
    maxPartitions: number | null,
  ) {
    super(choice, maxPartitions);
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const how = claimOf(model, this.choice);
    const options = optionsOf(how, this.queue.tenant, this.maxPartitions);
    const popped = await popWildcard(real.session, this.queue.name, options);
    this.compare(model, [model.provideQueue(this.queue)], how, popped);
  }

  toString(): string {
    return `pop ${queueNamed(this.queue)}, partitions ${this.maxPartitions}, ${tell(this.choice)}`;
  }
}

class PopDiscovered extends Scan {
  constructor(
    private readonly tenant: string,
    private readonly filter: { namespace: string; task: string },
    choice: PopChoice,
    maxPartitions: number | null,
  ) {
    super(choice, maxPartitions);
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const how = claimOf(model, this.choice);
    const options = optionsOf(how, this.tenant, this.maxPartitions);
    const popped = await popDiscover(real.session, this.filter, options);
    const { namespace, task } = this.filter;
    const queues = [...model.queues.values()].filter(
      ({ tenant, settings }) =>
        tenant === this.tenant &&
        (namespace === '' || settings.namespace === namespace) &&
        (task === '' || settings.task === task),
    );
    if (queues.length === 0) expect(popped.batches).toEqual([]);
    else this.compare(model, queues, how, popped);
  }

  toString(): string {
    const { namespace, task } = this.filter;
    return `pop namespace "${namespace}" task "${task}", partitions ${this.maxPartitions}, ${tell(this.choice)}`;
  }
}

class PopNames extends Step {
  constructor(
    private readonly queue: QueueName,
    private readonly names: string[],
    private readonly choice: PopChoice,
    private readonly maxPartitions: number | null,
    private readonly skipWindow: boolean,
  ) {
    super();
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const how = claimOf(model, this.choice, this.skipWindow);
    const options = optionsOf(how, this.queue.tenant, this.maxPartitions);
    const { batches, verdicts } = await popList(real.session, this.queue.name, this.names, options);
    if (!model.queue(this.queue)) {
      expect([batches, verdicts]).toEqual([[], []]);
      return;
    }
    const left = new Allowance(how.budget, this.maxPartitions);
    const waiting = [...batches];
    const evaluated: string[] = [];
    for (const name of new Set(this.names)) {
      if (left.spent) break;
      evaluated.push(name);
      const partition = model.partition(this.queue, name);
      const delivered = partition ? claim(model, partition, left.of(how)) : null;
      if (delivered) {
        expectBatch(waiting.shift(), delivered);
        left.take(delivered.messages.length);
      }
      const verdict = verdicts.find((one) => one.partition === name);
      expectVerdict(model, verdict, partition, delivered, how.group);
    }
    expect(waiting).toEqual([]);
    expect(verdicts.map(({ partition }) => partition)).toEqual(evaluated); // I30
  }

  toString(): string {
    const skip = this.skipWindow ? ', window skipped' : '';
    return `pop ${queueNamed(this.queue)} [${this.names.join(' ')}], partitions ${this.maxPartitions}${skip}, ${tell(this.choice)}`;
  }
}

const SHORT_WAIT_MS = 250;

/** I30, I31: `empty` never hides a backlog, and a name is drained only if all of it was served. */
function expectVerdict(
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

const budget = fc.constantFrom(1, 2, 3, 5, 100, 0, -1);
const maxPartitions = fc.constantFrom(1, 2, null, 0, -1, 2147483647);
const from = fc.oneof(
  { weight: 9, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom('now', 'yesterday, perhaps', '2026-13-45T00:00:00Z') },
  {
    weight: 2,
    arbitrary: fc.record({ secondsAgo: fc.constantFrom(50, 150, 1050), zone: fc.boolean() }),
  },
);
const choice: fc.Arbitrary<PopChoice> = fc.record({
  group,
  budget,
  leaseSeconds: fc.constantFrom(null, 50, 250, 1050),
  autoAck: fc.constantFrom(false, false, false, true),
  subscription: fc.record({ mode: fc.constantFrom<'all' | 'new'>('all', 'all', 'all', 'new'), from }),
});

export const popPartition = fc
  .tuple(target, fc.option(fc.nat(5), { freq: 4 }), choice)
  .map((choices) => new PopPartition(...choices));

export const popQueue = fc
  .tuple(queueName, choice, maxPartitions)
  .map(([queue, how, max]) => new PopQueue(queue, how, max));

const filter = fc.constantFrom(
  { namespace: 'orders', task: '' },
  { namespace: '', task: 'eu' },
  { namespace: 'audit', task: '' },
  { namespace: 'shared', task: '' },
  { namespace: 'shared', task: 'eu' },
);
export const popDiscovered = fc
  .tuple(tenant, filter, choice, maxPartitions)
  .map(([owner, by, how, max]) => new PopDiscovered(owner, by, how, max));

const names = fc.array(fc.oneof({ weight: 6, arbitrary: partitionName }, fc.constant('nowhere')), {
  minLength: 1,
  maxLength: 4,
});
export const popNames = fc
  .tuple(queueName, names, choice, maxPartitions, fc.boolean())
  .map(([queue, list, how, max, skip]) => new PopNames(queue, list, how, max, skip));

/** A plain pop of everything, for draining. */
export function popAll(at: Target, groupName: string, count: number): Step {
  const subscription: FromChoice = { mode: 'all', from: '' };
  return new PopPartition(at, null, {
    ...{ group: groupName, budget: count, leaseSeconds: null, autoAck: false, subscription },
  });
}
