import { expect } from '@jest/globals';
import fc from 'fast-check';
import { popDiscover, popWildcard, type Popped } from '../support/make.js';
import type { Model, ModelPartition, ModelQueue, QueueName } from './broker.model.js';
import { queueName, tenant } from './choices.js';
import { beginScan, claim, noteEmptyScan, passedOver, type Claim } from './model.pop.js';
import { claimOf, maxPartitions, optionsOf, popChoice, tellPop, type PopChoice } from './pop.choice.js';
import { Allowance, expectBatch } from './pop.expect.js';
import { queueNamed, Step, type Real } from './step.js';

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
    return `pop ${queueNamed(this.queue)}, partitions ${this.maxPartitions}, ${tellPop(this.choice)}`;
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
    const queues = model.matching(this.tenant, namespace, task);
    if (queues.length === 0) expect(popped.batches).toEqual([]);
    else this.compare(model, queues, how, popped);
  }

  toString(): string {
    const { namespace, task } = this.filter;
    return `pop namespace "${namespace}" task "${task}", partitions ${this.maxPartitions}, ${tellPop(this.choice)}`;
  }
}

export const popQueue = fc
  .tuple(queueName, popChoice, maxPartitions)
  .map(([queue, how, max]) => new PopQueue(queue, how, max));

const filter = fc.constantFrom(
  { namespace: 'orders', task: '' },
  { namespace: '', task: 'eu' },
  { namespace: 'audit', task: '' },
  { namespace: 'shared', task: '' },
  { namespace: 'shared', task: 'eu' },
);
export const popDiscovered = fc
  .tuple(tenant, filter, popChoice, maxPartitions)
  .map(([owner, by, how, max]) => new PopDiscovered(owner, by, how, max));
